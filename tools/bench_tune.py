"""LoRA on the processor: `mary tune` beside PEFT and transformers on the same model and the same texts.

    python tools/bench_tune.py MARY FOLDER_OF_A_MODEL [--examples 16] [--tokens 128] [--threads 2] [--rounds 3] [--json FILE]

Both train rank 8 on queries and values, in 32 bits, batches of eight texts of equal length, so that PEFT
needs no padding; as plain text, so that no chat template makes ours longer (a token before and one behind
each text are ours alone, and not counted). What loading costs is taken away: ours runs one epoch and three
epochs, PEFT's model is loaded once and takes a step before it is timed. The two sides take turns, so that a
busy machine troubles both alike; printed are medians of the rounds, in tokens a second by the clock and by
processor time. On a busy machine the second is the fair one.
"""
import argparse
import json
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

from figures import Figures, versions

WORDS = "stone water leaf table kitchen rope well bucket book bag air floor apple pear lamp wire room candle".split()
BATCH = 8


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


class Peft:
    """PEFT's side, loaded once."""

    def __init__(self, folder, lines, threads):
        import torch
        from peft import LoraConfig, get_peft_model
        from transformers import AutoModelForCausalLM, AutoTokenizer
        torch.set_num_threads(threads)
        tokenizer = AutoTokenizer.from_pretrained(folder)
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
        config = LoraConfig(r=8, lora_alpha=16, lora_dropout=0.0, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
        self.model = get_peft_model(model, config)
        self.optimizer = torch.optim.AdamW([p for p in self.model.parameters() if p.requires_grad], lr=1e-4)
        self.ids = torch.tensor([tokenizer(t)["input_ids"] for t in lines])
        self.model.train()
        self.step(self.ids[:BATCH])

    def step(self, batch):
        loss = self.model(input_ids=batch, labels=batch).loss
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def epochs(self, count):
        begun, used = time.time(), time.process_time()
        for _ in range(count):
            for batch in self.ids.split(BATCH):
                self.step(batch)
        return time.time() - begun, time.process_time() - used


def mary(program, folder, lines, epochs, threads, work):
    data = work / "set.jsonl"
    data.write_text("".join(json.dumps({"messages": [{"role": "user", "content": ""}, {"role": "assistant", "content": t}]}) + "\n" for t in lines))
    command = [program, "tune", "-m", f"hf/{folder}", "--data", str(data), "--out", str(work / f"adapter-{time.time()}"),
               "--epochs", str(epochs), "--batch-size", str(BATCH), "--rank", "8", "--dropout", "0", "--held-out", "0", "--lr", "1e-4",
               "--threads", str(threads), "--plain-text"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.time()
    done = subprocess.run(command, capture_output=True, text=True)
    wall = time.time() - begun
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def say(text):
    print(text, file=sys.stderr, flush=True)


def measure(args):
    from transformers import AutoTokenizer
    lines = texts(AutoTokenizer.from_pretrained(args.folder), args.examples, args.tokens)
    tokens = 2 * args.examples * args.tokens
    say("loading PEFT's side, and a step of it")
    peft = Peft(args.folder, lines, args.threads)
    rounds = []
    with tempfile.TemporaryDirectory() as work:
        for number in range(1, args.rounds + 1):
            one, three = (mary(args.program, args.folder, lines, epochs, args.threads, pathlib.Path(work)) for epochs in (1, 3))
            ours = (three[0] - one[0], three[1] - one[1])
            theirs = peft.epochs(2)
            rounds.append({"mary": [tokens / t for t in ours], "peft": [tokens / t for t in theirs]})
            say(f"round {number} of {args.rounds}: ours {tokens / ours[0]:.0f}, PEFT's {tokens / theirs[0]:.0f} tokens/s by the clock; "
                f"{tokens / ours[1]:.0f} and {tokens / theirs[1]:.0f} by processor time")
    middle = {side: [statistics.median(r[side][i] for r in rounds) for i in (0, 1)] for side in ("mary", "peft")}
    return middle


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("--examples", type=int, default=16)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=pathlib.Path, help="where the figures go, with machine and commit")
    args = parser.parse_args()
    figures = Figures(threads=args.threads, **versions("torch", "transformers", "peft"))
    middle = measure(args)
    for name in ("mary", "peft"):
        print(f"{name}: {middle[name][0]:.0f} tokens/s by the clock, {middle[name][1]:.0f} tokens a second of processor time")
    what = f"LoRA on {pathlib.Path(args.folder).name}, {BATCH} texts of {args.tokens} tokens a step"
    clock = figures.add(what, "PEFT", middle["mary"][0], middle["peft"][0], "tokens/s", 1.2)
    work = figures.add(f"{what}, of processor time", "PEFT", middle["mary"][1], middle["peft"][1], "tokens/s")
    print(f"ratio: {clock['ratio']:.2f} by the clock, {work['ratio']:.2f} by processor time")
    figures.save(args.json)
