"""The laboratory's statistics on numbers of one's own."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable
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
