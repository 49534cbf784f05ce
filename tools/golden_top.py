#!/usr/bin/env python3
"""The likeliest words in a blank by Hugging Face transformers, for `mary ask --top`.

    python3 tools/golden_top.py        # needs torch and transformers

Tiny random models that lie in the tree: two masked ones read the sentence with their own mask in the blank, a causal
one what stands before the blank, after its own start token. Golden: the five likeliest tokens by id with their probabilities.
"""
import json
import pathlib

import tokenizers
import torch
import transformers as tf

HERE = pathlib.Path(__file__).resolve().parent.parent
LAB = HERE / "crates/run/mary-lab/tests/texts/golden"
MODELS = {"bert": LAB / "bert", "roberta": LAB / "roberta", "gpt2": HERE / "crates/models/mary-local/tests/golden/gpt2"}
SENTENCES = ["the old cat [MASK] near the river", "a small bird sings in the [MASK]", "the [MASK] is very loud today"]


def main():
    golden = {"made_with": f"transformers {tf.__version__}, torch {torch.__version__}, f32", "sentences": SENTENCES, "models": {}}
    for name, folder in MODELS.items():
        tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        masked = name != "gpt2"
        kind = tf.AutoModelForMaskedLM if masked else tf.AutoModelForCausalLM
        model = kind.from_pretrained(folder, torch_dtype=torch.float32).eval()
        mask = next((m for m in ("[MASK]", "<mask>") if tokenizer.token_to_id(m) is not None), None)
        rows = []
        for sentence in SENTENCES:
            if masked:
                ids = tokenizer.encode(sentence.replace("[MASK]", mask)).ids
                at = ids.index(tokenizer.token_to_id(mask))
            else:
                ids = tokenizer.encode(sentence.split("[MASK]")[0].rstrip()).ids
                at = len(ids) - 1
            with torch.no_grad():
                p = model(input_ids=torch.tensor([ids])).logits[0, at].double().softmax(-1)
            best = p.topk(5)
            rows.append([[tokenizer.id_to_token(i) or f"<{i}>", v] for i, v in zip(best.indices.tolist(), best.values.tolist())])
        golden["models"][name] = rows
    (LAB / "top.json").write_text(json.dumps(golden, indent=1) + "\n")
    print(json.dumps(golden["models"])[:600])


if __name__ == "__main__":
    main()
