"""The laboratory's statistics on numbers of one's own."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterable
from numbers import Real
from typing import Any, NamedTuple

from . import _mary


class Paired(NamedTuple):
    """The difference of two mean scores on the same items."""

    n: int
    units: int
    first: float
    second: float
    difference: float
    low: float | None
    high: float | None
    p: float | None
    method: str


def paired(
    first: Iterable[float],
    second: Iterable[float],
    *,
    clusters: Iterable[Hashable] | None = None,
    seed: int = 0,
) -> Paired:
    """Compares two columns of scores on the same items, as the report does: first minus second with its 95 %
    interval and a two-sided p-value.

    Items that share a cluster are one unit. Scores that are all from 0 to 1 are taken for shares. The p-value is
    below 0.05 exactly where the interval leaves 0 out. Nothing is drawn at random any more: `seed` changes nothing.
    """
    a, b = [float(x) for x in first], [float(x) for x in second]
    ids: list[int] | None = None
    if clusters is not None:
        numbers: dict[Any, int] = {}
        ids = [numbers.setdefault(c, len(numbers)) for c in clusters]
    unit = all(0.0 <= x <= 1.0 for x in (*a, *b))
    found = json.loads(_mary.paired(a, b, ids, unit))
    low, high = found["bounds"] or (None, None)
    return Paired(
        found["n"], found["units"], found["first"], found["second"], found["value"], low, high, found["p"], found["method"]
    )


class Effect(NamedTuple):
    """A fixed effect with its 95 % interval; p is Wald's."""

    estimate: float
    error: float
    low: float
    high: float
    p: float


class Mixed(NamedTuple):
    """A mixed model: fixed effects by name, standard deviations of random ones by (group, effect)."""

    effects: dict[str, Effect]
    deviations: dict[tuple[str, str], float]
    residual: float | None
    log_likelihood: float
    aic: float
    rows: int
    singular: bool
    converged: bool
    test: tuple[float, int, float] | None


def mixed(
    formula: str,
    table: Any,
    *,
    family: str = "linear",
    ml: bool = False,
    against: str | None = None,
    bootstrap: int = 0,
    seed: int = 0,
) -> Mixed:
    """Fits a linear or logistic mixed model, as `mary fit` does, with formulas as lme4 reads them:
    `"rt ~ surprisal + (1 + surprisal | person) + (1 | item)"`.

    `table` has columns by name: a data frame of pandas or polars, a table of Mary's, or a dictionary. The fit is by
    restricted likelihood unless `ml` or `against`, a smaller formula that is tested by likelihood ratio (statistic, degrees
    of freedom, p). Intervals are Wald's, or with `bootstrap=1000` from so many outcomes drawn from the fit and fitted again.
    """
    if family not in ("linear", "logistic"):
        raise ValueError(f"family is {family!r}; expected 'linear' or 'logistic'")
    wanted = set(re.findall(r"[^\s~+*:|()\-]+", f"{formula} {against or ''}"))
    numbers: list[tuple[str, list[float]]] = []
    words: list[tuple[str, list[str]]] = []
    gaps: list[tuple[str, int]] = []
    for name in [str(n) for n in getattr(table, "columns", table) if str(n) in wanted]:
        cells = list(table[name])
        missing = [row for row, cell in enumerate(cells, 1) if cell is None or cell != cell]
        if missing:
            gaps.append((name, missing[0]))
        elif all(isinstance(cell, Real) for cell in cells):
            numbers.append((name, [float(cell) for cell in cells]))
        else:
            words.append((name, [str(cell) for cell in cells]))
    found = json.loads(_mary.mixed(formula, against, family == "logistic", ml, bootstrap, seed, numbers, words, gaps))
    fit, drawn = found["fit"], found["bootstrap"]
    bounds = drawn["fixed"] if drawn else found["wald"]
    each = zip(fit["names"], fit["estimates"], fit["errors"], bounds, found["p"], strict=True)
    deviations = {
        (spread["group"], effect): deviation
        for spread in fit["spreads"]
        for effect, deviation in zip(spread["effects"], spread["deviations"], strict=True)
    }
    return Mixed(
        {name: Effect(estimate, error, low, high, p) for name, estimate, error, (low, high), p in each},
        deviations,
        fit["residual"],
        fit["log_likelihood"],
        found["aic"],
        fit["rows"],
        fit["singular"],
        fit["converged"],
        tuple(found["test"]) if found["test"] else None,
    )
