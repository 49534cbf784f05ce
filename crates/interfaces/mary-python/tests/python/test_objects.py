"""Python objects as models, and Python functions as tasks: what they answer and what goes wrong."""

import math
import sys

import numpy
import pytest

import mary

ITEMS = [{"id": name, "prompt": name, "target": name.upper()} for name in ("one", "raise", "nothing", "number", "two")]


class Faulty:
    fingerprint = "faulty-1"

    def generate(self, prompt, max_tokens):
        assert max_tokens == 32
        print("heard", prompt)
        if prompt == "raise":
            raise ValueError("no idea")
        if prompt == "number":
            return 7
        return "" if prompt == "nothing" else prompt.upper()

    def score(self, prefix, continuations):
        if prefix == "nan":
            return [math.nan] * len(continuations)
        return [-float(len(c)) for c in continuations]


def test_each_fault_is_one_honest_outcome():
    run = mary.run(models=[Faulty()], tasks=[mary.Task("mine/upper", ITEMS)])
    rows = {row["item"]: row for row in run.samples()}
    assert [rows[n]["outcome"] for n in ("one", "raise", "nothing", "number", "two")] == [
        "scored", "failed", "scored", "failed", "scored"
    ]
    assert (rows["one"]["score"], rows["nothing"]["score"]) == (1.0, 0.0)
    assert "ValueError: no idea" in rows["raise"]["reason"] and "returned 7" in rows["number"]["reason"]
    assert run.summary()["failed"][0] == 2
    scored = mary.Task("mine/length", [
        {"id": "a", "continuations": ["x", "xx"], "target": 0},
        {"id": "tie", "continuations": ["x", "y"], "target": 0},
        {"id": "nan", "prefix": "nan", "continuations": ["x", "xx"], "target": 0},
    ])
    rows = {row["item"]: row for row in mary.run(models=[Faulty()], tasks=[scored]).samples()}
    assert (rows["a"]["score"], rows["tie"]["score"]) == (1.0, 0.5)
    assert rows["nan"]["outcome"] == "failed" and "nan" in rows["nan"]["reason"]


def test_a_judge_of_ones_own_gives_scores_measures_or_nothing():
    @mary.task("mine/judged", items=[{"id": str(n), "prompt": str(n)} for n in range(5)])
    def judged(item, answer):
        n = int(item["id"])
        if n == 3:
            raise RuntimeError("lost")
        return [True, 0.25, None, 0, {"score": 1, "parsed": answer, "measures": {"long": 2.0}}][n]

    run = mary.run(models={"echo": lambda prompt: prompt}, tasks=[judged])
    rows = {row["item"]: row for row in run.samples()}
    assert run.manifest["models"][0]["model"] == "python/echo"
    assert [rows[str(n)]["score"] for n in range(5)] == [1.0, 0.25, None, None, 1.0]
    assert rows["2"]["outcome"] == "unscored" and "lost" in rows["3"]["reason"]
    assert rows["4"]["parsed"] == "4"


def test_an_object_is_a_model_of_its_own_too():
    class Reader:
        def observe(self, text):
            words = text.split(" ")
            ends = numpy.cumsum([len(w) + 1 for w in words])
            offsets = [(end - len(w) - 1, end - 1) for w, end in zip(words, ends)]
            return {"hidden": numpy.arange(2 * len(words) * 3).reshape(2, len(words), 3), "offsets": offsets}

        def score(self, prefix, continuations):
            return [[(" ", -0.5), (c.strip() or c, -1.5)] for c in continuations]

    model = mary.Model(Reader())
    assert model.card["capabilities"] == {
        "generate": False, "score": True, "score_single_token_only": False, "observe": True,
        "images": False, "chat": False, "plain": True,
    }
    seen = model.observe(["a b"], layers="all")
    assert seen.tolist() == [[[1.5, 2.5, 3.5], [7.5, 8.5, 9.5]]]
    assert model.observe(["a b"], pool=[(2, 3)], layers=0).tolist() == [[[3.0, 4.0, 5.0]]]
    assert model.score(["x"])["logprob"][0] == -2.0
    with pytest.raises(mary.UsageError, match="does not answer in words"):
        model.generate("x")


def test_two_objects_and_an_engine_stand_in_one_run(nano):
    class First:
        def score(self, prefix, continuations):
            return [0.0] + [-1.0] * (len(continuations) - 1)

    task = mary.Task("mine/agree", [
        {"id": noun, "continuations": [f"The {noun} runs.", f"The {noun} run."], "target": 0} for noun in ("dog", "cat", "bird", "cow", "boy", "girl")
    ])
    run = mary.run(models=[First(), First(), nano], tasks=[task])
    assert [row["model"] for row in run.summary()] == ["python/First", "python/First-2", "builtin/nano"]
    assert len(run.compare()) == 3 and len(run.compare(with_first=True)) == 2


def test_objects_that_take_lists_are_asked_lists_and_one_fault_costs_one_item():
    sizes = []

    def listed(prompts, seeds):
        sizes.append(len(prompts))
        assert len(seeds) == len(prompts)
        if "raise" in prompts:
            raise ValueError("no idea")
        return [7 if p == "number" else p.upper() for p in prompts]

    run = mary.run(models=[mary.function(listed, batch_size=5)], tasks=[mary.Task("mine/upper", ITEMS)])
    rows = {row["item"]: row for row in run.samples()}
    assert {n: rows[n]["outcome"] for n in rows} == {
        "one": "scored", "two": "scored", "nothing": "scored", "raise": "failed", "number": "failed"
    }
    assert "no idea" in rows["raise"]["reason"] and "returned 7" in rows["number"]["reason"]
    assert sizes == [5, 1, 1, 1, 1, 1]

    class Scorer:
        batch_size = 3

        def score_many(self, prefixes, continuations):
            sizes.append(len(prefixes))
            return [[-float(len(p + c)) for c in own] for p, own in zip(prefixes, continuations)]

        def observe_many(self, texts):
            return [{"hidden": numpy.full((1, 1, 2), len(t)), "offsets": [(0, len(t))]} for t in texts]

    sizes.clear()
    model = mary.Model(Scorer())
    assert list(model.score(["a", "bb", "ccc", "dddd"])["logprob"]) == [-1.0, -2.0, -3.0, -4.0]
    assert sizes == [3, 1]
    assert model.observe(["a", "bb"])[:, 0, 0].tolist() == [1.0, 2.0]


def test_what_is_no_model_is_refused():
    with pytest.raises(mary.ModelError, match="none of the methods"):
        mary.run(models=[3], tasks=["htest/rhyme"])
    with pytest.raises(mary.UsageError, match="asks nothing"):
        mary.Task("mine/x", [{"question": "?"}])
    with pytest.raises(mary.UsageError, match="two items"):
        mary.Task("mine/x", [{"id": "a", "prompt": "?"}, {"id": "a", "prompt": "?"}])


def test_an_object_in_a_file_is_asked_in_a_process_of_its_own(tmp_path):
    (tmp_path / "model.py").write_text(
        "import os\n"
        "def answer(prompt):\n"
        "    print('aloud')\n"
        "    if prompt == 'raise':\n"
        "        os._exit(4)\n"
        "    return prompt.upper()\n"
    )
    run = mary.run(
        models=["python/./model.py:answer"], tasks=[mary.Task("mine/upper", ITEMS)], model_arg={"python": sys.executable}
    )
    rows = {row["item"]: row for row in run.samples()}
    assert rows["one"]["score"] == 1.0 and rows["two"]["score"] == 1.0
    assert rows["raise"]["outcome"] == "failed" and "exit code 4" in rows["raise"]["reason"]
