"""Makes crates/tasks/mary-taskfile/tests/lm_eval/golden/prompts.json: what lm-evaluation-harness itself makes of rows of
our own, for tasks of its package. The rows are made up here; of what the harness makes of them only
SHA-256 hashes are kept, so that none of its wording is copied.

    pip install lm_eval
    python tools/golden_harness.py

Each task: its file below `lm_eval/tasks`, rows by split, shots (none: as the file says), and for every
row the hashes of its contexts and continuations, of its target and of its options.
"""

import hashlib
import json
import logging
from pathlib import Path

import datasets
import lm_eval.tasks
from lm_eval.api.task import ConfigurableTask
from lm_eval.tasks._yaml_loader import load_yaml

logging.disable(logging.CRITICAL)
ROOT = Path(lm_eval.tasks.__file__).parent
OUT = Path(__file__).parent.parent / "crates/tasks/mary-taskfile/tests/lm_eval/golden/prompts.json"

WORDS = "lamp river stone cloud bread horse window candle bridge garden".split()
ODD = ["it's \"quoted\"", "two  spaces ", " leading", "tab\tand\nnewline", "naïve 𝄞 日本語", "back\\slash", "100 %", "{{ braces }}"]


def text(i, k=0):
    return f"The {WORDS[(i + k) % 10]} is near the {WORDS[(i * 3 + k + 1) % 10]}, {ODD[(i + k) % len(ODD)]}."


def word(i):
    return WORDS[i % 10] + (" " + ODD[i % len(ODD)] if i % 3 == 2 else "")


def labelled(i, n, letters="ABCDE"):
    return {"text": [word(i + k) for k in range(n)], "label": list(letters[:n])}


def rows(make, n=6):
    return [make(i) for i in range(n)]


def splits(make, *names):
    return {name: rows(lambda i, s=s: make(i + 10 * s), 6 + s) for s, name in enumerate(names)}


ARC = lambda i: {"id": str(i), "question": text(i), "choices": labelled(i, 3 + i % 2), "answerKey": "ABC"[i % 3]}
MMLU = lambda i: {"question": " " + text(i) + "\n", "choices": [word(i + k) for k in range(4)], "answer": i % 4, "subject": "lamps"}
FOUR = lambda i: {"question": text(i), "A": word(i), "B": word(i + 1), "C": word(i + 2), "D": word(i + 3)}
PAIR = lambda i: {"sentence1": text(i), "sentence2": text(i, 3), "label": i % 2}
STORY = lambda i: {**{f"input_sentence_{k}": text(i, k) for k in range(1, 5)}, "sentence_quiz1": text(i, 5), "sentence_quiz2": text(i, 6), "answer_right_ending": 1 + i % 2}
MATH = lambda i: {"question": text(i), "answer": f"{i} and 2 make {i + 2}\n#### {i + 2}"}
MGSM = lambda i: {"question": text(i), "answer": None if i >= 10 else "Step-by-Step Answer: it is " + str(i), "answer_number": i, "equation_solution": None}
PASSAGE = lambda i: {"text": text(i) + " " + WORDS[i % 10]}

# task file, rows by split, shots
TASKS = [
    ("arc/arc_easy.yaml", splits(ARC, "test", "train", "validation"), None),
    ("arc/arc_challenge.yaml", splits(ARC, "test", "train", "validation"), 3),
    ("piqa/piqa.yaml", splits(lambda i: {"goal": text(i), "sol1": word(i), "sol2": word(i + 1), "label": i % 2}, "validation", "train"), 2),
    ("super_glue/boolq/default.yaml", splits(lambda i: {"passage": text(i), "question": text(i, 2), "label": i % 2}, "validation", "train"), 4),
    ("openbookqa/openbookqa.yaml", splits(lambda i: {"question_stem": text(i), "choices": labelled(i, 4), "answerKey": " " + "ABCD"[i % 4]}, "test", "train", "validation"), 1),
    ("sciq/sciq.yaml", splits(lambda i: {"support": "  " + text(i), "question": text(i, 1), "distractor1": word(i), "distractor2": word(i + 1), "distractor3": word(i + 2), "correct_answer": word(i + 3)}, "test", "train", "validation"), 2),
    ("mmlu/default/mmlu_anatomy.yaml", splits(MMLU, "test", "dev"), 5),
    ("mmlu/generative/mmlu_anatomy.yaml", splits(MMLU, "test", "dev"), 2),
    ("lambada/lambada_openai.yaml", splits(PASSAGE, "test"), None),
    ("lambada_cloze/lambada_openai_cloze.yaml", splits(PASSAGE, "test"), 2),
    ("gsm8k/gsm8k.yaml", splits(MATH, "test", "train"), None),
    ("gsm8k/gsm8k-cot.yaml", splits(MATH, "test"), None),
    ("triviaqa/default.yaml", splits(lambda i: {"question": text(i), "answer": {"aliases": [word(i), word(i + 1), "it's " + word(i)]}}, "validation", "train"), 2),
    ("blimp/adjunct_island.yaml", splits(lambda i: {"sentence_good": text(i), "sentence_bad": text(i, 1)}, "train"), None),
    ("glue/cola/default.yaml", splits(lambda i: {"sentence": text(i), "label": i % 2}, "validation", "train"), 3),
    ("glue/rte/default.yaml", splits(PAIR, "validation", "train"), None),
    ("anli/anli_r1.yaml", splits(lambda i: {"premise": text(i), "hypothesis": text(i, 1), "label": i % 3}, "test_r1", "train_r1", "dev_r1"), 2),
    ("truthfulqa/truthfulqa_mc1.yaml", splits(lambda i: {"question": text(i), "mc1_targets": {"choices": [word(i + k) for k in range(3)], "labels": [1, 0, 0]}}, "validation"), None),
    ("xnli/xnli_en.yaml", splits(lambda i: {"premise": text(i), "hypothesis": text(i, 1), "label": i % 3}, "validation", "train"), 2),
    ("xstorycloze/default_en.yaml", splits(STORY, "eval", "train"), 2),
    ("asdiv/default.yaml", splits(lambda i: {"body": text(i), "question": text(i, 1), "answer": f"{i} (lamps)"}, "validation"), 2),
    ("nq_open/nq_open.yaml", splits(lambda i: {"question": text(i), "answer": [word(i), word(i + 2)]}, "validation", "train"), 3),
    ("mgsm/direct/mgsm_direct_en.yaml", splits(MGSM, "test", "train"), 2),
    ("mgsm/en_cot/mgsm_en_cot_en.yaml", splits(MGSM, "train", "test"), 2),
    ("bbh/zeroshot/boolean_expressions.yaml", splits(lambda i: {"input": text(i), "target": str(i % 2 == 0)}, "test"), None),
    ("bbh/cot_fewshot/boolean_expressions.yaml", splits(lambda i: {"input": text(i), "target": str(i % 2 == 0)}, "test"), None),
    ("belebele/belebele_eng_Latn.yaml", splits(lambda i: {"flores_passage": text(i), "question": text(i, 1) + " ", **{f"mc_answer{k}": word(i + k) for k in range(1, 5)}, "correct_answer_num": str(1 + i % 4)}, "test"), 2),
    ("kmmlu/default/kmmlu_law.yaml", splits(lambda i: {**FOUR(i), "answer": 1 + i % 4}, "test", "dev"), 2),
    ("ceval/ceval-valid_law.yaml", splits(lambda i: {**FOUR(i), "answer": "ABCD"[i % 4]}, "val", "dev"), 2),
    ("pile/pile_arxiv.yaml", splits(PASSAGE, "train"), None),
    ("commonsense_qa/default.yaml", splits(lambda i: {"question": text(i), "choices": labelled(i, 5), "answerKey": "ABCDE"[i % 5]}, "validation", "train"), 2),
    ("siqa/siqa.yaml", splits(lambda i: {"context": text(i), "question": text(i, 1), "answerA": word(i), "answerB": word(i + 1), "answerC": word(i + 2), "label": str(1 + i % 3)}, "validation", "train"), 2),
    ("super_glue/wic/default.yaml", splits(lambda i: {**PAIR(i), "start1": 4, "end1": 9}, "validation", "train"), 1),
    ("super_glue/multirc/default.yaml", splits(lambda i: {"paragraph": text(i), "question": text(i, 1), "answer": f"the {WORDS[i % 10]}", "label": i % 2}, "validation", "train"), 2),
    ("translation/wmt14_en-fr.yaml", splits(lambda i: {"translation": {"en": text(i), "fr": text(i, 1)}}, "test", "validation", "train"), 2),
    ("babi/babi.yaml", splits(lambda i: {"passage": text(i) + "\n", "question": text(i, 1), "answer": word(i)}, "test", "train", "valid"), 2),
    ("med_concepts_qa/med_concepts_qa_atc_easy.yaml", splits(lambda i: {"question": text(i), "answer_id": "ABCD"[i % 4]}, "test", "dev"), None),
]


def sha(value):
    if not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False)
    return hashlib.sha256(value.encode()).hexdigest()


def task_of(file, data, shots):
    config = load_yaml(ROOT / file)
    for key in ("tag", "group", "task_list"):
        config.pop(key, None)
    if shots is not None:
        config["num_fewshot"] = shots

    class Task(ConfigurableTask):
        def download(self, *args, **kwargs):
            self.dataset = datasets.DatasetDict({s: datasets.Dataset.from_list(r) for s, r in data.items()})

    task = Task(config=config)
    task.set_fewshot_seed(seed=1234)
    return task


def main():
    golden = []
    for file, data, shots in TASKS:
        task = task_of(file, data, shots)
        task.build_all_requests(limit=None)
        made = []
        for doc_id, doc in enumerate(task.eval_docs):
            instances = [i for i in task.instances if i.doc_id == doc_id]
            pairs = [[sha(a) for a in i.args if isinstance(a, str)] for i in instances]
            choices = task.doc_to_choice(doc) if task.config.doc_to_choice is not None else None
            made.append({"asked": pairs, "target": sha(task.doc_to_target(doc)), "choices": sha(choices)})
        golden.append({"file": file, "shots": shots, "splits": data, "made": made})
        print(file, len(made))
    OUT.write_text(json.dumps(golden, ensure_ascii=False, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
