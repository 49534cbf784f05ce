#!/usr/bin/env python3
"""Times `mary score` beside minicons on the same weights and texts, on the processor.

    python tools/bench_minicons.py MARY FOLDER [--texts 200] [--rounds 3] [--threads N] [--batches 1,8,32]

MARY is the program, FOLDER a model in Hugging Face layout (smollm2-135m-hf of tools/make_test_models.py, made
where torch is installed). Texts are the sentences of crates/models/mary-local/tests/golden_real.json, repeated with
a number in front where more are asked for. Loading is left out on both sides: Mary's time is what her progress
line says (reading, scoring, log and cache of answers included), minicons' is that of token_score over batches
of 1, 8 and 32, sorted by length, of which the best counts. Rounds alternate; the ratio is of the best rounds.

On a machine that is busy with other things --processor counts processor time instead (use one thread): of
minicons' calls, and of Mary's process less that of a process that scores one text, which is starting and loading.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import tempfile
import time
from pathlib import Path

from figures import Figures, versions

ROOT = Path(__file__).resolve().parent.parent


def texts(n):
    own = json.loads((ROOT / "crates/models/mary-local/tests/golden_real.json").read_text())["sentences"]
    return [own[i] if i < len(own) else f"{i // len(own) + 1}. {own[i % len(own)]}" for i in range(n)]


PROCESSOR = False


def spent(who):
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def now():
    return spent(resource.RUSAGE_SELF) if PROCESSOR else time.perf_counter()


def ours(program, folder, lines, threads):
    with tempfile.TemporaryDirectory() as home:
        file = Path(home) / "texts.txt"
        file.write_text("\n".join(lines) + "\n")
        command = [program, "score", str(file), "-m", f"hf/{folder}", "--by", "word", "--out", f"{home}/words.csv",
                   "--threads", str(threads), "--output-path", f"{home}/runs", "--cache-dir", f"{home}/cache"]
        before = spent(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        if PROCESSOR:
            whole = spent(resource.RUSAGE_CHILDREN) - before
            return whole - ours(program, folder, lines[:1], threads) if len(lines) > 1 else whole
        return float(re.search(r": \d+ in ([\d.]+) s", done.stderr).group(1))


def theirs(lm, lines, batch):
    begin = now()
    ordered = sorted(lines, key=len)
    for i in range(0, len(ordered), batch):
        lm.token_score(ordered[i:i + batch], bos_token=True, surprisal=True, base_two=True)
    return now() - begin


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("mary")
    arguments.add_argument("folder")
    arguments.add_argument("--texts", type=int, default=200)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--threads", type=int, default=os.cpu_count())
    arguments.add_argument("--batches", default="1,8,32")
    arguments.add_argument("--processor", action="store_true")
    arguments.add_argument("--json", help="where the figure goes, with machine and commit")
    given = arguments.parse_args()
    global PROCESSOR
    PROCESSOR = given.processor
    import torch
    from minicons import scorer

    figures = Figures(threads=given.threads, **versions("torch", "transformers", "minicons"))
    torch.set_num_threads(given.threads)
    lm = scorer.IncrementalLMScorer(given.folder, "cpu")
    lines = texts(given.texts)
    theirs(lm, lines[:8], 8)
    best = {}
    for _ in range(given.rounds):
        for name, run in [("mary", lambda: ours(given.mary, given.folder, lines, given.threads)),
                          *((f"minicons, batch {b}", lambda b=b: theirs(lm, lines, b)) for b in map(int, given.batches.split(",")))]:
            seconds = run()
            best[name] = min(seconds, best.get(name, seconds))
            print(f"{name}: {seconds:.2f} s", flush=True)
    peer = min((seconds, name) for name, seconds in best.items() if name != "mary")
    print(f"{len(lines)} texts, {given.threads} threads: mary {len(lines) / best['mary']:.1f}/s, {peer[1]} {len(lines) / peer[0]:.1f}/s")
    figure = figures.add(f"{len(lines)} texts, token by token", peer[1], len(lines) / best["mary"], len(lines) / peer[0], "texts/s", 3.0)
    print(f"ratio {figure['ratio']:.2f}")
    figures.save(given.json)


if __name__ == "__main__":
    main()
