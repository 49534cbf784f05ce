#!/usr/bin/env python3
"""One command: this program and Hugging Face transformers on the same GPU, with ratios.

    python3 tools/bench_peers_cuda.py --bench PATH --work DIR [--blimp BLiMP.zip] [--tokenizer FILE]
                                      [--real MODEL] [--golden DIR] [--mary PROGRAM --data DIR]
                                      [--only raw,blimp,...]

--bench is the example `bench` of mary-local, built with the feature `cuda`. Models of the Pythia-70M
and 1.4B shapes with seeded random weights are written under --work (speed does not depend on what the
weights say); --tokenizer is the tokenizer.json they get. --real is a real model on which verdicts are
compared with the processor's. --mary is the program itself, built by tools/build_cuda.sh, and --data the
folder of published datasets: with both, the psychometric battery is run as a user would. Prints one JSON line for each measurement, and a table at the end.
"""

import argparse
import io
import json
import os
import random
import struct
import subprocess
import sys
import time
import zipfile
from pathlib import Path

NEOX = dict(vocab_size=50304, max_position_embeddings=2048, rotary_pct=0.25, use_parallel_residual=True)
SHAPES = {
    "70m": dict(hidden_size=512, num_hidden_layers=6, num_attention_heads=8, intermediate_size=2048),
    "1.4b": dict(hidden_size=2048, num_hidden_layers=24, num_attention_heads=16, intermediate_size=8192),
}
CARRYING = {
    "mamba-1.4b": ("Mamba", dict(hidden_size=2048, num_hidden_layers=48, state_size=16)),
    "mamba2-1.3b": ("Mamba2", dict(hidden_size=2048, num_hidden_layers=48, state_size=128, num_heads=64, head_dim=64, n_groups=1)),
}
LLAMA_7B = dict(vocab_size=50304, hidden_size=4096, num_hidden_layers=32, num_attention_heads=32,
                intermediate_size=11008, max_position_embeddings=4096)
FAMILIES = """gpt_neox gpt_neox_sequential gpt2 llama llama_linear llama_llama3 llama_yarn mistral qwen2
qwen3 phi phi3 falcon_7b falcon_new falcon_rw gemma2 gemma3 opt opt_350m bert roberta visual_bert
clip_text llava_next qwen2_vl""".split()
TABLE = []


def note(what, **figures):
    print(json.dumps({"what": what, **figures}), flush=True)
    TABLE.append((what, figures))


def pairs_of(archive):
    pairs = []
    with zipfile.ZipFile(archive) as z:
        for name in sorted(n for n in z.namelist() if n.endswith(".jsonl") and "__MACOSX" not in n):
            for line in io.TextIOWrapper(z.open(name), "utf-8"):
                if line.strip():
                    row = json.loads(line)
                    pairs.append((row["sentence_good"], row["sentence_bad"]))
    random.Random(0).shuffle(pairs)
    return pairs


def htest_requests(count):
    """Fifty solved examples, then a question; the two labels are scored (our own generator)."""
    rng = random.Random(2)
    words = "anchor bramble copper dwindle ember falter gravel hollow island jumble kettle lantern".split()

    def question():
        upper = rng.random() < 0.5
        a, b = rng.sample(words, 2)
        first, second = (a.upper(), b) if upper else (a, b.upper())
        return f"Which one is written in capital letters?\nA. {first}\nB. {second}\nAnswer:", "A" if upper else "B"

    shots = "".join(f"{q} {a}\n\n" for q, a in (question() for _ in range(50)))
    return [[shots + question()[0], [" A", " B"]] for _ in range(count)]


def model_folder(args, shape):
    import torch
    import transformers

    folder = Path(args.work) / f"pythia-{shape}"
    if not (folder / "model.safetensors").exists():
        kind, sizes = CARRYING.get(shape) or ("GPTNeoX", {**NEOX, **SHAPES[shape]})
        config = getattr(transformers, f"{kind}Config")(**{"vocab_size": 50304, **sizes})
        torch.manual_seed(0)
        with torch.device("cuda"):
            model = getattr(transformers, f"{kind}ForCausalLM")(config).to(torch.bfloat16)
        model.save_pretrained(folder, max_shard_size="20GB")
        del model
        torch.cuda.empty_cache()
        (folder / "tokenizer.json").write_bytes(Path(args.tokenizer).read_bytes())
    return folder


def seven_billion(args):
    """A LLaMA of the 7B shape, 13.5 GB in bfloat16, in three files as such models are published."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    folder = Path(args.work) / "llama-7b"
    if not (folder / "config.json").exists():
        torch.manual_seed(0)
        with torch.device("cuda"):
            torch.set_default_dtype(torch.bfloat16)
            model = LlamaForCausalLM(LlamaConfig(**LLAMA_7B))
            torch.set_default_dtype(torch.float32)
        model.save_pretrained(folder, max_shard_size="5GB")
        del model
        torch.cuda.empty_cache()
        (folder / "tokenizer.json").write_bytes(Path(args.tokenizer).read_bytes())
    return folder


def ours(args, model, work, dtype, *extra):
    path = Path(args.work) / "jobs.json"
    path.write_text(json.dumps(work))
    command = [args.bench, str(model), str(path)]
    if "--device" not in extra:
        command += ["--device", "cuda:0"]
    command += ["--dtype", dtype, *extra]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.stderr.strip():
        print(run.stderr.strip()[-2000:], flush=True)
    if run.returncode:
        return None
    return json.loads(run.stdout)


class Peer:
    """Transformers as people use it: tokens padded to the longest, one forward, f32 log-softmax."""

    def __init__(self, folder, dtype):
        import torch
        from tokenizers import Tokenizer
        from transformers import AutoModelForCausalLM

        self.torch = torch
        self.tokenizer = Tokenizer.from_file(str(Path(folder) / "tokenizer.json"))
        kind = {"bf16": torch.bfloat16, "f32": torch.float32, "f16": torch.float16}[dtype]
        self.model = AutoModelForCausalLM.from_pretrained(folder, dtype=kind).cuda().eval()

    def batch(self, rows, starts):
        """Sums of the log-probabilities of each row's tokens from its start on."""
        torch = self.torch
        longest = max(map(len, rows))
        ids = torch.zeros((len(rows), longest), dtype=torch.long)
        mask = torch.zeros((len(rows), longest), dtype=torch.long)
        for i, row in enumerate(rows):
            ids[i, : len(row)] = torch.tensor(row)
            mask[i, : len(row)] = 1
        ids, mask = ids.cuda(), mask.cuda()
        with torch.inference_mode():
            logits = self.model(input_ids=ids, attention_mask=mask).logits[:, :-1]
            chosen = torch.log_softmax(logits.float(), -1).gather(-1, ids[:, 1:, None])[..., 0]
            place = torch.arange(1, longest, device="cuda")[None]
            start = torch.tensor(starts, device="cuda")[:, None]
            keep = (place >= start) & (mask[:, 1:] > 0)
            return (chosen * keep).sum(-1).tolist()

    def score(self, rows, starts, size):
        out = []
        for i in range(0, len(rows), size):
            out += self.batch(rows[i : i + size], starts[i : i + size])
        self.torch.cuda.synchronize()
        return out


def timed(work, repeat):
    best = float("inf")
    for _ in range(repeat):
        begin = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begin)
    return best


def matmul_rate(dtype):
    import torch

    kind = {"bf16": torch.bfloat16, "f32": torch.float32, "f16": torch.float16}[dtype]
    n = 8192
    a, b = (torch.randn(n, n, device="cuda").to(kind) for _ in range(2))
    for _ in range(3):
        a @ b
    torch.cuda.synchronize()
    rounds = 2 if dtype == "f32" else 10
    begin = time.perf_counter()
    for _ in range(rounds):
        a @ b
    torch.cuda.synchronize()
    return 2 * n**3 * rounds / (time.perf_counter() - begin)


def golden(args):
    for dtype, most in (("f32", 1e-4), ("bf16", 2e-2), ("f16", 2e-2)):
        for extra in ([], ["--arg", "matmul=own"]) if dtype == "bf16" else ([],):
            errors = ours(args, args.golden, {"kind": "golden", "families": FAMILIES}, dtype, *extra)
            if errors is None:
                note("golden", dtype=dtype, failed=True)
                continue
            worst = {n: max(e["hidden"], e["logits"] or 0) for n, e in errors.items()}
            over = {n: f"{e:.2e}" for n, e in worst.items() if not e <= most}
            name = max(worst, key=worst.get)
            note("golden", dtype=dtype, own=bool(extra), families=len(worst), worst=f"{worst[name]:.2e}",
                 of=name, tolerated=most, over=over)


def raw(args, shape, dtype):
    folder = model_folder(args, shape)
    rng = random.Random(5)
    count = {"70m": 512 * 40, "1.4b": 512 * 12}[shape] // (4 if dtype == "f32" else 1)
    rows = [[rng.randrange(49152) for _ in range(20)] for _ in range(count)]
    tokens = 20 * count
    results = {}
    for name, extra in (("auto", ()), ("own", ("--arg", "matmul=own"))):
        if dtype == "f32" and name == "own":
            continue
        work = {"kind": "raw", "sequences": rows, "rows": args.rows, "repeat": 4}
        results[name] = ours(args, folder, work, dtype, *extra)
    peer = Peer(folder, dtype)
    torch = peer.torch

    def forward(batches):
        """Ready-made batches that lie on the GPU, nothing padded: the best transformers can do."""
        with torch.inference_mode():
            sums = []
            for ids in batches:
                logits = peer.model(input_ids=ids).logits[:, :-1]
                sums.append(torch.log_softmax(logits.float(), -1).gather(-1, ids[:, 1:, None]).sum())
            return float(torch.stack(sums).sum())

    best, total = (float("inf"), 0), 0.0
    for size in (256, 512, 1024):
        batches = [torch.tensor(rows[i : i + size]).cuda() for i in range(0, len(rows) // 2, size)]
        forward(batches[:2])
        done = sum(len(b) for b in batches) * 20
        best = min(best, (timed(lambda: forward(batches), 2) / done * tokens, size))
        if size == 512:
            total = forward(batches) / (19 * sum(len(b) for b in batches))
    h, l = SHAPES[shape]["hidden_size"], SHAPES[shape]["num_hidden_layers"]
    flops = 2 * (12 * h * h * l + 50304 * h)
    rate = matmul_rate(dtype)
    peer_rate = tokens / best[0]
    for name, got in results.items():
        if got is None:
            note(f"raw {shape} {dtype} {name}", failed=True)
            continue
        mine = tokens / got["seconds"]
        note(f"raw {shape} {dtype} {name}", ours=round(mine), hf=round(peer_rate), ratio=round(mine / peer_rate, 2),
             hf_batch=best[1], ours_tflops=round(mine * flops / 1e12, 1), card_tflops=round(rate / 1e12, 1),
             fraction=round(mine * flops / rate, 3), load_s=round(got["load_s"], 2), device=got["device"],
             mean_logprob=round(got["answers"][0] / (19 * count), 4), hf_mean=round(total, 4))


def blimp(args, shape, dtype):
    folder = model_folder(args, shape)
    pairs = pairs_of(args.blimp)
    work = {"kind": "score", "requests": [["", list(p)] for p in pairs], "repeat": 3}
    got = ours(args, folder, work, dtype)
    peer = Peer(folder, dtype)
    texts = [t for p in pairs for t in p]

    def loop(texts, size):
        rows = [e.ids for e in peer.tokenizer.encode_batch(texts)]
        return peer.score(rows, [1] * len(rows), size)

    loop(texts[:4096], 512)
    tried = {size: timed(lambda: loop(texts[:16384], size), 1) for size in (128, 256, 512, 1024)}
    size = min(tried, key=tried.get)
    seconds = timed(lambda: loop(texts, size), 1)
    if got:
        note(f"BLiMP in full, {shape} {dtype}", ours_s=round(got["seconds"], 3), hf_s=round(seconds, 3),
             ratio=round(seconds / got["seconds"], 2), hf_batch=size, sentences=len(texts),
             load_s=round(got["load_s"], 2))


def htest(args, shape, dtype):
    folder = model_folder(args, shape)
    requests = htest_requests(1000)
    got = ours(args, folder, {"kind": "score", "requests": requests, "repeat": 3}, dtype)
    peer = Peer(folder, dtype)

    def loop(requests, size):
        rows, starts = [], []
        for prefix, answers in requests:
            start = len(peer.tokenizer.encode(prefix).ids)
            for answer in answers:
                rows.append(peer.tokenizer.encode(prefix + answer).ids)
                starts.append(min(start, len(rows[-1]) - 1))
        return peer.score(rows, starts, size)

    loop(requests[:16], 8)
    tried = {size: timed(lambda: loop(requests[:64], size), 1) for size in (8, 16, 32)}
    size = min(tried, key=tried.get)
    part = requests[:250]
    seconds = timed(lambda: loop(part, size), 1) * len(requests) / len(part)
    if got:
        note(f"H-TEST k=50, {shape} {dtype}", ours_s=round(got["seconds"], 4), hf_s=round(seconds, 3),
             ratio=round(seconds / got["seconds"], 1), hf_batch=size, questions=len(requests),
             hf_extrapolated_from=len(part))


def real(args):
    """Verdicts on minimal pairs: each number type on the GPU against f32 on the processor.

    The processor with --dtype bf16 rounds the weights and nothing else: what that alone changes."""
    pairs = pairs_of(args.blimp)[: args.pairs]
    work = {"kind": "score", "requests": [["", list(p)] for p in pairs]}
    truth = ours(args, args.real, work, "f32", "--device", "cpu")
    for dtype, extra in (("f32", ()), ("bf16", ()), ("bf16", ("--arg", "matmul=own")), ("f16", ()),
                         ("bf16", ("--arg", "rounding=weights")), ("bf16", ("--device", "cpu"))):
        got = ours(args, args.real, work, dtype, *extra)
        if not got or not truth:
            note(f"verdicts {dtype}", failed=True)
            continue
        same, gap, worst = 0, 0.0, 0.0
        for a, b in zip(truth["answers"], got["answers"]):
            one, two = a[0] - a[1], b[0] - b[1]
            worst = max(worst, max(abs(x - y) for x, y in zip(a, b)))
            if (one > 0) == (two > 0):
                same += 1
            else:
                gap = max(gap, abs(one))
        note(f"verdicts {dtype} {' '.join(extra)}".strip(), pairs=len(pairs), same=round(same / len(pairs), 5),
             largest_margin_of_the_rest=round(gap, 4), worst_sum_difference=round(worst, 4),
             cpu_s=round(truth["seconds"], 2), cuda_s=round(got["seconds"], 3))


def more(args):
    """Writing, observing, and memory that runs out."""
    prompts = [f"The {w} of the story is" for w in "end start hero moral place time point title".split()] * 16
    job = {"kind": "generate", "prompts": prompts, "max_tokens": 64}
    cpu = ours(args, args.real, {**job, "prompts": prompts[:8]}, "f32", "--device", "cpu")
    for dtype in ("f32", "bf16"):
        got = ours(args, args.real, job, dtype)
        if got and cpu:
            same = sum(a == b for a, b in zip(cpu["answers"], got["answers"]))
            note(f"writing {dtype}", tokens_per_s=round(got["completion_tokens"] / got["seconds"]),
                 same_as_cpu=f"{same} of 8", prompts=len(prompts))
    texts = [p[0] for p in pairs_of(args.blimp)[:4096]]
    cpu = ours(args, args.real, {"kind": "observe", "texts": texts[:64]}, "f32", "--device", "cpu")
    for dtype in ("f32", "bf16"):
        got = ours(args, args.real, {"kind": "observe", "texts": texts}, dtype)
        if got and cpu:
            errors = [abs(x - y) / max(abs(x), 1e-9) for a, b in zip(cpu["answers"], got["answers"])
                      for x, y in zip(a, b)]
            note(f"observing {dtype}", texts_per_s=round(len(texts) / got["seconds"]),
                 worst_norm_error=f"{max(errors):.2e}")
    pairs = pairs_of(args.blimp)[:2000]
    work = {"kind": "score", "requests": [["", list(p)] for p in pairs]}
    tight = ours(args, args.real, work, "bf16", "--arg", "memory=700", "--arg", "rows=16384")
    free = ours(args, args.real, work, "bf16")
    if tight and free:
        worst = max(abs(x - y) for a, b in zip(tight["answers"], free["answers"]) for x, y in zip(a, b))
        note("memory of 700 MB", seconds=round(tight["seconds"], 3), free_s=round(free["seconds"], 3),
             worst_difference=f"{worst:.2e}")
    else:
        note("memory of 700 MB", failed=True)


BATTERY = ["psychometric/numbers", "psychometric/blimp", "psychometric/typicality-vectors",
           "psychometric/typicality-surprisal", "psychometric/typicality-prompting", "psychometric/matrices"]


def mary(args, folders, *extra, device="cuda:0", dtype="bf16"):
    """One run of the program from nothing to its log; wall seconds and its summary."""
    models = ",".join(f"hf/{f}" if Path(f).is_dir() else f"gguf/{f}" for f in folders)
    command = [args.mary, "--output-path", str(Path(args.work) / f"runs-{time.time_ns()}"), "--data-dir", args.data,
               "run", "-m", models, "--device", device, "--dtype", dtype, "--no-cache", "--json", *extra]
    begin = time.perf_counter()
    run = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "MARY_TIMINGS": "1"})
    seconds = time.perf_counter() - begin
    print(run.stderr.strip()[-3000:], flush=True)
    if run.returncode:  # a refused run is quick: its seconds are no figure
        raise RuntimeError(f"mary ended with {run.returncode}: {run.stderr.strip()[-300:]}")
    return seconds, run


def battery(args):
    """Numbers, BLiMP in full, typicality three ways and matrices on a 1.4B shape, process start included."""
    folder = model_folder(args, "1.4b")
    tasks = ["-t", ",".join(BATTERY)]
    mary(args, [folder], "-t", "psychometric/numbers")  # the driver compiles the kernels once on each machine
    for dtype in ("bf16", "f16"):
        seconds, run = mary(args, [folder], *tasks, "--no-report", dtype=dtype)
        tasks_of = (json.loads(run.stdout) or {}).get("tasks", []) if run.stdout.strip().startswith("{") else []
        note(f"battery, 1.4b {dtype}", seconds=round(seconds, 2), rc=run.returncode, under=60,
             tasks=len(tasks_of) or len(BATTERY), evening_of_154_h=round(seconds * 154 / 3600, 2))
    seconds, run = mary(args, [folder], *tasks, "--no-report", device="cuda:0,cuda:0")
    note("battery, 1.4b bf16, two workers on one GPU", seconds=round(seconds, 2), rc=run.returncode)
    second = Path(args.work) / "pythia-1.4b-again"
    second.mkdir(exist_ok=True)
    for file in folder.iterdir():
        if not (second / file.name).exists():
            os.link(file, second / file.name)
    seconds, run = mary(args, [folder, second], *tasks, "--no-report")
    note("battery, two 1.4b checkpoints in one run, the second loaded meanwhile", seconds=round(seconds, 2),
         rc=run.returncode)


def writing(args):
    """Sampled answers, all to their full length: ours beside `generate` at its best batch, loading left out on both
    sides. Two loads: many answers behind long prompts, as the battery's typicality by prompting asks of a 1.4B shape
    (shorter ones: `generate` needs minutes for 830 tokens), and 200 answers of 64 tokens of a 7B shape."""
    import torch
    from tokenizers import Tokenizer
    from transformers import AutoModelForCausalLM

    rng = random.Random(0)
    for shape, count, prompt, answer, sizes in (("1.4b", 256, 580, 96, (128, 256)), ("7b", 200, 64, 64, (100, 200))):
        folder = seven_billion(args) if shape == "7b" else model_folder(args, shape)
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        words = [w for w in "stone water leaf table rope well book bag air floor apple lamp wire room".split()
                 if len(tokenizer.encode(" " + w).ids) == 1]
        texts = ["".join(" " + rng.choice(words) for _ in range(prompt)) for _ in range(count)]
        rows = [tokenizer.encode(t).ids for t in texts]
        assert {len(r) for r in rows} == {prompt}, "each word is one token"
        work = {"kind": "generate", "prompts": texts, "max_tokens": answer, "temperature": 1.0}
        ours(args, folder, {**work, "max_tokens": 2}, "bf16")  # the driver compiles the kernels once on each machine
        got = [ours(args, folder, work, "bf16") for _ in range(2)]
        got = min((g for g in got if g), key=lambda g: g["seconds"])
        print(f"ours, {shape}: {got['completion_tokens'] / got['seconds']:.0f} tokens/s", flush=True)
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16, device_map="cuda").eval()
        best, tried = 0.0, {}
        for size in sizes:
            tokens, spent = 0, 0.0
            for _ in range(2):  # the second counts
                torch.cuda.synchronize()
                begin, tokens = time.perf_counter(), 0
                for at in range(0, count, size):
                    ids = torch.tensor(rows[at : at + size], device="cuda")
                    out = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=True, temperature=1.0,
                                         top_k=0, max_new_tokens=answer, min_new_tokens=answer, pad_token_id=0)
                    tokens += (out.shape[1] - ids.shape[1]) * ids.shape[0]
                torch.cuda.synchronize()
                spent = time.perf_counter() - begin
            tried[size] = round(tokens / spent)
            print(f"generate in batches of {size}: {tried[size]} tokens/s", flush=True)
            best = max(best, tokens / spent)
        del model
        torch.cuda.empty_cache()
        rate = got["completion_tokens"] / got["seconds"]
        note(f"writing, {shape} bf16, {count} answers of {answer} behind {prompt}", ours=round(rate),
             transformers=round(best), ratio=round(rate / best, 2), aim=2.0, our_seconds=round(got["seconds"], 2),
             our_tokens=got["completion_tokens"], batches=tried)


LOOP = """
import json, sys, time
begin = time.perf_counter()
import torch
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM
folder, texts, size = sys.argv[1], json.load(open(sys.argv[2])), int(sys.argv[3])
imported = time.perf_counter()
model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16, device_map="cuda").eval()
torch.cuda.synchronize()
loaded = time.perf_counter()
rows = [e.ids for e in Tokenizer.from_file(folder + "/tokenizer.json").encode_batch_fast(texts)]
order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
scores = torch.zeros(len(rows), device="cuda")
with torch.inference_mode():
    for at in range(0, len(order), size):
        part = order[at : at + size]
        longest = len(rows[part[-1]])
        ids = torch.tensor([rows[i] + [0] * (longest - len(rows[i])) for i in part]).pin_memory()
        lens = torch.tensor([len(rows[i]) for i in part]).pin_memory()
        ids, lens = ids.cuda(non_blocking=True), lens.cuda(non_blocking=True)
        mask = torch.arange(longest, device="cuda")[None] < lens[:, None]
        logits = model(input_ids=ids, attention_mask=mask).logits[:, :-1].float()
        chosen = logits.gather(-1, ids[:, 1:, None])[..., 0] - logits.logsumexp(-1)
        scores[torch.tensor(part, device="cuda")] = (chosen * mask[:, 1:]).sum(-1)
answers = scores.tolist()
print(json.dumps({"imports": imported - begin, "load": loaded - imported,
                  "loop": time.perf_counter() - loaded, "mean": sum(answers) / len(answers)}))
"""


def processes(args, shapes=tuple(SHAPES)):
    """BLiMP in full, from the start of a process to its end: ours with items, log, summary and report, and the best
    loop we could write in transformers (texts sorted by length, large batches, nothing copied back but the
    sums), which reads a list of texts and prints a mean. Each is run until it no longer gets faster."""
    pairs = pairs_of(args.blimp)
    texts = Path(args.work) / "texts.json"
    texts.write_text(json.dumps([t for p in pairs for t in p]))
    for shape in shapes:
        folder = model_folder(args, shape)
        tries = []
        for _ in range(args.rounds):
            seconds, _ = mary(args, [folder], "-t", "psychometric/blimp")
            tries.append(seconds)
        peers = []
        for size in (1024, 2048, 1024, 2048)[: 2 * max(1, args.rounds // 2)]:
            begin = time.perf_counter()
            run = subprocess.run([sys.executable, "-c", LOOP, str(folder), str(texts), str(size)],
                                 capture_output=True, text=True)
            seconds = time.perf_counter() - begin
            if run.returncode:
                print(run.stderr[-1500:], flush=True)
                continue
            peers.append((seconds, size, json.loads(run.stdout)))
        if tries and peers:
            best = min(peers, key=lambda p: p[0])
            note(f"BLiMP in full as a process, {shape} bf16", ours_s=round(min(tries), 2),
                 ours_all=[round(t, 2) for t in tries], hf_s=round(best[0], 2), hf_batch=best[1],
                 hf_parts={k: round(v, 3) for k, v in best[2].items()}, ratio=round(best[0] / min(tries), 2))


def loading(args):
    """13.5 GB from the page cache to the GPU, hashing included, and with the hash remembered."""
    folder = seven_billion(args)
    size = sum(f.stat().st_size for f in folder.glob("*.safetensors"))
    for file in folder.glob("*.safetensors"):  # into the page cache
        with open(file, "rb") as f:
            while f.read(1 << 26):
                pass
    time.sleep(2.5)  # a file written this moment is not remembered
    for what in ("hashed", "remembered", "remembered"):
        seconds, run = mary(args, [folder], "-t", "psychometric/blimp", "-l", "67", "--no-report",
                            "--cache-dir", str(Path(args.work) / "cache"))
        note(f"7b, 67 pairs, {what}", gb=round(size / 1e9, 1), seconds=round(seconds, 2), rc=run.returncode)


SEVENTY = {"block_count": 80, "embedding_length": 8192, "feed_forward_length": 28672, "attention.head_count": 64,
           "attention.head_count_kv": 8, "rope.dimension_count": 128, "context_length": 8192}


def alike_layers(source, out, numbers=SEVENTY, vocabulary=49152):
    """A LLaMA in bfloat16 as GGUF whose layers all stand at the same place of the file, so that 140 GB of weights take 2.5
    on a disk and as much of the page cache; each layer is still fetched as if it were another. Tokenizer and other settings
    are those of `source`, a GGUF file of which the beginning is enough. Returns the bytes of one layer."""
    import numpy as np

    data, at = Path(source).open("rb").read(16 << 20), 24
    sizes = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}

    def skip(kind, at):
        if kind == 8:
            return at + 8 + struct.unpack_from("<Q", data, at)[0]
        if kind == 9:
            inner, count = struct.unpack_from("<IQ", data, at)
            at += 12
            if inner in sizes:
                return at + count * sizes[inner]
            for _ in range(count):
                at = skip(inner, at)
            return at
        return at + sizes[kind]

    text = lambda word: struct.pack("<Q", len(word)) + word.encode()
    kept = []
    for _ in range(struct.unpack_from("<Q", data, 16)[0]):
        begin = at
        length = struct.unpack_from("<Q", data, at)[0]
        key = data[at + 8:at + 8 + length].decode()
        at += 8 + length
        at = skip(struct.unpack_from("<I", data, at)[0], at + 4)
        if key.removeprefix("llama.") not in numbers and key not in ("llama.vocab_size", "general.file_type"):
            kept.append(data[begin:at])
    given = {f"llama.{name}": number for name, number in numbers.items()}
    kept += [text(key) + struct.pack("<II", 4, number) for key, number in {**given, "llama.vocab_size": vocabulary}.items()]
    width, inner, heads = numbers["embedding_length"], numbers["feed_forward_length"], numbers["attention.head_count"]
    keys = width // heads * numbers["attention.head_count_kv"]
    BF16, F32 = 30, 0
    layer = {"attn_norm": ([width], F32), "attn_q": ([width, width], BF16), "attn_k": ([width, keys], BF16),
             "attn_v": ([width, keys], BF16), "attn_output": ([width, width], BF16), "ffn_norm": ([width], F32),
             "ffn_gate": ([width, inner], BF16), "ffn_up": ([width, inner], BF16), "ffn_down": ([inner, width], BF16)}
    whole = {"token_embd": ([width, vocabulary], BF16), "output_norm": ([width], F32)}
    places, end = {}, 0
    for name, (shape, kind) in {**whole, **layer}.items():
        places[name] = (shape, kind, end)
        end += int(np.prod(shape)) * (2 if kind == BF16 else 4)
    names = [(name, name) for name in whole]
    names += [(f"blk.{i}.{name}", name) for i in range(numbers["block_count"]) for name in layer]
    rng = np.random.default_rng(0)
    with open(out, "wb") as file:
        file.write(b"GGUF" + struct.pack("<IQQ", 3, len(names), len(kept)) + b"".join(kept))
        for name, place in names:
            shape, kind, offset = places[place]
            file.write(text(name + ".weight") + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset))
        file.write(bytes(-file.tell() % 32))
        for shape, kind, _ in places.values():
            left = int(np.prod(shape))
            if kind == F32:
                file.write(np.ones(left, "<f4").tobytes())
                left = 0
            while left:  # numbers of either sign between 1/128 and 1/64
                drawn = rng.integers(0, 256, min(left, 1 << 26), np.uint8).astype("<u2")
                file.write(((drawn & 0x80) << 8 | 120 << 7 | drawn & 0x7F).tobytes())
                left -= len(drawn)
    return sum(int(np.prod(shape)) * (2 if kind == BF16 else 4) for shape, kind in layer.values())


def larger(args):
    """A model of the 70B shape, 137 GB, fetched layer by layer: tokens a second against the texts of a window, beside what the
    bus can carry (pinned memory copied by PyTorch)."""
    import torch

    host, gpu = torch.empty(2 << 30, dtype=torch.uint8).pin_memory(), torch.empty(2 << 30, dtype=torch.uint8, device="cuda")
    gpu.copy_(host)
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(5):
        gpu.copy_(host, non_blocking=True)
    torch.cuda.synchronize()
    bus = 5 * (2 << 30) / (time.perf_counter() - begin) / 1e9
    del host, gpu
    torch.cuda.empty_cache()
    model = Path(args.work) / "seventy.gguf"
    layer = alike_layers(args.gguf, model)
    fetched = layer * SEVENTY["block_count"] / 1e9
    alone = None
    for count in (67, 536, 2010, 8040):
        seconds, run = mary(args, [model], "-t", "psychometric/blimp", "-l", str(count), "--model-arg", "memory=40000", "--no-report")
        alone = alone or seconds
        note(f"70B shape in 40 GB, {count} pairs", seconds=round(seconds, 2), fetched_gb=round(fetched, 1),
             bus_gb_per_s=round(bus, 1), at_the_bus_s=round(fetched / bus, 2), more_than_67_pairs=round(seconds - alone, 2),
             summary=run.stdout[-300:] if count == 8040 else "")
    model.unlink()


def figure(what, f):
    """As tools/figures.py writes them, where there is a peer."""
    if "ratio" not in f:
        return {"what": what, **f}
    if "hf_s" in f:
        return {"what": what, "peer": "transformers, its best batch", "unit": "s", "ours": f["ours_s"], "theirs": f["hf_s"], **f}
    theirs = f.get("transformers", f.get("hf"))
    return {"what": what, "peer": "transformers, its best batch", "unit": "tokens/s", "theirs": theirs, **f}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bench")
    parser.add_argument("--work", required=True)
    parser.add_argument("--blimp")
    parser.add_argument("--tokenizer")
    parser.add_argument("--real")
    parser.add_argument("--golden")
    parser.add_argument("--gguf", help="a LLaMA's GGUF file, or its first 16 MB, whose tokenizer the 70B shape gets")
    parser.add_argument("--mary")
    parser.add_argument("--data")
    parser.add_argument("--pairs", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", help="where the figures go, with machine and commit")
    parser.add_argument("--commit", default="unknown", help="the commit that --bench and --mary were built from")
    parser.add_argument("--rows", type=int, default=10240)
    parser.add_argument("--only", default="golden,raw,raw32,blimp,htest,real,more")
    args = parser.parse_args()
    os.makedirs(args.work, exist_ok=True)
    load = round(os.getloadavg()[0], 2)  # before we make some ourselves
    steps = {
        "golden": lambda: golden(args),
        "raw": lambda: (raw(args, "70m", "bf16"), raw(args, "1.4b", "bf16")),
        "raw16": lambda: (raw(args, "70m", "f16"), raw(args, "1.4b", "f16")),
        "raw70": lambda: raw(args, "70m", "bf16"),
        "raw14": lambda: raw(args, "1.4b", "bf16"),
        "raw32": lambda: (raw(args, "70m", "f32"), raw(args, "1.4b", "f32")),
        "blimp": lambda: (blimp(args, "70m", "bf16"), blimp(args, "1.4b", "bf16")),
        "blimp16": lambda: (blimp(args, "70m", "f16"), blimp(args, "1.4b", "f16")),
        "htest16": lambda: (htest(args, "70m", "f16"), htest(args, "1.4b", "f16")),
        "htest": lambda: (htest(args, "70m", "bf16"), htest(args, "1.4b", "bf16")),
        "real": lambda: real(args),
        "more": lambda: more(args),
        "battery": lambda: battery(args),
        "processes": lambda: processes(args),
        "carrying": lambda: processes(args, tuple(CARRYING)),
        "writing": lambda: writing(args),
        "loading": lambda: loading(args),
        "larger": lambda: larger(args),
    }
    for step in args.only.split(","):
        begin = time.perf_counter()
        try:
            steps[step]()
        except Exception as error:  # one failed step must not hide the others
            note(step, error=f"{type(error).__name__}: {error}"[:500])
        print(f"[{step}: {time.perf_counter() - begin:.1f} s]", flush=True)
    if args.json:
        import torch
        import transformers

        about = {"gpu": torch.cuda.get_device_name(), "cores": os.cpu_count(), "load": load, "commit": args.commit,
                 "date": time.strftime("%Y-%m-%d"), "torch": torch.__version__,
                 "transformers": transformers.__version__}
        figures = [figure(what, f) for what, f in TABLE]
        Path(args.json).write_text(json.dumps({"machine": about, "figures": figures}, indent=1))
    print()
    for what, figures in TABLE:
        print(f"{what:36}", "  ".join(f"{k}={v}" for k, v in figures.items()))


main()
