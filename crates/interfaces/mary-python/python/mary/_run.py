"""Runs and sweeps: asking, and what came of it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

from . import _mary, _progress, _words
from ._model import Model, gather
from ._table import Figure, Report, Table, figures
from ._task import Task


def tasks(**options: Any) -> Table:
    """The tasks there are, a row for each."""
    return Table(_mary.tasks(_words.places(options)), "tasks")


class Run:
    """A run in its folder. The same call finds the same folder, and asks only what is not answered yet."""

    def __init__(self, folder: str | os.PathLike[str], *, _places: str = "{}") -> None:
        self.folder = os.fspath(folder)
        self._places = _places
        # Said at once when there is no run here.
        self._manifest = _mary.manifest(self.folder)

    @property
    def manifest(self) -> dict[str, Any]:
        """Everything that was decided before the first question."""
        manifest: dict[str, Any] = json.loads(self._manifest)
        return manifest

    @property
    def id(self) -> str:
        """The run's name."""
        return str(self.manifest["id"])

    def samples(self) -> Table:
        """A row for each model, task, item and trial: outcome, score, answer, tags."""
        return Table(_mary.samples([self.folder]), self.id)

    def summary(self) -> Table:
        """A row for each model and task: score with its interval, chance, people, counts."""
        return Table(_mary.summary(self._places, [self.folder]), self.id)

    def compare(
        self,
        *others: "Run | str",
        across: Iterable[str] = (),
        tasks: Iterable[str] = (),
        with_first: bool = False,
    ) -> Table:
        """All models with each other (or each with the first), item by item, p-values corrected (Holm). Other
        runs may join. `tasks` takes ids, families and wildcards."""
        folders = [self.folder, *(o.folder if isinstance(o, Run) else os.fspath(o) for o in others)]
        handle, warnings = _mary.compare(self._places, folders, list(across), list(tasks), with_first)
        for text in warnings:
            import warnings as python

            python.warn(text, stacklevel=2)
        return Table(handle, "comparison")

    def report(self, path: str | os.PathLike[str] | None = None, *others: "Run") -> Report:
        """Writes the report, one HTML file, into the run's folder or to `path`."""
        out = os.fspath(path) if path is not None else os.path.join(self.folder, "report.html")
        _mary.report(self._places, [self.folder, *(o.folder for o in others)], out)
        return Report(out)

    def figures(self) -> list[Figure]:
        """The figures of the families that were run."""
        return figures(self._places, [self.folder], False)

    def __repr__(self) -> str:
        return f"Run({self.folder!r})"

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_() + f"<p>{self.folder}</p>"


def open_run(folder: str | os.PathLike[str], **options: Any) -> Run:
    """A run that was made before, here or by the command."""
    return Run(folder, _places=_words.places(options))


def run(
    models: Any = "builtin/nano",
    tasks: Any = None,
    *,
    limit: int | float | None = None,
    seed: int = 0,
    trials: int = 1,
    set: Mapping[str, Any] | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Run:
    """Asks models the items of tasks and adds up; goes on where the same call was stopped.

    `models` are names, open :class:`Model` s, or Python objects with `generate`, `score` or `observe`; a
    mapping gives objects names. `tasks` are ids, families, wildcards, task files, or :class:`Task` s; without
    any, the starter selection. `limit` is a count or a share of each task's items. Everything else is an
    option of `mary run`: shots, judge, device, dtype, threads, budget, no_cache, output_path, cache_dir,
    adaptive (a :class:`Scale`, instead of tasks) with until (`{"se": 0.3, "items": 60}`) …
    """
    names, objects, handles, opened = gather(models)
    asked, words, own = _asked(tasks, {"limit": limit, "seed": seed, "trials": trials, "set": set, **opened, **options})
    places = _words.places({**opened, **options})
    command = [*(word for name in names for word in ("-m", name)), *words]
    said = (places, _words.told({"models": names, **asked}), command)
    folder = _mary.run(said, objects, handles, own, _progress.chosen(progress))
    return Run(folder, _places=_words.places(options))


def _asked(tasks: Any, options: Mapping[str, Any]) -> tuple[dict[str, Any], list[str], list[tuple[str, Any]]]:
    """What is asked: as options, as words of the command line, and the tasks made of Python."""
    listed = _words.listed(tasks)
    named = [task.id if isinstance(task, Task) else _words.name(task, "the task") for task in listed]
    words = [word for name in named for word in ("-t", name)] + _words.words(options)
    said = {name: value for name, value in options.items() if name != "until"}
    if options.get("adaptive") is not None:
        until = options.get("until") or {"se": 0.3}
        stop = {"error": until.get("se", 0.0), "most": until.get("items")}
        said["adaptive"] = {"scale": os.path.abspath(options["adaptive"]), **stop}
    own = [(task._described(), task._judged) for task in listed if isinstance(task, Task)]
    return _words.options(said, tasks=named), words, own


class Sweep:
    """The checkpoints of one or more models, each a run of its own."""

    def __init__(self, folder: str, checkpoints: Table, runs: list[str], places: str) -> None:
        self.folder = folder
        self._checkpoints = checkpoints
        self._runs = runs
        self._places = places

    @property
    def runs(self) -> list[Run]:
        """The run of every checkpoint that could be read, earliest first."""
        return [Run(folder, _places=self._places) for folder in self._runs]

    def checkpoints(self) -> Table:
        """A row for each checkpoint: model, revision, tokens of training, folder of its run."""
        return self._checkpoints

    def summary(self) -> Table:
        """A row for each checkpoint and task."""
        return Table(_mary.summary(self._places, self._runs), os.path.basename(self.folder))

    def samples(self) -> Table:
        """A row for each checkpoint, task and item."""
        return Table(_mary.samples(self._runs), os.path.basename(self.folder))

    def report(self, path: str | os.PathLike[str] | None = None) -> Report:
        """Writes a report of all checkpoints, one HTML file."""
        out = os.fspath(path) if path is not None else os.path.join(self.folder, "report.html")
        _mary.report(self._places, self._runs, out)
        return Report(out)

    def figures(self) -> list[Figure]:
        """When in training each ability grows."""
        return figures(self._places, self._runs, True)

    def __repr__(self) -> str:
        return f"Sweep({self.folder!r}, {len(self._checkpoints)} checkpoints)"

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()


def sweep(
    models: Any = "builtin/nano",
    tasks: Any = None,
    *,
    revisions: str | Iterable[str] = "all",
    limit: int | float | None = None,
    seed: int = 0,
    trials: int = 1,
    set: Mapping[str, Any] | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Sweep:
    """Asks every checkpoint of one or more models the same; goes on where the same call was stopped.

    `revisions` are names or ranges (`step1..step512`). Everything else is as in :func:`run`, or an option of
    `mary sweep`: tokens_per_step, checkpoints, disk_limit.
    """
    asked, words, own = _asked(tasks, {"limit": limit, "seed": seed, "trials": trials, "set": set, **options})
    names = [m.name if isinstance(m, Model) else _words.name(m, "the model") for m in _words.listed(models)]
    chosen = revisions if isinstance(revisions, str) else ",".join(revisions)
    which: dict[str, Any] = {key: asked.pop(key) for key in ("checkpoints", "tokens_per_step", "disk_limit") if key in asked}
    said = (
        _words.places(options),
        _words.told({"models": names, "revisions": chosen.split(","), "run": asked, **which}),
        [*names, "--revisions", chosen, *words],
    )
    folder, table, runs = _mary.sweep(said, [], [], own, _progress.chosen(progress))
    return Sweep(folder, Table(table, "checkpoints"), runs, _words.places(options))
