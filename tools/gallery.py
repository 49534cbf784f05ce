#!/usr/bin/env python3
"""The gallery: every family on every real model that lies here, then `mary atlas` over the runs.

    python3 tools/gallery.py MARY --models FOLDER --data FOLDER --out FOLDER [--pictures docs/pictures]

A run is named by what it asks, so the same command continues where it was interrupted, and the site can be made at any
time from what is done (`--site-only`). Limits keep the whole within about an hour of two cores; all models get the same
items, so that comparisons are paired, and files over a gigabyte the first `--few` of them. Left out for time are the tasks
in which a model writes long answers. `--pictures` takes pictures of the site with chromium.
"""

import argparse
import shutil
import subprocess
import sys
import time
from pathlib import Path

NANO = ["step0", "step256", "step1000", "step3000"]
RULES = ",".join(f"htest/{name}" for name in (
    "uppercase start-vowel end-punctuation palindrome end-ly spelled-math spelled-number rhyme repeated-word "
    "hyphenated-word").split())
WORDS = ",".join(f"psychometric/{name}" for name in (
    "grammar grammar-small matrices digit-matrices letter-strings analogies-surprisal analogies-prompting characters "
    "define-use typicality-surprisal word-age").split())
VECTORS = "psychometric/numbers,psychometric/typicality-vectors,psychometric/analogies-vectors,embodied/sensoryvec"
IMAGINED = "embodied/perceptualqa,embodied/fresh-colour,embodied/fresh-geometry,embodied/fresh-symbols"
REFUSED = 3
LARGE = 150 << 20
HUGE = 1 << 30

# What is asked: name, tasks, items of each, further options; what matters most first.
BLOCKS = [
    ("BLiMP", "psychometric/blimp", 134, []),
    ("psychometric", WORDS, 40, []),
    ("H-TEST, fresh", RULES + ",htest/letter-geometry,htest/fold-letter", 40, ["-k", "4"]),
    ("embodied, fresh", IMAGINED, 40, []),
    ("PHYSICO, definitions", "physico/definition", 40, []),
    ("vectors", VECTORS, 40, []),
    ("H-TEST, published", RULES, 40, ["-k", "4", "--set", "source=published"]),
    ("embodied, published", "embodied/perceptualqa", 100, ["--set", "source=published"]),
    ("PHYSICO, grids", "physico/perception-text,physico/core-text", 20, []),
]


def plan(folder, few):
    """What to ask of whom: block by block of the built-in model and small files, then of each large file."""
    files = sorted(folder.glob("*.gguf"), key=lambda path: path.stat().st_size)
    small = [",".join(f"builtin/nano@{step}" for step in NANO) + ",builtin/nano"]
    small += [f"hf/{path.parent}" for path in sorted(folder.glob("*/config.json"))]
    small += [f"gguf/{path}" for path in files if path.stat().st_size <= LARGE]
    yield from ((model, *block) for block in BLOCKS for model in small)
    for path in files:
        if path.stat().st_size > LARGE:
            for name, tasks, limit, more in BLOCKS:
                # BLiMP's limit is two pairs of each paradigm; fewer would leave some out.
                fewer = few and path.stat().st_size > HUGE and name != "BLiMP"
                yield f"gguf/{path}", name, tasks, min(limit, few) if fewer else limit, more


def ask(options, model, tasks, limit, more):
    done = subprocess.run(
        ["nice", "-n", "10", options.mary, "run", "-m", model, "-t", tasks, "-l", str(limit), *more, "-q",
         "--data-dir", options.data, "--output-path", options.out / "runs", "--cache-dir", options.out / "cache"],
        capture_output=True, text=True)
    return done.returncode, (done.stderr.strip().splitlines() or [""])[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mary", type=Path)
    parser.add_argument("--models", type=Path, required=True, help="folder with GGUF files and Hugging Face folders")
    parser.add_argument("--data", type=Path, required=True, help="folder with the published datasets")
    parser.add_argument("--out", type=Path, required=True, help="folder for runs/, cache/ and site/")
    parser.add_argument("--atlas", type=Path, help="another program to make the site with")
    parser.add_argument("--few", type=int, help="items of each task, at most, for files over a gigabyte")
    parser.add_argument("--site-only", action="store_true", help="ask nothing; make the site from the runs there are")
    parser.add_argument("--pictures", type=Path, help="folder for pictures of the site")
    options = parser.parse_args()
    options.models = options.models.resolve()
    runs, site = options.out / "runs", options.out / "site"
    if not options.site_only:
        # Large models come last, so that there is a whole gallery of the small ones early.
        for model, name, tasks, limit, more in plan(options.models, options.few):
            if model.startswith("builtin") and name == "PHYSICO, grids":
                continue  # its prompts are four times as long as what the built-in model sees at once
            began = time.time()
            code, said = ask(options, model, tasks, limit, more)
            if code == REFUSED:  # an encoder has no log-probabilities: what it can do is asked alone
                codes = {ask(options, model, task, limit, more)[0] for task in tasks.split(",")}
                code, said = max(codes - {REFUSED}, default=0), ""
            print(f"{time.time() - began:6.0f} s  {model[-40:]:40}  {name}  {said if code else ''}", flush=True)
    subprocess.run([options.atlas or options.mary, "atlas", runs, "--out", site], check=True)
    if options.pictures:
        browser = shutil.which("chromium") or sys.exit("chromium is needed for the pictures")
        # A browser without a window does not scroll: the table is put on a page of its own.
        first = (site / "index.html").read_text()
        table = first[first.index('<div class="exhibit" id="tab-psychometric'):].split('<p class="caption"')[0]
        alone = site / "table-alone.html"
        alone.write_text(first[:first.index("<header")] + f'<div class="frame"><main>{table}</div></main></div>')
        for name, page, size in (("gallery-first", site / "index.html", "1300,1100"), ("gallery-table", alone, "1300,1250")):
            subprocess.run([browser, "--headless", "--no-sandbox", "--hide-scrollbars", f"--window-size={size}",
                            f"--screenshot={options.pictures / name}.png", page.resolve().as_uri()], check=True, capture_output=True)
        alone.unlink()


if __name__ == "__main__":
    main()
