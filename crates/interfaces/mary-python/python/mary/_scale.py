"""Scales: people and models on one ruler."""

from __future__ import annotations

import html
import os
import tempfile
from typing import Any

from . import _mary, _words
from ._run import Run, Sweep
from ._table import Report, Table


class Scale:
    """A scale in its folder; `mary.run(..., adaptive=scale)` measures a model by it."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = os.fspath(folder)
        self._findings, self._items, self._subjects = _mary.read_scale(self.folder)

    @property
    def findings(self) -> list[str]:
        """What holds and what does not; the first line says whether there is a common scale."""
        return list(self._findings)

    @property
    def report(self) -> Report:
        """Its page: Wright map, curves of items, information, abilities, items that misfit."""
        return Report(os.path.join(self.folder, "report.html"))

    def items(self) -> Table:
        """A row for each item: difficulty with its error, slope, guessing, fit, text."""
        return Table(self._items, "items")

    def subjects(self) -> Table:
        """A row for everybody: ability with its 95 % interval, share expected on all items, fit."""
        return Table(self._subjects, "subjects")

    def __fspath__(self) -> str:
        return self.folder

    def __repr__(self) -> str:
        return f"Scale({self.folder!r})"

    def _repr_html_(self) -> str:
        said = "".join(f"<li>{html.escape(line)}</li>" for line in self._findings)
        return f"<ul>{said}</ul>" + self.subjects()._repr_html_()


def scale(*answers: Any, curve: str = "auto", fewest: int = 10, **options: Any) -> Scale:
    """Puts whoever answered on one scale, where there is one.

    `answers` are runs, sweeps, folders of either or of studies, tables in files (.csv, .tsv), and data frames with
    the columns subject, item and score. Who has fewer than `fewest` answers has no ability. Everything else is an option of `mary scale`: out, dif,
    lineage (a mapping), cluster, on, only, seed.
    """
    with tempfile.TemporaryDirectory() as folder:
        named: list[str] = []
        for one in answers:
            if isinstance(one, (Run, Sweep)):
                named.append(one.folder)
            elif hasattr(one, "to_csv"):
                named.append(os.path.join(folder, f"answers-{len(named) + 1}.csv"))
                one.to_csv(named[-1], index=False)
            else:
                named.append(os.fspath(one))
        lineage = [f"{name}={line}" for name, line in (options.pop("lineage", None) or {}).items()]
        chosen = None if curve == "auto" else curve
        said = {"answers": named, "curve": chosen, "lineage": lineage, "fewest": fewest, "quiet": True}
        return Scale(_mary.scale(_words.places(options), _words.told(_words.options(options, **said))))


def open_scale(folder: str | os.PathLike[str]) -> Scale:
    """A scale that was made before, here or by the command."""
    return Scale(folder)
