"""LoRA on the processor: `mary tune` beside PEFT and transformers on the same model and the same texts.

    python tools/bench_tune.py MARY FOLDER_OF_A_MODEL [--examples 32] [--tokens 128] [--threads 2]

Both train rank 8 on queries and values, in 32 bits, batches of eight texts of equal length, so that PEFT
needs no padding; as plain text, so that no chat template makes ours longer (a token before and one behind
each text are ours alone, and not counted). What loading costs is taken away by running one and three rounds. Printed are tokens a
second by the clock and by processor time; on a busy machine the second is the fair one.
"""
import argparse
import json
import pathlib
import resource
import subprocess
import tempfile
import time

WORDS = "stone water leaf table kitchen rope well bucket book bag air floor apple pear lamp wire room candle".split()


def texts(tokenizer, count, length):
    """Texts of exactly so many tokens."""
    out, at = [], 0
    while len(out) < count:
        ids = tokenizer(" " + " ".join(WORDS[(at * 7 + i * (at % 5 + 1)) % len(WORDS)] for i in range(3 * length)))["input_ids"][:length]
        text = tokenizer.decode(ids)
        if len(tokenizer(text)["input_ids"]) == length:
            out.append(text)
        at += 1
    return out


def peft(folder, lines, rounds, threads):
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM, AutoTokenizer
    torch.set_num_threads(threads)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    model = get_peft_model(model, LoraConfig(r=8, lora_alpha=16, lora_dropout=0.0, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    ids = torch.tensor([tokenizer(t)["input_ids"] for t in lines])
    model.train()
    begun, used = time.time(), time.process_time()
    for _ in range(rounds):
        for batch in ids.split(8):
            loss = model(input_ids=batch, labels=batch).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return time.time() - begun, time.process_time() - used


def mary(program, folder, lines, rounds, threads, work):
    data = work / "set.jsonl"
    data.write_text("".join(json.dumps({"messages": [{"role": "user", "content": ""}, {"role": "assistant", "content": t}]}) + "\n" for t in lines))
    command = [program, "tune", "-m", f"hf/{folder}", "--data", str(data), "--out", str(work / f"adapter-{rounds}-{time.time()}"),
               "--epochs", str(rounds), "--batch-size", "8", "--rank", "8", "--dropout", "0", "--held-out", "0", "--lr", "1e-4",
               "--threads", str(threads), "--plain-text"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.time()
    subprocess.run(command, check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.time() - begun, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("--examples", type=int, default=32)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    from transformers import AutoTokenizer
    lines = texts(AutoTokenizer.from_pretrained(args.folder), args.examples, args.tokens)
    tokens = 2 * args.examples * args.tokens
    with tempfile.TemporaryDirectory() as work:
        one = mary(args.program, args.folder, lines, 1, args.threads, pathlib.Path(work))
        three = mary(args.program, args.folder, lines, 3, args.threads, pathlib.Path(work))
    ours = (three[0] - one[0], three[1] - one[1])
    theirs = peft(args.folder, lines, 2, args.threads)
    for name, (wall, used) in (("mary", ours), ("PEFT", theirs)):
        print(f"{name}: {tokens / wall:.0f} tokens/s by the clock, {tokens / used:.0f} tokens a second of processor time")
    print(f"ratio: {theirs[0] / ours[0]:.2f} by the clock, {theirs[1] / ours[1]:.2f} by processor time")
