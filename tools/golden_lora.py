"""Ten steps of LoRA on SmolLM2-135M with PEFT, for `mary-train` to be held against.

    python tools/golden_lora.py FOLDER_OF_SMOLLM2 crates/models/mary-train/tests/golden/smollm2_lora.json

Needs torch, transformers and peft. Weights are widened to 32 bits; adapters start from numbers that both
sides make from the name of the tensor (`numbers` of golden_gradients.py, a sixteenth of them for A, zero
for B). The file holds the tokens of every step and PEFT's losses.
"""
import json
import sys

import torch
from golden_gradients import bare, numbers
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

RANK, ALPHA, RATE, STEPS, LENGTH = 8, 16, 1e-3, 10, 40
TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
TEXT = """A heavy stone sinks in the pond, a dry leaf floats on it. The cup is on the table, the table is in
the kitchen, so the cup is in the kitchen. If the rope is shorter than the well is deep, the bucket hangs in
the air. Anna gave the book to Ben, and Ben put it into his bag; the bag is blue. Warm air rises, cold air
stays near the floor. Seven apples and five pears are twelve pieces of fruit, and half of them are six. The
lamp went out because the wire broke, and the room was dark until somebody found a candle. """


def main(folder, path):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    ids = tokenizer(" ".join((TEXT * 3).split()), add_special_tokens=False)["input_ids"]
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
    lora = LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules=TARGETS, lora_dropout=0.0, bias="none", task_type="CAUSAL_LM")
    tuned = get_peft_model(model, lora)
    trained = []
    with torch.no_grad():
        for name, p in tuned.named_parameters():
            if "lora_A" in name:
                p.copy_((numbers(bare(name), p.shape) / 16).float())
            if "lora_" in name:
                trained.append(p)
    optimizer = torch.optim.AdamW(trained, lr=RATE, weight_decay=0.0)
    steps, losses = [], []
    for step in range(STEPS):
        rows = [ids[(2 * step + i) * 17:(2 * step + i) * 17 + LENGTH + 1] for i in range(2)]
        tokens = torch.tensor(rows)
        logits = tuned(input_ids=tokens[:, :-1], use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        steps.append(rows)
        losses.append(loss.item())
        print(step + 1, loss.item(), flush=True)
    golden = dict(rank=RANK, alpha=ALPHA, rate=RATE, targets=TARGETS, losses=losses, steps=steps)
    with open(path, "w") as file:
        file.write(json.dumps(golden) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
