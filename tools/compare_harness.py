"""Runs the tasks of crates/interfaces/mary/tests/golden/harness on SmolLM2 with lm-evaluation-harness itself (its `hf` model,
torch on the processor), and keeps what it found item by item in tests/golden/harness_smollm2.json. The test `harness::…` of
crates/interfaces/mary imports the same tasks and holds Mary's verdicts on the same weights against it.

    pip install lm_eval torch transformers accelerate
    python tools/compare_harness.py MODEL_FOLDER            # a checkpoint in Hugging Face's layout (tools/make_test_models.py)
"""

import json
import os
import sys
from pathlib import Path

import lm_eval
from lm_eval.models.huggingface import HFLM
from lm_eval.tasks import TaskManager

GOLDEN = Path(__file__).resolve().parent.parent / "crates/interfaces/mary/tests/golden"


def item(sample):
    metrics = {name: float(sample[name]) for name in sample["metrics"] if isinstance(sample[name], (int, float))}
    answers = [one[0] for one in sample["resps"]]
    if isinstance(answers[0], str):
        return {**metrics, "said": answers[0]}
    return {**metrics, "logprobs": [round(float(one[0] if isinstance(one, (list, tuple)) else one), 5) for one in answers]}


def main():
    folder = Path(sys.argv[1]).resolve()
    os.chdir(GOLDEN / "harness")
    model = HFLM(pretrained=str(folder), device="cpu", dtype="float32", batch_size=8)
    manager = TaskManager(include_path=".", include_defaults=False)
    found = lm_eval.simple_evaluate(model=model, tasks=["golden_all"], task_manager=manager, bootstrap_iters=0)
    golden = {}
    for task, samples in found["samples"].items():
        filters = sorted({s["filter"] for s in samples})
        for name in filters:
            own = sorted((s for s in samples if s["filter"] == name), key=lambda s: s["doc_id"])
            metrics = {k.split(",")[0]: v for k, v in found["results"][task].items() if k.endswith(f",{name}") and "stderr" not in k and isinstance(v, float)}
            golden[task if len(filters) == 1 else f"{task} {name}"] = {"metrics": metrics, "items": [item(s) for s in own]}
            print(task, name, metrics, len(own))
    (GOLDEN / "harness_smollm2.json").write_text(json.dumps(golden, ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    main()
