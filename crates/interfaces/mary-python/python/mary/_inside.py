"""Inside a model: the commands `patch`, `lens`, `probe` and `steer`, with rows and results as Python has them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from . import _words
from ._errors import make
from ._model import Model

_KINDS = {2: "usage", 3: "refused", 4: "missing", 5: "stopped", 130: "interrupted"}


def patch(pairs: Any, models: Any = "builtin/nano", **options: Any) -> list[dict[str, Any]]:
    """Activation patching between the sides of minimal pairs: `cells` of each model, with controls and marks.

    `pairs` is a file, a table of pandas or polars, columns by name or rows, with `clean`, `corrupted`, `good` and `bad`.
    Options are those of the command: `regions=["subject"]`, `site="heads"`, `into="clean"`, `at=…`, `no_controls=True`, `seed=…`,
    and `out=DIR` to keep the report. One dictionary for each model comes back.
    """
    return _run("patch", {"FILE": pairs}, models, options)


def lens(texts: Any, models: Any = "builtin/nano", **options: Any) -> list[dict[str, Any]]:
    """Probability and rank of words after every layer: `layers` over all texts, `texts` one by one.

    Options: `words=["are", "is"]` or `columns=["good", "bad"]`, `text="text"`, `tuned=PATH`, and those of `patch`.
    """
    return _run("lens", {"FILE": texts}, models, options)


def probe(texts: Any, models: Any = "builtin/nano", **options: Any) -> list[dict[str, Any]]:
    """Linear probes with control tasks: `layers`, and with columns `good` and `bad` the `amnesic` test.

    Options: `label="label"`, `text="text"`, `group=…`, `kind=…`, `region=…`, `random=20`.
    """
    return _run("probe", {"FILE": texts}, models, options)


def steer(texts: Any, models: Any = "builtin/nano", *, contrast: Any = None, **options: Any) -> list[dict[str, Any]]:
    """Directions added while texts are scored, beside random ones: `effects` by layer and factor.

    `contrast` has `positive` and `negative` texts, in any form that `texts` may have. Options: `vector=FILE` instead, `layers=[…]`,
    `factors=[-2, 2]`, `region=…`, `random=20`, `save=FILE`.
    """
    return _run("steer", {"FILE": texts, "contrast": contrast}, models, options)


def _run(name: str, tables: Mapping[str, Any], models: Any, options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A process of its own does the work: it opens the models, and their untrained twins, by name."""
    named = [model.name if isinstance(model, Model) else model for model in _words.listed(models)]
    opened = [model._options for model in _words.listed(models) if isinstance(model, Model)]
    with tempfile.TemporaryDirectory() as folder:
        said: dict[str, Any] = {key: value for one in opened for key, value in one.items()} | dict(options)
        # Commas part the values of one option, of which a negative one may be the first.
        said = {key: ",".join(map(str, value)) if isinstance(value, (list, tuple)) else value for key, value in said.items()}
        for key, table in tables.items():
            if table is not None:
                said[key] = _file(table, Path(folder) / f"{key}.jsonl")
        file = said.pop("FILE")
        out = said.setdefault("out", os.path.join(folder, "found"))
        words = [sys.executable, "-m", "mary", name, str(file), "-q", *_words.words({"model": ",".join(map(str, named)), **said})]
        # The package may have been found by a path that this program made for itself.
        paths = [str(Path(__file__).parent.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        there = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
        done = subprocess.run(words, capture_output=True, text=True, env=there)
        if done.returncode:
            message, _, hint = done.stderr.strip().removeprefix("error: ").partition("\nhint: ")
            raise make(_KINDS.get(done.returncode, ""), message, hint or None, None)
        found: list[dict[str, Any]] = json.loads((Path(out) / f"{name}.json").read_text())
        return found


def _file(table: Any, path: Path) -> str:
    """A table as a file of rows."""
    if isinstance(table, (str, os.PathLike)):
        return os.fspath(table)
    if hasattr(table, "to_dicts"):
        rows = table.to_dicts()
    elif hasattr(table, "to_dict") and hasattr(table, "iterrows"):
        rows = table.to_dict(orient="records")
    elif isinstance(table, Mapping):
        rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    else:
        rows = list(table) if isinstance(table, Iterable) else [table]
    path.write_text("".join(_words.told(row) + "\n" for row in rows))
    return str(path)
