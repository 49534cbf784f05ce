#!/usr/bin/env python3
"""One command: this program and its peers on the same weights, items and threads, with ratios.

    python tools/bench_peers_local.py --models DIR [--bench PATH] [--threads 2] [--repeat 3]
                                      [--only blimp,raven,htest,raw,llama,together,cold] [--scale 1.0]
                                      [--arg matmul=vectors]

Peers: lm-evaluation-harness with its Hugging Face backend (best of the batch sizes tried), plain
transformers without any sharing, and llama.cpp (xllamacpp) on the GGUF file. --models is the folder
tools/make_test_models.py makes. Runs alternate between the sides and the best of each is taken, so
that a busy machine hurts both alike; processor seconds are shown beside wall seconds for the same
reason. Our side is `cargo run --release -p mary-local --example bench`, or --bench names the binary.
"""

import argparse
import io
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from figures import Figures, versions

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("MARY_DATA_DIR", ROOT.parent / "shared" / "datasets"))


def blimp(scale):
    """Minimal pairs: whole sentences, nothing before them."""
    rng = random.Random(0)
    archive = DATA / "blimp" / "BLiMP.zip"
    pairs = []
    with zipfile.ZipFile(archive) as z:
        names = sorted(n for n in z.namelist() if n.endswith(".jsonl") and "__MACOSX" not in n)
        for name in names:
            rows = [json.loads(line) for line in io.TextIOWrapper(z.open(name), "utf-8") if line.strip()]
            take = max(1, int(len(rows) * scale))
            pairs += [(r["sentence_good"], r["sentence_bad"]) for r in rows[:take]]
    rng.shuffle(pairs)
    return [["", list(p)] for p in pairs]


def raven(scale):
    """Three-by-three matrices of attribute numbers, eight candidates each (our own generator)."""
    rng = random.Random(1)
    items = []
    for _ in range(max(2, int(100 * scale))):
        rows = [[[rng.randrange(10) for _ in range(3)] for _ in range(3)] for _ in range(3)]
        text = "".join("".join(f"[{a} {b} {c}] " for a, b, c in row) + "\n" for row in rows)
        prefix = text[: text.rstrip().rfind("[")]
        answers = [f"[{rng.randrange(10)} {rng.randrange(10)} {rng.randrange(10)}]" for _ in range(8)]
        items.append([prefix.rstrip(" "), [" " + a for a in answers]])
    return items


def htest(scale):
    """Fifty solved examples, then a question; the two labels are scored (our own generator)."""
    rng = random.Random(2)
    words = "anchor bramble copper dwindle ember falter gravel hollow island jumble kettle lantern".split()

    def question():
        upper = rng.random() < 0.5
        a, b = rng.sample(words, 2)
        first, second = (a.upper(), b) if upper else (a, b.upper())
        return f"Which one is written in capital letters?\nA. {first}\nB. {second}\nAnswer:", "A" if upper else "B"

    shots = "".join(f"{q} {a}\n\n" for q, a in (question() for _ in range(50)))
    return [[shots + question()[0], [" A", " B"]] for _ in range(max(2, int(200 * scale)))]


def raw(scale):
    """Sentences that share nothing."""
    rng = random.Random(3)
    words = [w for item in blimp(0.002) for w in item[1][0].split()]
    return [["", [" ".join(rng.choice(words) for _ in range(20))]] for _ in range(max(8, int(1000 * scale)))]


def ours(args, model, work, *extra):
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as f:
        json.dump(work, f)
    line = subprocess.run([*args.bench, str(model), f.name, "--threads", str(args.threads),
                           *(x for a in args.arg for x in ("--arg", a)), *extra],
                          check=True, stdout=subprocess.PIPE, text=True).stdout
    os.unlink(f.name)
    return json.loads(line)


class Harness:
    """lm-evaluation-harness, Hugging Face backend, f32."""

    def __init__(self, args, batch):
        import torch
        from lm_eval.models.huggingface import HFLM

        torch.set_num_threads(args.threads)
        self.lm = HFLM(pretrained=str(args.models / "smollm2-135m-hf"), dtype="float32", device="cpu", batch_size=batch)

    def score(self, items):
        from lm_eval.api.instance import Instance

        requests = [Instance("loglikelihood", {}, (prefix, c), i) for i, (prefix, cs) in enumerate(items) for c in cs]
        begin, cpu = time.perf_counter(), time.process_time()
        answers = self.lm.loglikelihood(requests, disable_tqdm=True)
        return time.perf_counter() - begin, time.process_time() - cpu, [a[0] for a in answers]


class Plain:
    """transformers: padded batches sorted by length, log-softmax over the vocabulary, no sharing."""

    def __init__(self, harness):
        self.model, self.tokenizer = harness.lm.model, harness.lm.tokenizer

    def score(self, items, batch=64):
        import torch

        begin, cpu = time.perf_counter(), time.process_time()
        first = self.tokenizer.bos_token_id
        ids = sorted(([first, *self.tokenizer(c, add_special_tokens=False).input_ids] for _, cs in items for c in cs), key=len)
        for i in range(0, len(ids), batch):
            group = ids[i : i + batch]
            width = max(map(len, group))
            x = torch.tensor([g + [0] * (width - len(g)) for g in group])
            mask = torch.tensor([[1] * len(g) + [0] * (width - len(g)) for g in group])
            with torch.inference_mode():
                logits = self.model(input_ids=x, attention_mask=mask).logits
                torch.log_softmax(logits[:, :-1].float(), -1).gather(-1, x[:, 1:, None]).sum().item()
        return time.perf_counter() - begin, time.process_time() - cpu, sum(map(len, ids))


def compare(args, name, items, target, batch=64):
    harness = {b: Harness(args, b) for b in (args.batch or [batch])}
    best_ours, best_peer = None, None
    for _ in range(args.repeat):
        mine = ours(args, args.models / "smollm2-135m-hf", {"kind": "score", "requests": items})
        for lm in harness.values():
            wall, cpu, answers = lm.score(items)
            if best_peer is None or wall < best_peer[0]:
                best_peer = (wall, cpu, answers)
        if best_ours is None or mine["seconds"] < best_ours["seconds"]:
            best_ours = mine
    flat = [x for a in best_ours["answers"] for x in a]
    worst = max(abs(a - b) for a, b in zip(flat, best_peer[2]))
    print(f"{name}: {len(items)} items, {best_ours['prompt_tokens']} tokens; ours {best_ours['seconds']:.2f} s wall,"
          f" {best_ours['processor_s']:.1f} s of processor; lm-evaluation-harness {best_peer[0]:.2f} s wall, {best_peer[1]:.1f} s of processor"
          f" -> {best_peer[0] / best_ours['seconds']:.2f}x by wall, {best_peer[1] / best_ours['processor_s']:.2f}x by processor (target {target}x); largest difference of a sum {worst:.1e} nats", flush=True)
    args.figures.add(f"{name}, {len(items)} items", "lm-evaluation-harness", best_ours["seconds"], best_peer[0], "s", target)


def run_raw(args):
    items = raw(args.scale)
    plain = Plain(Harness(args, 64))
    mine, peer = None, None
    for _ in range(args.repeat):
        a = ours(args, args.models / "smollm2-135m-hf", {"kind": "score", "requests": items}, "--arg", "trie=off")
        b = plain.score(items)
        mine = a if mine is None or a["processor_s"] < mine["processor_s"] else mine
        peer = b if peer is None or b[1] < peer[1] else peer
    rate, theirs = mine["prompt_tokens"] / mine["seconds"], peer[2] / peer[0]
    print(f"raw, by processor seconds: ours {mine['prompt_tokens'] / mine['processor_s']:.0f} tokens/s, transformers {peer[2] / peer[1]:.0f}"
          f" -> {mine['prompt_tokens'] / mine['processor_s'] / (peer[2] / peer[1]):.2f}x")
    floor = mine["prompt_tokens"] * mine["flops_per_token"] / mine["gflops"] / 1e9
    print(f"raw: ours {rate:.0f} tokens/s, transformers {theirs:.0f} -> {rate / theirs:.2f}x (target 1.0x);"
          f" floor {floor:.2f} s at {mine['gflops']:.0f} GFLOP/s, we take {mine['seconds']:.2f} s -> {floor / mine['seconds']:.0%} (target 75 %)", flush=True)
    args.figures.add("texts that share nothing", "transformers", rate, theirs, "tokens/s", 1.0)
    args.figures.add("texts that share nothing", "the products alone", mine["seconds"], floor, "s", 0.75)


def run_llama(args):
    """llama.cpp reads and writes; its own timings, best of the repeats."""
    import xllamacpp

    gguf = args.gguf or args.models / "smollm2-135m.gguf"
    prompt = " ".join(f"The {w} stands near the old {v}." for w in "mill tower bridge house lamp gate".split()
                      for v in "river road field wall tree barn well".split())
    params = xllamacpp.CommonParams()
    params.model.path = str(gguf)
    params.cpuparams.n_threads = args.threads
    params.cpuparams_batch.n_threads = args.threads
    params.n_ctx, params.n_parallel = 4096, 1
    server = xllamacpp.Server(params)
    best = {}
    for i in range(args.repeat):
        reply = server.handle_completions({"prompt": f"{i} {prompt}", "n_predict": 64, "temperature": 0, "cache_prompt": False, "ignore_eos": True})
        timings = (reply if isinstance(reply, dict) else json.loads(reply))["timings"]
        for key in ("prompt_per_second", "predicted_per_second"):
            best[key] = max(best.get(key, 0), timings[key])
        one = ours(args, gguf, {"kind": "generate", "prompts": [prompt], "max_tokens": 1})
        # The first pass unpacks weights; the prefill rate is that of scoring four such texts.
        texts = [f"{j} {prompt}" for j in range(4)]
        read = ours(args, gguf, {"kind": "score", "requests": [[t, [" x"]] for t in texts]})
        many = ours(args, gguf, {"kind": "generate", "prompts": [prompt], "max_tokens": 65})
        best["read"] = max(best.get("read", 0), read["prompt_tokens"] / read["seconds"])
        steps, seconds = many["completion_tokens"] - one["completion_tokens"], many["seconds"] - one["seconds"]
        if steps > 0 and seconds > 0:
            best["write"] = max(best.get("write", 0), steps / seconds)
    print(f"llama.cpp: prefill ours {best['read']:.0f}, theirs {best['prompt_per_second']:.0f} tokens/s -> {best['read'] / best['prompt_per_second']:.2f}x;"
          f" generation ours {best.get('write', 0):.0f}, theirs {best['predicted_per_second']:.0f} -> {best.get('write', 0) / best['predicted_per_second']:.2f}x", flush=True)
    peak = read["peak_bytes"]
    size = gguf.stat().st_size
    args.figures.add(f"reading, {gguf.name}", "llama.cpp", best["read"], best["prompt_per_second"], "tokens/s", 2.0)
    args.figures.add(f"writing, {gguf.name}", "llama.cpp", best.get("write", 0), best["predicted_per_second"], "tokens/s", 1.0)
    args.figures.add(f"peak memory, {gguf.name}", "the file", peak / 1e6, size / 1e6, "MB", 0.77)
    print(f"{gguf.name}: {size / 1e6:.0f} MB; our peak memory {peak / 1e6:.0f} MB -> {peak / size:.2f}x the file", flush=True)


def run_together(args):
    """Sixteen answers at a time, and as many as we take by ourselves, beside llama.cpp's server with sixteen
    slots and all requests sent at once; wall time with the reading of the prompts on both sides."""
    import threading
    import urllib.request

    import xllamacpp

    gguf = args.gguf or args.models / "smollm2-135m.gguf"
    words = "mill tower bridge house lamp gate".split()
    prompts = [f"{i} The {words[i % 6]} stands near the old {words[i * 5 % 6]}." for i in range(args.answers)]
    params = xllamacpp.CommonParams()
    params.model.path = str(gguf)
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = args.threads
    params.n_ctx, params.n_parallel = 16 * 512, 16
    server = xllamacpp.Server(params)
    written = []

    def ask(prompt):
        body = json.dumps({"prompt": prompt, "n_predict": 64, "temperature": 0, "cache_prompt": False, "ignore_eos": True})
        request = urllib.request.Request(server.listening_address + "/completion", body.encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as reply:
            written.append(json.load(reply)["tokens_predicted"])

    mine = free = theirs = 0.0
    for _ in range(args.repeat):
        written.clear()
        begin = time.perf_counter()
        threads = [threading.Thread(target=ask, args=(p,)) for p in prompts]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        theirs = max(theirs, sum(written) / (time.perf_counter() - begin))
        work = {"kind": "generate", "prompts": prompts, "max_tokens": 64, "floor": False}
        out = ours(args, gguf, work, "--batch-size", "16")
        mine = max(mine, out["completion_tokens"] / out["seconds"])
        out = ours(args, gguf, work)
        free = max(free, out["completion_tokens"] / out["seconds"])
    print(f"together: {len(prompts)} answers, 16 at a time; ours {mine:.0f}, llama.cpp with 16 slots {theirs:.0f} tokens/s in all"
          f" -> {mine / theirs:.2f}x (target 5x); with as many places as we take {free:.0f} -> {free / theirs:.2f}x", flush=True)
    args.figures.add(f"{len(prompts)} answers, 16 at a time, {gguf.name}", "llama.cpp's server, 16 slots", mine, theirs, "tokens/s", 5.0)
    args.figures.add(f"{len(prompts)} answers, as many at a time as we take, {gguf.name}", "llama.cpp's server, 16 slots", free, theirs, "tokens/s")


def run_cold(args):
    best = None
    for _ in range(args.repeat):
        begin = time.perf_counter()
        out = ours(args, args.models / "smollm2-135m-hf", {"kind": "score", "requests": [["", ["The cat sleeps."]]], "floor": False})
        took = time.perf_counter() - begin
        best = took if best is None else min(best, took)
    print(f"cold start: process start to one scored sentence {best:.2f} s (target 0.4 s), of it loading {out['load_s']:.2f} s", flush=True)
    args.figures.add("process start to one scored sentence, 135M in f32", "the aim", best, 0.4, "s", 1.0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--gguf", type=Path, help="the file for llama.cpp and us (default: SmolLM2 of --models)")
    parser.add_argument("--bench", help="our binary, if it is built already")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--answers", type=int, default=32, help="answers written by `together`")
    parser.add_argument("--arg", action="append", default=[], help="a setting of our side, such as matmul=vectors")
    parser.add_argument("--batch", type=int, action="append", help="batch sizes for the harness (default 64; 4 for k = 50, where 64 rows of logits fill 16 GB)")
    parser.add_argument("--only", default="cold,raw,raven,htest,llama,blimp")
    parser.add_argument("--scale", type=float, default=0.1, help="share of the items (1.0 is all of BLiMP)")
    parser.add_argument("--json", help="where the figures go, with machine and commit")
    args = parser.parse_args()
    args.figures = Figures(threads=args.threads, settings=", ".join(args.arg) or "none",
                           **versions("torch", "transformers", "lm_eval", "xllamacpp"))
    args.bench = [args.bench] if args.bench else [
        "cargo", "run", "--quiet", "--release", "-p", "mary-local", "--example", "bench", "--"]
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    print("load average", os.getloadavg(), file=sys.stderr)
    runs = {
        "cold": lambda: run_cold(args),
        "raw": lambda: run_raw(args),
        "raven": lambda: compare(args, "raven", raven(args.scale), 5),
        "htest": lambda: compare(args, "htest k=50", htest(args.scale), 30, batch=4),
        "llama": lambda: run_llama(args),
        "together": lambda: run_together(args),
        "blimp": lambda: compare(args, "blimp", blimp(args.scale), 4.5),
    }
    for name in args.only.split(","):
        runs[name]()
        args.figures.save(args.json)


if __name__ == "__main__":
    main()
