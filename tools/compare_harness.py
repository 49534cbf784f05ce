"""Runs five tasks of lm-evaluation-harness on the same weights with the harness itself (its `hf` model, torch on
the processor) and with Mary, and compares `acc` and `acc_norm` item by item. Rows are made up.

    pip install lm_eval torch transformers accelerate
    python tools/compare_harness.py MODEL_FOLDER path/to/mary [ROWS]

MODEL_FOLDER is a checkpoint in Hugging Face's layout (tools/make_test_models.py makes smollm2-135m-hf).
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import lm_eval
from lm_eval.models.huggingface import HFLM

from golden_harness import ARC, ROOT, STORY, labelled, task_of, text, word

TASKS = [
    ("arc/arc_easy.yaml", ARC, ("test", "train", "validation"), 0),
    ("arc/arc_challenge.yaml", ARC, ("test", "train", "validation"), 2),
    ("piqa/piqa.yaml", lambda i: {"goal": text(i), "sol1": word(i), "sol2": text(i, 2), "label": i % 2}, ("validation", "train"), 0),
    ("openbookqa/openbookqa.yaml", lambda i: {"question_stem": text(i), "choices": labelled(i, 4), "answerKey": "ABCD"[i % 4]}, ("test", "train", "validation"), 1),
    ("sciq/sciq.yaml", lambda i: {"support": text(i), "question": text(i, 1), "distractor1": word(i), "distractor2": word(i + 1), "distractor3": text(i, 2), "correct_answer": word(i + 3)}, ("test", "train", "validation"), 0),
]


def harness(model, file, data, shots):
    task = task_of(file, data, shots)
    task.build_all_requests(limit=None)
    pairs = [r for r in task.instances]
    scores = model.loglikelihood(pairs, disable_tqdm=True)
    found = []
    for doc_id, doc in enumerate(task.eval_docs):
        own = [s for r, s in zip(pairs, scores) if r.doc_id == doc_id]
        found.append({**task.process_results(doc, own), "logprobs": [ll for ll, _ in own]})
    return found


def mary(program, folder, file, data, shots, home):
    from lm_eval.tasks._yaml_loader import load_yaml

    config = load_yaml(ROOT / file, resolve_func=False)
    place = Path(home) / "data" / config["dataset_path"] / (config.get("dataset_name") or "")
    place.mkdir(parents=True, exist_ok=True)
    for split, rows in data.items():
        (place / f"{split}.jsonl").write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows))
    words = [program, "run", "-m", f"hf/{folder}", "-t", str(ROOT / file), "--data-dir", f"{home}/data", "--output-path", f"{home}/runs",
             "--cache-dir", f"{home}/cache", "--json", "--quiet", "--no-report"]
    if shots:
        words += ["--shots", str(shots)]
    said = subprocess.run(words, capture_output=True, text=True)
    if said.returncode != 0:
        raise SystemExit(said.stderr)
    run = Path(home) / "runs" / json.loads(said.stdout)["run"]
    found = {}
    for line in (run / "samples.jsonl").read_text().splitlines():
        sample = json.loads(line)
        verdict = sample["judgement"]
        found[int(sample["item"]["id"])] = {**verdict["measures"], "logprobs": verdict["notes"]["logprobs"]}
    return [found[i] for i in range(len(found))]


def main():
    folder, program = sys.argv[1:3]
    n = int(sys.argv[3]) if len(sys.argv) > 3 else 40
    model = HFLM(pretrained=folder, device="cpu", dtype="float32", batch_size=8)
    alike = total = 0
    for file, make, names, shots in TASKS:
        data = {name: [make(i + 1000 * s) for i in range(n)] for s, name in enumerate(names)}
        with tempfile.TemporaryDirectory() as home:
            ours = mary(program, Path(folder).resolve(), file, data, shots, home)
        theirs = harness(model, file, data, shots)
        assert len(ours) == len(theirs) == n, (len(ours), len(theirs))
        same = [sum(a[m] == b[m] for a, b in zip(ours, theirs)) for m in ("acc", "acc_norm")]
        far = max(abs(x - y) for a, b in zip(ours, theirs) for x, y in zip(a["logprobs"], b["logprobs"]))
        mean = [sum(b[m] for b in theirs) / n for m in ("acc", "acc_norm")]
        alike, total = alike + sum(same), total + 2 * n
        print(f"{file}, {shots} shots: acc {same[0]} of {n} alike, acc_norm {same[1]} of {n} alike "
              f"(means {mean[0]:.3f}, {mean[1]:.3f}); log-probabilities differ by at most {far:.2e}", flush=True)
    print(f"{alike} of {total} verdicts alike")
    sys.exit(alike != total)


main()
