"""Runs five tasks of lm-evaluation-harness on SmolLM2 with the harness itself (its `hf` model, torch on the
processor) and with Mary on the same weights, and compares `acc` and `acc_norm` item by item. Rows are made
up here.

    pip install lm_eval torch transformers accelerate
    python tools/compare_harness.py MODEL_FOLDER            # makes the golden file with the harness
    python tools/compare_harness.py MODEL_FOLDER MARY       # and compares Mary with it

MODEL_FOLDER is a checkpoint in Hugging Face's layout (tools/make_test_models.py makes smollm2-135m-hf). The
golden file, crates/interfaces/mary/tests/golden/harness_smollm2.json, holds the rows and what the harness found; the test
`harness::acc_and_acc_norm…` of crates/interfaces/mary runs Mary on them wherever the weights are.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from lm_eval.models.huggingface import HFLM
from lm_eval.tasks._yaml_loader import load_yaml

from golden_harness import ROOT, labelled, task_of, text, word

OUT = Path(__file__).parent.parent / "crates/interfaces/mary/tests/golden/harness_smollm2.json"
ROWS, OTHERS = 20, 6
ARC = lambda i: {"id": str(i), "question": text(i), "choices": labelled(i, 3 + i % 2), "answerKey": "ABC"[i % 3]}
PIQA = lambda i: {"goal": text(i), "sol1": word(i), "sol2": text(i, 2), "label": i % 2}
BOOK = lambda i: {"question_stem": text(i), "choices": labelled(i, 4), "answerKey": "ABCD"[i % 4]}
SCIQ = lambda i: {"support": text(i), "question": text(i, 1), "distractor1": word(i), "distractor2": word(i + 1), "distractor3": text(i, 2), "correct_answer": word(i + 3)}
# Task file, rows, splits (the first is asked), shots.
TASKS = [
    ("arc/arc_easy.yaml", ARC, ("test", "train", "validation"), 0),
    ("piqa/piqa.yaml", PIQA, ("validation", "train"), 0),
    ("sciq/sciq.yaml", SCIQ, ("test", "train", "validation"), 0),
    ("arc/arc_challenge.yaml", ARC, ("test", "train", "validation"), 2),
    ("openbookqa/openbookqa.yaml", BOOK, ("test", "train", "validation"), 2),
]


def harness(model, file, data, shots):
    task = task_of(file, data, shots)
    task.build_all_requests(limit=None)
    scores = model.loglikelihood(task.instances, disable_tqdm=True)
    found = []
    for doc_id, doc in enumerate(task.eval_docs):
        own = [s for r, s in zip(task.instances, scores) if r.doc_id == doc_id]
        metrics = task.process_results(doc, own)
        found.append({"acc": float(metrics["acc"]), "acc_norm": float(metrics["acc_norm"]), "logprobs": [round(ll, 5) for ll, _ in own]})
    return found


def golden(folder):
    model = HFLM(pretrained=folder, device="cpu", dtype="float32", batch_size=8)
    made = []
    for file, make, names, shots in TASKS:
        data = {name: [make(i + 37 * s) for i in range(OTHERS if s else ROWS)] for s, name in enumerate(names)}
        made.append({"file": file, "shots": shots, "splits": data, "items": harness(model, file, data, shots)})
        means = [sum(i[m] for i in made[-1]["items"]) / ROWS for m in ("acc", "acc_norm")]
        print(f"{file}, {shots} shots: acc {means[0]:.3f}, acc_norm {means[1]:.3f}", flush=True)
    OUT.write_text(json.dumps(made, ensure_ascii=False, separators=(",", ":")) + "\n")
    return made


def mary(program, folder, task, home):
    config = load_yaml(ROOT / task["file"], resolve_func=False)
    place = Path(home) / "data" / config["dataset_path"] / (config.get("dataset_name") or "")
    place.mkdir(parents=True, exist_ok=True)
    for split, rows in task["splits"].items():
        (place / f"{split}.jsonl").write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows))
    words = [program, "run", "-m", f"hf/{folder}", "-t", str(ROOT / task["file"]), "--shots", str(task["shots"]), "--set", "fewshot_seed=1234",
             "--data-dir", f"{home}/data", "--output-path", f"{home}/runs", "--cache-dir", f"{home}/cache", "--quiet", "--no-report"]
    said = subprocess.run(words, capture_output=True, text=True)
    if said.returncode != 0:
        raise SystemExit(said.stderr)
    run = next((Path(home) / "runs").iterdir())
    found = {}
    for line in (run / "samples.jsonl").read_text().splitlines():
        sample = json.loads(line)
        verdict = sample["judgement"]
        found[int(sample["item"]["id"])] = {**verdict["measures"], "logprobs": verdict["notes"]["logprobs"]}
    return [found[i] for i in range(len(found))]


def main():
    folder = Path(sys.argv[1]).resolve()
    made = golden(str(folder))
    if len(sys.argv) < 3:
        return
    alike = total = 0
    for task in made:
        with tempfile.TemporaryDirectory() as home:
            ours = mary(sys.argv[2], folder, task, home)
        theirs = task["items"]
        n = len(theirs)
        assert len(ours) == n, (len(ours), n)
        same = [sum(a[m] == b[m] for a, b in zip(ours, theirs)) for m in ("acc", "acc_norm")]
        far = max(abs(x - y) for a, b in zip(ours, theirs) for x, y in zip(a["logprobs"], b["logprobs"]))
        alike, total = alike + sum(same), total + 2 * n
        print(f"{task['file']}, {task['shots']} shots: acc {same[0]} of {n} alike, acc_norm {same[1]} of {n} alike; log-probabilities differ by at most {far:.2e}", flush=True)
    print(f"{alike} of {total} verdicts alike")
    sys.exit(alike != total)


if __name__ == "__main__":
    main()
