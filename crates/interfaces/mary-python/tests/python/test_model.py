"""Models: scores, vectors and answers, the same as the command's."""

import csv
import subprocess
import sys

import numpy
import pytest

import mary

TEXTS = ["The dog runs.", "The cats see the big bird.", "a"]


def command(*words):
    return subprocess.run([sys.executable, "-m", "mary", *words], capture_output=True, text=True)


def test_the_package_brings_the_command_and_loads_nothing_heavy():
    done = command("--version")
    assert done.returncode == 0 and mary.__version__ in done.stdout
    assert command("run", "-t", "no-such-task").returncode == 2
    loaded = "import mary, sys; print([m for m in ('numpy', 'pandas', 'polars', 'pyarrow', 'torch') if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", loaded], text=True).strip() == "[]"


def test_scores_by_text_word_and_token_add_up(nano):
    texts, words, tokens = (nano.score(TEXTS, by=by) for by in ("text", "word", "token"))
    assert len(texts) == 3 and len(words) == 3 + 6 + 1
    assert words["word"][:3] == ["The", "dog", "runs."]
    for at in range(3):
        whole = texts["logprob"][at]
        assert whole < 0
        assert abs(words["logprob"][words["text_id"] == at].sum() - whole) < 1e-9
        assert abs(tokens["logprob"][tokens["text_id"] == at].sum() - whole) < 1e-9
    assert numpy.allclose(tokens["surprisal"], -tokens["logprob"] / numpy.log(2))
    assert len(tokens) == texts["tokens"].sum()
    # A context is read and not scored.
    alone, after = nano.score("runs."), nano.score("runs.", context="The dog ")
    assert alone["logprob"][0] != after["logprob"][0]


def test_scores_are_the_commands_to_the_last_bit(nano, tmp_path):
    (tmp_path / "texts.csv").write_text("id,text\n" + "".join(f"t{n},{t}\n" for n, t in enumerate(TEXTS)))
    for by, logprob in (("token", "logprob"), ("word", "logprob"), ("word", "logprob_corrected"), ("text", "logprob")):
        done = command("score", "texts.csv", "-m", "builtin/nano", "--by", by, "--out", f"{by}.csv")
        assert done.returncode == 0, done.stderr
        rows = list(csv.DictReader((tmp_path / f"{by}.csv").open()))
        ours = nano.score(TEXTS, by=by)
        assert [row[by] for row in rows] == ours[by]
        for column in (logprob, "surprisal"):
            assert [float(row[column]) for row in rows] == list(ours[column])


def test_vectors_are_the_commands_to_the_last_bit(nano, tmp_path):
    (tmp_path / "texts.csv").write_text("id,text\n" + "".join(f"t{n},{t}\n" for n, t in enumerate(TEXTS)))
    for pool in ("mean", "last", "first"):
        for layers, ours in (("all", "all"), ("0,-1", [0, -1])):
            out = f"{pool}-{len(layers)}.npy"
            done = command("observe", "texts.csv", "-m", "builtin/nano", "--layers", layers, "--pool", pool, "--out", out)
            assert done.returncode == 0, done.stderr
            theirs, seen = numpy.load(tmp_path / out), nano.observe(TEXTS, layers=ours, pool=pool)
            assert theirs.dtype == seen.dtype == numpy.float32 and theirs.shape == seen.shape
            assert numpy.array_equal(theirs.view(numpy.uint32), seen.view(numpy.uint32))


def test_vectors_are_arrays_over_the_models_own_memory(nano):
    seen = nano.observe(TEXTS, layers="all")
    layers = nano.card["layers"] + 1
    assert seen.shape[:2] == (3, layers) and seen.dtype == numpy.float32
    assert not seen.flags.owndata and not seen.flags.writeable
    last = nano.observe(TEXTS, layers="last")
    assert numpy.array_equal(last[:, 0], seen[:, -1])
    assert numpy.array_equal(nano.observe(TEXTS, layers=[0, -1]), seen[:, [0, -1]])
    whole = nano.observe(["dog"], pool=[(0, 3)])
    assert numpy.array_equal(whole, nano.observe(["dog"]))
    assert not numpy.array_equal(nano.observe(["The dog"], pool="last"), nano.observe(["The dog"], pool="first"))


def test_answers_are_drawn_by_their_seeds(nano):
    greedy = nano.generate("The dog", max_tokens=6)
    assert isinstance(greedy, str) and greedy == nano.generate("The dog", max_tokens=6)
    drawn = nano.generate("The dog", n=5, max_tokens=6)
    assert len(drawn) == 5 and len(set(drawn)) > 1
    assert drawn == nano.generate("The dog", n=5, max_tokens=6)
    assert nano.generate(["The dog", "The cat"], max_tokens=6)[0] == greedy


def test_errors_say_what_to_do():
    with pytest.raises(mary.UsageError) as wrong:
        mary.Model("builtin/giant")
    assert "nano" in wrong.value.hint
    with pytest.raises(mary.UsageError) as wrong:
        mary.Model("bultin/nano")
    assert "builtin" in wrong.value.hint and isinstance(wrong.value, ValueError)
    with pytest.raises(mary.UsageError, match="colour"):
        mary.Model("builtin/nano", colour="red")
    with pytest.raises(mary.UsageError, match="no kind of row"):
        mary.Model("builtin/nano").score(["a"], by="letter")
    with pytest.raises(mary.UsageError, match="2 texts and 1 contexts"):
        mary.Model("builtin/nano").score(["a", "b"], context=["c"])


def test_values_inside_are_changed():
    model = mary.Model("builtin/nano")
    clean, corrupted = "The boys near the dog", "The boy near the dog"
    own = [mary.change("stream", layer, at=1, source=corrupted) for layer in range(3)]
    theirs = [mary.change("stream", layer, at="all", source=clean) for layer in range(3)]
    zero = mary.change("head", 2, head=3, at="last")
    both = [mary.change("attention", 1), mary.change("feed_forward", 1)]
    answers = model.intervene(corrupted, [" are", " is"], [*own, *theirs, zero, both])
    plain = answers[0]["logprobs"]
    source = model.intervene(clean, [" are", " is"])[0]["logprobs"]
    assert plain[0] < plain[1] and source[0] > source[1]
    for answer in answers[1:4]:
        assert answer["logprobs"] == plain
    for answer in answers[4:7]:
        assert answer["logprobs"] == pytest.approx(source, abs=1e-5)
    assert answers[7]["logprobs"] != plain and answers[8]["logprobs"] != plain
    seen = [({"stream": 2}, "last")]
    (state,) = model.intervene(corrupted, [" is"], states=seen)[0]["states"]
    vector = numpy.ones(state.shape[1])
    added = model.intervene(corrupted, [" is"], [mary.change("stream", 2, vector=vector, factor=0.5)], states=seen)
    assert added[1]["states"][0] == pytest.approx(state + 0.5, abs=1e-5)
    with pytest.raises(mary.MaryError, match="there is no token 99"):
        model.intervene(corrupted, [" is"], [mary.change("stream", 0, at=99)])
