#!/usr/bin/env python3
"""Published figures about BLiMP, in one small file.

    python tools/blimp_reference.py        # reads MARY_DATA_DIR, or ../shared/datasets

Writes crates/tasks/mary-psychometric/src/grammar/reference.json from the authors' summaries (agreement of
people and accuracies of four models by set: Warstadt et al. 2020, github.com/alexwarstadt/blimp
@ 3e56b06) and from the zero-shot evaluations of Pythia v0 (github.com/EleutherAI/pythia @ a19eecb).
Only figures are kept, no sentence.
"""

import csv
import io
import json
import os
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("MARY_DATA_DIR", ROOT.parent / "shared" / "datasets"))
OUT = ROOT / "crates" / "tasks" / "mary-psychometric" / "src" / "grammar" / "reference.json"

# v0 trained these with batches of 4M tokens: half as many steps for as many tokens.
DOUBLE = ("160m", "410m", "1.4b")
STEP = 2_097_152


def main():
    sets = {}
    with zipfile.ZipFile(DATA / "blimp" / "BLiMP.zip") as archive:
        for name in archive.namelist():
            if name.endswith(".jsonl") and "__MACOSX" not in name:
                row = json.loads(io.TextIOWrapper(archive.open(name), "utf-8").readline())
                sets[row["UID"]] = {"term": row["linguistics_term"], "field": row["field"].replace("/", "_")}
    people = {row["Condition"]: row for row in csv.DictReader(open(DATA / "blimp" / "human_validation_summary.csv"))}
    models = {row["UID"]: row for row in map(json.loads, open(DATA / "blimp" / "models_summary.jsonl"))}
    out = []
    for uid in sorted(sets):
        row = {"set": uid, **sets[uid]}
        if uid in people:
            row["people"] = float(people[uid]["total_mean"])
        for model in ("ngram", "lstm", "txl", "gpt2"):
            row[model] = models[uid][model]
        out.append(row)
    pythia, seen = [], set()
    with open(DATA / "pythia-v0-blimp" / "blimp_acc_by_model_step.csv") as file:
        for row in csv.DictReader(file):
            key = (row["model"], int(row["step"]))
            if key in seen:
                continue
            seen.add(key)
            size = row["model"].split("-")[1]
            by_field = {}
            for uid in sets:
                by_field.setdefault(sets[uid]["field"], []).append(float(row[uid]))
            pythia.append(
                {
                    "model": row["model"],
                    "step": key[1],
                    "tokens": key[1] * STEP * (2 if size in DOUBLE else 1),
                    "mean": round(float(row["blimp_mean"]), 4),
                    **{field: round(sum(v) / len(v), 4) for field, v in sorted(by_field.items())},
                }
            )
    pythia.sort(key=lambda r: (r["model"], r["step"]))
    lines = ['{"sets": ['] + [",\n".join(json.dumps(r) for r in out)] + ['], "pythia_v0": [']
    lines += [",\n".join(json.dumps(r) for r in pythia)] + ["]}"]
    OUT.write_text("\n".join(lines) + "\n")
    agreement = [r["people"] for r in out if "people" in r]
    print(f"{len(out)} sets, people {sum(agreement) / len(agreement):.4f} over {len(agreement)}, {len(pythia)} checkpoints")


if __name__ == "__main__":
    main()
