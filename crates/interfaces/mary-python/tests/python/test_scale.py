"""Scales: the same as the command's, from runs and from data frames, and an adaptive run on one."""

import pandas
import pytest

import mary

STEPS = [10000, 7000, 5000, 3000, 2000, 1000, 512, 256, 64, 0]


def test_checkpoints_are_scaled_and_a_model_is_measured_by_fewer_items(tmp_path):
    names = [f"builtin/nano@step{step}" for step in STEPS]
    run = mary.run(models=names, tasks=["psychometric/grammar-small"], limit=90)
    with pytest.raises(mary.UsageError, match="1 lineage"):
        mary.scale(run)
    scale = mary.scale(run, lineage={name: name for name in names}, out=tmp_path / "s")
    assert scale.findings[0].startswith("one group of subjects")
    able = {row["subject"]: row["ability"] for row in scale.subjects()}
    assert able["builtin/nano@step10000"] > able["builtin/nano@step0"]
    items = scale.items()
    assert len(items) > 30 and (items["error"] > 0).all()
    assert "<li>" in scale._repr_html_() and "Wright map" in open(scale.report.path).read()
    assert list(mary.open_scale(scale.folder).subjects()["ability"]) == list(scale.subjects()["ability"])
    tested = mary.run(models=["builtin/nano"], adaptive=scale, until={"items": 20})
    row = next(iter(tested.summary()))
    assert row["samples"] == 20 and row["method"] == "irt-predictive"
    # Its own answers place it where the adaptive test does.
    again = mary.scale(tested, on=scale, out=tmp_path / "again")
    assert next(row for row in again.subjects() if row["subject"] == "builtin/nano")["answers"] == 20


def test_a_data_frame_is_a_table_of_answers(tmp_path):
    rows = [
        {"subject": f"s{s}", "item": f"i{i}", "score": int((s * 5 + i * 7) % 11 + s > i % 12 + 3)}
        for s in range(12)
        for i in range(24)
    ]
    scale = mary.scale(pandas.DataFrame(rows), curve="1pl", out=tmp_path / "s")
    assert len(scale.subjects()) == 12 and set(scale.items()["slope"]) == {scale.items()["slope"][0]}
    with pytest.raises(mary.UsageError, match="nobody is in the group"):
        mary.scale(pandas.DataFrame(rows), only="people")
    with pytest.raises(mary.UsageError, match="unknown field"):
        mary.scale(pandas.DataFrame(rows), curves="1pl")
