"""Patching, lens, probes and steering from Python: the command's own figures, from tables that Python holds."""

import json

import pandas
import polars
import pytest

import mary
from test_model import command

NOUNS = ["girl", "boy", "dog", "cat", "horse", "queen"]
ROWS = [
    {"clean": f"The {a}", "corrupted": f"The {b}", "good": good, "bad": bad, "label": good, "text": f"The {a}", "noun": noun, "subject": a,
     "subject_corrupted": b}
    for noun in NOUNS
    for a, b, good, bad in [(noun, noun + "s", "is", "are"), (noun + "s", noun, "are", "is")]
]


def test_patching_gives_what_the_command_writes(places):
    frame = pandas.DataFrame(ROWS)
    (found,) = mary.patch(frame, "builtin/nano", regions=["subject"], seed=3)
    frame.to_csv("pairs.csv", index=False)
    said = command("patch", "pairs.csv", "--regions", "subject", "--seed", "3", "-q", "--json")
    assert json.loads(said.stdout) == [found]
    assert found["shares"] and {c["place"] for c in found["cells"]} == {"subject"}
    # An open model goes by its name, and a folder that is named is kept.
    kept = mary.patch(polars.DataFrame(ROWS), mary.Model("builtin/nano"), regions=["subject"], seed=3, out=places / "kept")
    assert kept == [found] and (places / "kept/report.html").is_file()


def test_lens_probe_and_steering(places):
    columns = {name: [row[name] for row in ROWS] for name in ROWS[0]}
    view, twin = mary.lens(columns, words=["is", "are"])
    assert len(view["texts"]) == len(ROWS) * 2 * 5 and twin["model"].endswith("untrained")
    (probed,) = mary.probe(ROWS, label="label", group="noun")
    assert len(probed["layers"]) == 5 and len(probed["amnesic"]) == 5
    contrast = {"positive": ["The teachers", "The doctors"], "negative": ["The teacher", "The doctor"]}
    texts = [row | {"good": "are", "bad": "is"} for row in ROWS]
    (steered,) = mary.steer(texts, contrast=contrast, layers=[3, 4], factors=[-1, 1])
    effects = {(e["layer"], e["factor"]): e["effect"]["value"] for e in steered["effects"]}
    assert effects[4, 1] > 0 > effects[4, -1] and len(effects) == 4


def test_what_is_refused_says_what_was_expected():
    with pytest.raises(mary.MissingError, match="expected at least two"):
        mary.patch(ROWS[:1])
    with pytest.raises(mary.UsageError, match="no layer 40"):
        mary.steer(ROWS, contrast={"positive": ["a"], "negative": ["b"]}, layers=[40])
    with pytest.raises(mary.UsageError, match="no-such-option"):
        mary.probe(ROWS, no_such_option=1)
