#!/usr/bin/env python3
"""BLiMP pair by pair: this program against lm-evaluation-harness on the same weights.

    python tools/compare_blimp_lm_eval.py peer    --model DIR --out PEER [--sets a,b] [--threads 1]
    python tools/compare_blimp_lm_eval.py compare --peer PEER --run RUN [--out table.md]

`peer` runs lm-evaluation-harness' own task class and Hugging Face backend, one of the 67 sets after
the other; a set that is finished is not run again, so the job may be stopped and started. The
harness reads BLiMP from the hub; here its task is given the same files from BLiMP.zip through the
`json` loader, and everything else of its definition (`tasks/blimp/_template_yaml`: empty context,
the two sentences as choices, target 0) is taken from the installed package.

`compare` reads the finished samples of a run folder made with

    mary run -m hf/DIR --tasks psychometric/blimp --set convention=lm-eval --output-path ...

and prints how many pairs the two sides decide differently, by kind.
"""

import argparse
import io
import json
import os
import sys
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("MARY_DATA_DIR", ROOT.parent / "shared" / "datasets"))


def blimp_sets():
    """Upstream's rows by set, in file order."""
    sets = {}
    with zipfile.ZipFile(DATA / "blimp" / "BLiMP.zip") as archive:
        names = sorted(n for n in archive.namelist() if n.endswith(".jsonl") and "__MACOSX" not in n)
        for name in names:
            lines = io.TextIOWrapper(archive.open(name), "utf-8")
            sets[Path(name).stem] = [json.loads(line) for line in lines if line.strip()]
    return sets


def peer(args):
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("HF_DATASETS_OFFLINE", "1")
    import lm_eval
    import torch
    import yaml
    from lm_eval.api.task import ConfigurableTask
    from lm_eval.models.huggingface import HFLM

    torch.set_num_threads(args.threads)
    template = Path(lm_eval.__file__).parent / "tasks" / "blimp" / "_template_yaml"
    config = yaml.safe_load(template.read_text())
    model = HFLM(pretrained=args.model, dtype="float32", device="cpu", batch_size=args.batch)
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    wanted = args.sets.split(",") if args.sets else None
    sets = list(blimp_sets().items())
    for uid, rows in reversed(sets) if args.reverse else sets:
        done = out / f"{uid}.jsonl"
        if done.exists() or (wanted and uid not in wanted):
            continue
        begun = time.time()
        source = out / f"{uid}.source"
        source.write_text("".join(json.dumps(row) + "\n" for row in rows))
        task = ConfigurableTask(
            config={
                **config,
                "task": f"blimp_{uid}",
                "dataset_path": "json",
                "dataset_name": None,
                "dataset_kwargs": {"data_files": {"train": str(source)}},
            }
        )
        task.build_all_requests(rank=0, world_size=1)
        results = model.loglikelihood(task.instances, disable_tqdm=True)
        scored = {}
        for instance, (logprob, _) in zip(task.instances, results):
            scored.setdefault(instance.doc_id, {})[instance.idx] = logprob
        metrics = []
        with open(f"{done}.part", "w") as file:
            for index, row in enumerate(rows):
                good, bad = scored[index][0], scored[index][1]
                # The harness' own verdict, not ours: arg-max over the choices, ties to the first.
                acc = task.process_results(row, [(good, False), (bad, False)])["acc"]
                metrics.append(acc)
                file.write(json.dumps({"pair": row["pairID"], "good": good, "bad": bad, "acc": float(acc)}) + "\n")
        os.replace(f"{done}.part", done)
        source.unlink()
        print(f"{uid}: acc {sum(metrics) / len(metrics):.3f}, {time.time() - begun:.0f} s", flush=True)


def ours(folder):
    """(set, pair) -> (log-probability of the good sentence, of the bad one) from a run's log."""
    found = {}
    with open(Path(folder) / "samples.jsonl") as log:
        for line in log:
            sample = json.loads(line)
            if sample["id"]["task"] != "psychometric/blimp" or not sample["judgement"].get("notes"):
                continue
            uid, pair = sample["id"]["item"].rsplit("-", 1)
            logprob = sample["judgement"]["notes"]["logprob"]
            found[uid, pair] = (logprob["good"], logprob["bad"])
    return found


def sign(x):
    return (x > 0) - (x < 0)


def compare(args):
    mine, sets = ours(args.folder), sorted(Path(args.peer).glob("*.jsonl"))
    lines, agree, pairs, right, theirs_right = [], 0, 0, 0.0, 0.0
    ties = {"both": 0, "ours only": 0, "theirs only": 0}
    worst, differences = 0.0, []
    for file in sets:
        uid = file.stem
        for row in map(json.loads, open(file)):
            if (uid, row["pair"]) not in mine:
                continue
            good, bad = mine[uid, row["pair"]]
            a, b = good - bad, row["good"] - row["bad"]
            pairs += 1
            worst = max(worst, abs(good - row["good"]), abs(bad - row["bad"]))
            right += 1.0 if a > 0 else 0.5 if a == 0 else 0.0
            theirs_right += row["acc"]
            if a == 0 and b == 0:
                ties["both"] += 1
            elif a == 0 or b == 0:
                ties["ours only" if a == 0 else "theirs only"] += 1
            elif sign(a) == sign(b):
                agree += 1
            else:
                differences.append((uid, row["pair"], a, b))
    lines.append(f"sets {len(sets)}, pairs compared {pairs}")
    lines.append(f"accuracy: ours {right / pairs:.5f} (ties one half), lm-evaluation-harness {theirs_right / pairs:.5f}")
    lines.append(f"same verdict, no tie: {agree}")
    lines.append("ties: " + ", ".join(f"{kind} {count}" for kind, count in ties.items()))
    lines.append(f"opposite verdict: {len(differences)}")
    near = sum(1 for _, _, a, b in differences if abs(a - b) <= args.tolerance)
    lines.append(f"  of these within rounding (margins differ by at most {args.tolerance} nats): {near}")
    for uid, pair, a, b in sorted(differences, key=lambda d: -abs(d[2] - d[3]))[: args.show]:
        lines.append(f"  {uid} {pair}: margin {a:+.6f} ours, {b:+.6f} theirs")
    lines.append(f"largest difference of a sentence's log-probability: {worst:.2e} nats")
    text = "\n".join(lines) + "\n"
    sys.stdout.write(text)
    if args.out:
        Path(args.out).write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("peer")
    one.add_argument("--model", required=True)
    one.add_argument("--out", required=True)
    one.add_argument("--sets")
    one.add_argument("--reverse", action="store_true", help="begin at the last set, for a second process")
    one.add_argument("--threads", type=int, default=1)
    one.add_argument("--batch", type=int, default=64)
    one.set_defaults(run=peer)
    two = commands.add_parser("compare")
    two.add_argument("--peer", required=True)
    two.add_argument("--run", dest="folder", required=True)
    two.add_argument("--out")
    two.add_argument("--tolerance", type=float, default=1e-3)
    two.add_argument("--show", type=int, default=20)
    two.set_defaults(run=compare)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    sys.exit(main())
