"""An open model."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import _mary, _words
from ._errors import UsageError
from ._serve import Adapted
from ._table import Table, _Memory


class Model:
    """A model, opened once and asked as often as one likes.

    `source` is `provider/name[@revision]` as on the command line (`builtin/nano`, `hf/EleutherAI/pythia-70m`,
    `gguf/./x.gguf`, `openai/…`, `python/./model.py:name`), or any Python object with `generate`, `score` or
    `observe`. Options are those of `mary run`: device, dtype, threads, batch_size, base_url, model_arg,
    cache_dir …
    """

    def __init__(self, source: str | os.PathLike[str] | Any, *, name: str | None = None, **options: Any) -> None:
        self._options = dict(options)
        self._object: tuple[str, Adapted, str] | None = None
        if isinstance(source, (str, os.PathLike)):
            reference = _words.name(source, "the model")
            objects: list[tuple[str, Any, str]] = []
        else:
            self._object = as_object(source, name, set())
            reference = self._object[0]
            objects = [self._object]
        asked = _words.told(_words.options(options, models=[reference]))
        self._handle = _mary.open_model(_words.places(options), asked, objects)
        self.name = reference

    @property
    def card(self) -> dict[str, Any]:
        """Who the model is: what it can do, fingerprint, size, conventions."""
        card: dict[str, Any] = json.loads(_mary.model_card(self._handle))
        return card

    def __repr__(self) -> str:
        return f"Model({self.name!r})"

    def _repr_html_(self) -> str:
        from ._table import _html_table

        rows = [[key, value if isinstance(value, str) else json.dumps(value)] for key, value in self.card.items()]
        return _html_table(["", self.name], rows, "", 0)

    def score(
        self,
        texts: str | Iterable[str],
        *,
        by: str = "text",
        context: str | Sequence[str] = "",
        start: str = "auto",
    ) -> Table:
        """How probable texts are: a row for each text, word or token, with natural log-probabilities and
        surprisals in bits.

        `context` is what stands before the texts (one for all, or one for each) and is not scored. `start`
        says what stands before the first token: `auto` what the tokenizer adds by itself, or else end of
        text; `harness` a begin-of-sequence token, as in lm-evaluation-harness; `model` what the tokenizer
        adds; `none` nothing; or a token such as `<|endoftext|>`. The numbers are those of `mary score`.
        """
        if by not in ("text", "word", "token"):
            raise UsageError(f"by={by!r} is no kind of row", "there are text, word and token")
        texts = [texts] if isinstance(texts, str) else list(texts)
        contexts = [context] * len(texts) if isinstance(context, str) else list(context)
        if len(contexts) != len(texts):
            raise UsageError(f"there are {len(texts)} texts and {len(contexts)} contexts")
        return Table(_mary.score(self._handle, contexts, texts, by, start), self.name)

    def observe(
        self,
        texts: str | Iterable[str],
        *,
        layers: str | int | Iterable[int] = "all",
        pool: str | Sequence[tuple[int, int]] = "mean",
    ) -> Any:
        """What the model thinks while it reads: a numpy array of float32 (texts, layers, width), without a copy.

        `layers` is `all` (the embedding first), `last`, or numbers (negative from the end). `pool` says which
        tokens are averaged: `mean`, `last`, `first`, or for each text the characters (start, end) of a span.
        A word that has no vector at all (static vectors) is a row of NaN.
        """
        import numpy

        texts = [texts] if isinstance(texts, str) else list(texts)
        if isinstance(pool, str):
            if pool not in ("mean", "last", "first"):
                raise UsageError(f"pool={pool!r} is not known", "there are mean, last, first, and spans")
            pools = [json.dumps(pool)] * len(texts)
        else:
            if len(pool) != len(texts):
                raise UsageError(f"there are {len(texts)} texts and {len(pool)} spans")
            pools = [json.dumps({"span": _bytes(text, span)}) for text, span in zip(texts, pool)]
        if isinstance(layers, str):
            if layers not in ("all", "last"):
                raise UsageError(f"layers={layers!r} is not known", "there are all, last, and numbers")
            wanted = json.dumps(layers)
        else:
            wanted = json.dumps({"these": [layers] if isinstance(layers, int) else list(layers)})
        address, shape, _, keeper = _mary.observe(self._handle, texts, pools, wanted)
        if 0 in shape:
            return numpy.empty(shape, dtype=numpy.float32)
        return numpy.asarray(_Memory(keeper, address, shape, "<f4"))

    def intervene(
        self,
        text: str,
        continuations: Sequence[str],
        changes: Iterable[Mapping[str, Any] | Sequence[Mapping[str, Any]]] = (),
        *,
        states: Iterable[tuple[Mapping[str, Any], Mapping[str, Any] | str]] = (),
        start: str = "auto",
    ) -> list[dict[str, Any]]:
        """Log-probabilities of continuations while values inside the model are changed: one answer for the text as it is,
        then one for each of `changes` (a `mary.change(…)`, or several that are made at once).

        An answer has `logprobs`, one sum for each continuation, and `states`: for each pair of a site and a place, as in
        a change, an array (tokens, width) of the values after the changes. All changes are computed together, each from the
        changed layer and token on.
        """
        import base64

        import numpy

        watched = json.dumps([[site, place] for site, place in states])
        made = [[], *([one] if isinstance(one, Mapping) else list(one) for one in changes)]
        asked = (text, list(continuations), start)

        def rows(vectors: list[str]) -> Any:
            found = [numpy.frombuffer(base64.b64decode(v), "<f4") for v in vectors]
            # What a head attends to has as many weights as tokens were read.
            width = max(map(len, found))
            return numpy.stack([numpy.pad(v, (0, width - len(v))) for v in found])

        answers = []
        for said in map(json.loads, _mary.intervene(self._handle, asked, list(map(json.dumps, made)), watched)):
            sums = [sum(c["logprobs"]) for c in said["scores"]["continuations"]]
            answers.append({"logprobs": sums, "states": [rows(v) for v in said.get("states", [])]})
        return answers

    def generate(
        self,
        prompt: str | Iterable[str],
        *,
        n: int | None = None,
        max_tokens: int = 64,
        temperature: float | None = None,
        top_p: float | None = None,
        top_k: int | None = None,
        stop: str | Iterable[str] = (),
        seed: int = 0,
        chat: bool = False,
    ) -> Any:
        """Answers in words: a string for a prompt, a list for several prompts or for `n` draws of one.

        Greedy without `temperature`, unless `n` draws are asked for: those are drawn at temperature 1, each
        with a seed of its own.
        """
        prompts = [prompt] if isinstance(prompt, str) else list(prompt)
        draws = 1 if n is None else n
        warm = temperature if temperature is not None else (1.0 if draws > 1 else 0.0)
        stops = [stop] if isinstance(stop, str) else list(stop)
        asked, samplings = [], []
        for text in prompts:
            for draw in range(draws):
                sampling: dict[str, Any] = {"temperature": warm, "max_tokens": max_tokens, "stop": stops, "seed": seed + draw}
                if top_p is not None:
                    sampling["top_p"] = top_p
                if top_k is not None:
                    sampling["top_k"] = top_k
                asked.append(text)
                samplings.append(json.dumps(sampling))
        said = [text for text, _ in _mary.generate(self._handle, asked, samplings, chat)]
        if n is not None:
            groups = [said[at : at + draws] for at in range(0, len(said), draws)]
            return groups[0] if isinstance(prompt, str) else groups
        return said[0] if isinstance(prompt, str) else said


def change(
    site: str,
    layer: int,
    *,
    head: int | None = None,
    at: int | str = "last",
    source: str | None = None,
    source_at: int | str | None = None,
    vector: Any = None,
    factor: float | None = None,
    remove: bool = False,
) -> dict[str, Any]:
    """A change for `Model.intervene`.

    `site` is `stream` (after so many blocks), `attention`, `feed_forward` or `head` (which takes `head`); `at` a token's number,
    `last` or `all`. The value becomes that of the text `source` (in `source_at`, the same place by default), or `vector`; with
    `factor` the vector is added so many times, with `remove` its direction is projected out. Without any of these it becomes zero.
    """
    import base64

    import numpy

    def place(at: int | str) -> dict[str, int] | str:
        return {"token": at} if isinstance(at, int) else at

    operation: Any = "zero"
    if source is not None:
        operation = {"from": {"text": source, "place": place(at if source_at is None else source_at)}}
    elif vector is not None:
        packed = base64.b64encode(numpy.asarray(vector, "<f4").tobytes()).decode()
        added = {"set": packed} if factor is None else {"add": [packed, factor]}
        operation = {"remove": packed} if remove else added
    where = {site: layer if head is None else [layer, head]}
    return {"site": where, "place": place(at), "operation": operation}


def _bytes(text: str, span: tuple[int, int]) -> dict[str, int]:
    start, end = span
    return {"start": len(text[:start].encode()), "end": len(text[:end].encode())}


def as_object(thing: Any, name: str | None, taken: set[str]) -> tuple[str, Adapted, str]:
    """A Python object under a name: `python/NAME`, its adapter, its card."""
    adapted = Adapted(thing)
    label = name or getattr(thing, "name", None) or getattr(thing, "__name__", None) or type(thing).__name__
    label = re.sub(r"[^A-Za-z0-9._-]+", "-", str(label)).strip("-") or "object"
    reference, count = f"python/{label}", 1
    while reference in taken:
        count += 1
        reference = f"python/{label}-{count}"
    return reference, adapted, adapted.card()


def gather(models: Any) -> tuple[list[str], list[tuple[str, Any, str]], list[object], Mapping[str, Any]]:
    """Models as the laboratory takes them: names, objects, open ones, and the options these were opened with."""
    if isinstance(models, Mapping):
        given = [(model, label) for label, model in models.items()]
    elif isinstance(models, (str, os.PathLike, Model)) or not isinstance(models, Iterable):
        given = [(models, None)]
    else:
        given = [(model, None) for model in models]
    names: list[str] = []
    objects: list[tuple[str, Any, str]] = []
    handles: list[object] = []
    options: dict[str, Any] = {}
    for model, label in given:
        if isinstance(model, Model):
            names.append(model.name)
            if model._object is None:
                handles.append(model._handle)
                for key, value in model._options.items():
                    if options.setdefault(key, value) != value:
                        raise UsageError(
                            f"the models were opened with {key}={options[key]!r} and with {key}={value!r}",
                            "a run opens all its models alike: make two runs and compare them",
                        )
            else:
                objects.append(model._object)
        elif isinstance(model, (str, os.PathLike)):
            names.append(_words.name(model, "the model"))
        else:
            made = as_object(model, label, {name for name, _, _ in objects})
            names.append(made[0])
            objects.append(made)
    return names, objects, handles, options
