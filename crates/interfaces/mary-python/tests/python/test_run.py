"""Runs: the same folder as the command's, results, interruption, and what cannot be run."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import threading

import pytest

import mary


def test_a_run_is_the_commands_run(nano, tmp_path):
    run = mary.run(models=[nano], tasks=["htest/rhyme"], limit=10)
    words = [sys.executable, "-m", "mary", "run", "-m", "builtin/nano", "-t", "htest/rhyme", "-l", "10", "--json", "--no-report"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "already answered" in done.stderr
    summary = json.loads(done.stdout)
    ours = run.summary().to_dict()
    assert ours["score"] == [summary["rows"][0]["score"]["value"]]
    assert ours["run"] == [summary["run"]] == [run.id]
    assert pathlib.Path(run.folder).parent == tmp_path / "runs"


def test_results_are_tables_and_a_report(tmp_path):
    run = mary.run(models=["builtin/nano", "builtin/nano@step0"], tasks=["htest/rhyme", "htest/palindrome"], limit=12)
    samples = run.samples()
    assert len(samples) == 2 * 2 * 12
    assert set(samples["outcome"]) == {"scored"}
    scores = samples.to_pandas().groupby(["model", "task"])["score"].mean()
    for row in run.summary():
        assert scores[row["model"], row["task"]] == pytest.approx(row["score"])
        assert row["low"] <= row["score"] <= row["high"] and row["samples"] == 12
    compared = list(run.compare())
    assert {row["task"] for row in compared} == {"htest/rhyme", "htest/palindrome"}
    assert all(row["paired"] == 12 for row in compared)
    # The same comparison with numbers of one's own.
    frame = samples.to_pandas()
    side = lambda model: list(frame[(frame.model == model) & (frame.task == "htest/rhyme")].sort_values("item")["score"])
    found = mary.stats.paired(side("builtin/nano"), side("builtin/nano@step0"))
    theirs = next(row for row in compared if row["task"] == "htest/rhyme")
    # Theirs goes by draws of the shots, so that only the difference itself is the same.
    assert found.difference == pytest.approx(theirs["difference"]) and 0 <= theirs["p"] <= 1
    page = pathlib.Path(run.report().path).read_text()
    assert "builtin/nano@step0" in page and "<html" in page
    assert "<table" in run._repr_html_() and "iframe" in run.report(tmp_path / "r.html")._repr_html_()
    assert all(f._repr_html_().startswith("<figure") for f in run.figures())
    assert mary.open_run(run.folder).summary().to_dict() == run.summary().to_dict()


def test_what_cannot_be_run_is_refused_before_anything_is_asked(tmp_path):
    with pytest.raises(mary.UsageError) as wrong:
        mary.run(tasks=["htest/ryhme"])
    assert "rhyme" in wrong.value.hint
    with pytest.raises(mary.UsageError, match="limit of 0"):
        mary.run(tasks=["htest/rhyme"], limit=0)
    with pytest.raises(mary.RefusedError, match="log-probabilities"):
        mary.run(models=[lambda prompt: "A"], tasks=[score_task()])
    with pytest.raises(mary.MissingError):
        mary.open_run(tmp_path / "nothing")
    assert not (tmp_path / "runs").exists()


def score_task():
    return mary.Task("mine/pairs", [{"continuations": ["a", "b"], "target": 0}])


def test_ctrl_c_stops_a_run_that_the_same_call_goes_on_with():
    asked = []

    class Slow:
        fingerprint = "slow-1"

        def generate(self, prompt):
            asked.append(prompt)
            if len(asked) == 3:
                os.kill(os.getpid(), signal.SIGINT)
                # Until the main thread has seen it.
                waited.wait(60)
            return "A"

    waited = threading.Event()
    previous = signal.getsignal(signal.SIGINT)

    def pressed(number, frame):
        waited.set()
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, pressed)
    items = [{"id": str(n), "prompt": f"Question {n}", "target": "A"} for n in range(200)]
    task = mary.Task("mine/letters", items)
    try:
        with pytest.raises(KeyboardInterrupt) as stopped:
            mary.run(models=[Slow()], tasks=[task], no_cache=True)
    finally:
        signal.signal(signal.SIGINT, previous)
    assert isinstance(stopped.value, mary.Interrupted) and stopped.value.folder
    before = len(mary.open_run(stopped.value.folder).samples())
    assert 3 <= before < 200
    run = mary.run(models=[Slow()], tasks=[task], no_cache=True)
    assert run.folder == stopped.value.folder
    assert len(run.samples()) == 200 and run.summary()["score"][0] == 1.0
    assert len(asked) == 200


def test_a_second_ctrl_c_interrupts_an_object_that_does_not_end():
    program = """
import mary, os, signal, threading, time
seen = threading.Event()
def pressed(number, frame):
    seen.set()
    raise KeyboardInterrupt
signal.signal(signal.SIGINT, pressed)
def stuck(prompt):
    for _ in range(2):
        seen.clear()
        os.kill(os.getpid(), signal.SIGINT)
        seen.wait()
    while True:
        time.sleep(0.01)
try:
    mary.run(models=[stuck], tasks=[mary.Task("mine/a", [{"prompt": "x", "target": "x"}])])
except mary.Interrupted as error:
    print("stopped", error.folder is not None)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "stopped True", done.stderr


def test_sweeps_follow_training():
    swept = mary.sweep("builtin/nano", ["htest/rhyme"], revisions=["step0", "step512"], limit=8)
    assert [row["revision"] for row in swept.checkpoints()] == ["step0", "step512"]
    assert len(swept.summary()) == 2 and len(swept.samples()) == 16
    assert swept.checkpoints()["tokens"][1] > 0
    assert "<html" in pathlib.Path(swept.report().path).read_text()
    again = mary.sweep("builtin/nano", ["htest/rhyme"], revisions=["step0", "step512"], limit=8)
    assert again.folder == swept.folder


def test_tasks_are_listed():
    listed = mary.tasks()
    assert "htest/rhyme" in listed["id"] and len(listed) > 20
    assert "<table" in listed._repr_html_()


def test_mixed_models_are_those_of_lme4():
    golden = pathlib.Path(__file__).parents[4] / "core/mary-stats/tests/golden_mixed.json"
    for case in json.loads(golden.read_text()):
        family, restricted = case["family"][0], case["reml"][0]
        found = mary.stats.mixed(case["formula"][0], case["columns"], family=family, ml=not restricted)
        ours = list(found.effects.values())
        assert [e.estimate for e in ours] == pytest.approx(case["estimates"], rel=1e-4, abs=1e-6), case["name"]
        assert [e.error for e in ours] == pytest.approx(case["errors"], rel=1e-2), case["name"]
        assert found.log_likelihood == pytest.approx(case["loglik"][0], abs=1e-4 * abs(case["loglik"][0]))
        assert all(e.low < e.estimate < e.high and 0 <= e.p <= 1 for e in ours)
    import pandas

    frame = pandas.DataFrame(case["columns"])
    # A column that the formula does not name may have gaps.
    frame["unused"] = None
    outcome = case["formula"][0].split("~")[0].strip()
    smaller = f"{outcome} ~ 1 + (1 | person) + (1 | item)"
    tested = mary.stats.mixed(case["formula"][0], frame, family=family, against=smaller)
    statistic, freedom, p = tested.test
    assert statistic > 0 and freedom == len(tested.effects) - 1 and 0 <= p <= 1
    drawn = mary.stats.mixed(case["formula"][0], frame, family=family, bootstrap=200, seed=3).effects["a"]
    assert drawn.low < drawn.estimate < drawn.high and drawn.low != tested.effects["a"].low
    with pytest.raises(mary.UsageError, match="none in row 1 of `unused`"):
        mary.stats.mixed(f"{outcome} ~ unused + (1 | person)", frame, family=family)
