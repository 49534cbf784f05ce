"""Tables, figures and reports, as notebooks and data-frame libraries read them."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterator
from typing import Any

from . import _mary


class _Memory:
    """Numbers of the extension module that numpy looks at where they are."""

    def __init__(self, keeper: object, address: int, shape: tuple[int, ...], kind: str) -> None:
        self._keeper = keeper
        self.__array_interface__ = {
            "version": 3,
            "data": (address, True),
            "shape": shape,
            "typestr": kind,
        }


class Table:
    """Columns of equal length, in Arrow's layout.

    `polars.DataFrame(table)`, `pyarrow.table(table)` and `table.to_pandas()` take it without a copy of its
    numbers; `table["score"]` is a numpy array where the column holds numbers, else a list.
    """

    def __init__(self, handle: object, title: str = "") -> None:
        self._handle = handle
        self._title = title

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return _mary.table_names(self._handle)

    def __len__(self) -> int:
        return _mary.table_rows(self._handle)

    def __getitem__(self, name: str) -> Any:
        place = _mary.table_memory(self._handle, name)
        if place is None:
            return _mary.table_values(self._handle, name, None)
        import numpy

        kind, address, rows, missing = place
        if missing and kind.endswith("i8"):
            values = _mary.table_values(self._handle, name, None)
            return numpy.array([math.nan if v is None else v for v in values], dtype=float)
        if rows == 0:
            return numpy.empty(0, dtype=kind)
        return numpy.asarray(_Memory(self._handle, address, (rows,), kind))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        names = self.columns
        values = [_mary.table_values(self._handle, name, None) for name in names]
        for row in zip(*values):
            yield dict(zip(names, row))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Arrow's interface: whoever knows it takes the table as it lies in memory."""
        return _mary.table_stream(self._handle)

    def __arrow_c_schema__(self) -> object:
        """Types of the columns, through Arrow's interface."""
        return _mary.table_schema(self._handle)

    def to_dict(self) -> dict[str, list[Any]]:
        """Columns as lists of Python objects."""
        return {name: _mary.table_values(self._handle, name, None) for name in self.columns}

    def to_arrow(self) -> Any:
        """A `pyarrow.Table` over the same memory."""
        import pyarrow

        return pyarrow.table(self)

    def to_polars(self) -> Any:
        """A `polars.DataFrame` over the same memory."""
        import polars

        return polars.DataFrame(self)

    def to_pandas(self) -> Any:
        """A `pandas.DataFrame`; words are Arrow's strings where pyarrow is there, so that no Python object is
        made for a cell."""
        import pandas

        try:
            import pyarrow
        except ImportError:
            return pandas.DataFrame({name: self[name] for name in self.columns})
        table = pyarrow.table(self)
        words = {pyarrow.large_string(): pandas.ArrowDtype(pyarrow.large_string())}
        return table.to_pandas(types_mapper=words.get)

    def __repr__(self) -> str:
        return f"Table({len(self)} rows: {', '.join(self.columns)})"

    def __str__(self) -> str:
        head, rows = self.columns, self._shown(20)
        widths = [max(len(cell) for cell in column) for column in zip(head, *rows)]
        lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip() for row in [head, *rows]]
        if len(self) > len(rows):
            lines.append(f"… {len(self) - len(rows)} more rows")
        return "\n".join(lines)

    def _shown(self, most: int) -> list[list[str]]:
        columns = [_mary.table_values(self._handle, name, most) for name in self.columns]
        return [[_cell(value) for value in row] for row in zip(*columns)]

    def _repr_html_(self) -> str:
        rows = self._shown(20)
        return _html_table(self.columns, rows, self._title, len(self) - len(rows))


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e-3 or abs(value) >= 1e6 else f"{value:.3f}"
    text = str(value)
    return text if len(text) <= 60 else text[:59] + "…"


def _html_table(head: list[str], rows: list[list[str]], title: str, more: int) -> str:
    cells = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in row) + "</tr>" for row in rows)
    caption = f"<caption>{html.escape(title)}</caption>" if title else ""
    rest = f"<p>… {more} more rows</p>" if more > 0 else ""
    return f'<table style="white-space:nowrap">{caption}<thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>{rest}'


class Report:
    """A report of runs: one HTML file that opens offline."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"Report({self.path!r})"

    def __fspath__(self) -> str:
        return self.path

    def _repr_html_(self) -> str:
        with open(self.path, encoding="utf-8") as file:
            page = file.read()
        source = html.escape(page, quote=True)
        return (
            f"<p>{html.escape(self.path)}</p>"
            f'<iframe sandbox="allow-scripts" style="width:100%;height:640px;border:0" srcdoc="{source}"></iframe>'
        )


_COLOURS = ["#3b6ea8", "#c0504d", "#5b8c3e", "#8064a2", "#d08a2e", "#3f9c9c", "#7f7f7f", "#a63a6f"]
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _BOTTOM, _TOP = 640.0, 360.0, 64.0, 36.0, 64.0, 16.0


def _amount(value: float) -> str:
    """A number as an axis says it: 9.3M, not 9.27e+06."""
    for size, unit in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            return f"{value / (1e3 if unit == 'k' else size):.3g}{unit}"
    return f"{value:.3g}"


class Figure:
    """A figure as data (`data` is what the report draws), with a plain drawing of its own for notebooks."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data

    @property
    def id(self) -> str:
        """Stable name."""
        return str(self.data["id"])

    @property
    def title(self) -> str:
        """Heading."""
        return str(self.data["title"])

    def __repr__(self) -> str:
        return f"Figure({self.id!r}, {self.title!r})"

    def _repr_html_(self) -> str:
        caption = html.escape(str(self.data.get("caption", "")))
        return f"<figure><figcaption><b>{html.escape(self.title)}</b> {caption}</figcaption>{self.svg()}</figure>"

    def svg(self) -> str:
        """Points with their intervals; lines between them where the figure is one of lines."""
        series = self.data["series"]
        category = self.data["x"]["scale"] == "category" or self.data["kind"] in ("bar", "heatmap", "box")
        labels = list(dict.fromkeys(p["label"] for s in series for p in s["points"])) if category else []
        log = self.data["x"]["scale"] == "log"

        def across(point: dict[str, Any], n: int) -> float:
            if category:
                return labels.index(point["label"]) + (n + 1) / (len(series) + 1) - 0.5
            return math.log10(point["x"]) if log and point["x"] > 0 else float(point["x"])

        points = [(n, across(p, n), p) for n, s in enumerate(series) for p in s["points"]
                  if not (log and not category and p["x"] <= 0)]
        if not points:
            return ""
        tall = [v for _, _, p in points for v in (p["y"], p.get("low"), p.get("high")) if v is not None]
        tall += [r["y"] for r in self.data.get("references", [])]
        low, high = self.data["y"].get("range") or (min(tall), max(tall))
        left, right = (-0.5, len(labels) - 0.5) if category else (min(x for _, x, _ in points), max(x for _, x, _ in points))
        right, high = (right if right > left else left + 1), (high if high > low else low + 1)

        def at(x: float) -> float:
            return _LEFT + (x - left) / (right - left) * (_WIDTH - _LEFT - _RIGHT)

        def up(y: float) -> float:
            return float(_TOP + (high - y) / (high - low) * (_HEIGHT - _TOP - _BOTTOM))

        out = [f'<svg viewBox="0 0 {_WIDTH:.0f} {_HEIGHT + 18 * len(series):.0f}" width="{_WIDTH:.0f}" '
               'font-family="sans-serif" font-size="11" role="img">']
        floor = _HEIGHT - _BOTTOM
        out.append(f'<path d="M{_LEFT} {_TOP}V{floor}H{_WIDTH - _RIGHT}" fill="none" stroke="#444"/>')
        for shade in self.data.get("ranges", []):
            if log and shade["from"] <= 0:
                continue
            ends = [math.log10(v) if log else float(v) for v in (shade["from"], shade["to"])]
            begin, end = (min(max(at(v), _LEFT), _WIDTH - _RIGHT) for v in ends)
            out.append(f'<rect x="{begin:.1f}" y="{_TOP}" width="{max(end - begin, 0):.1f}" height="{floor - _TOP}" fill="#eee">'
                       f'<title>{html.escape(shade["name"])}</title></rect>')
        for step in range(5):
            value = low + (high - low) * step / 4
            out.append(f'<text x="{_LEFT - 6}" y="{up(value) + 4:.1f}" text-anchor="end">{value:.3g}</text>')
        steps = [left + (right - left) * s / 4 for s in range(5)]
        ticks: list[tuple[float, str]] = (
            [(n, label) for n, label in enumerate(labels)] if category else [(x, _amount(10**x if log else x)) for x in steps]
        )
        for x, label in ticks:
            out.append(f'<text x="{at(x):.1f}" y="{floor + 16}" text-anchor="middle">{html.escape(str(label)[:18])}</text>')
        out.append(f'<text x="{(_LEFT + _WIDTH) / 2:.0f}" y="{floor + 36}" text-anchor="middle">{html.escape(str(self.data["x"]["title"]))}</text>')
        for line in self.data.get("references", []):
            out.append(f'<path d="M{_LEFT} {up(line["y"]):.1f}H{_WIDTH - _RIGHT}" stroke="#999" stroke-dasharray="4 3"/>'
                       f'<text x="{_WIDTH - _RIGHT - 2}" y="{up(line["y"]) - 3:.1f}" text-anchor="end" fill="#666">{html.escape(line["name"])}</text>')
        for n, one in enumerate(series):
            colour = _COLOURS[n % len(_COLOURS)]
            own = [(x, p) for m, x, p in points if m == n]
            if self.data["kind"] == "line" and len(own) > 1:
                path = "L".join(f"{at(x):.1f} {up(p['y']):.1f}" for x, p in own)
                out.append(f'<path d="M{path}" fill="none" stroke="{colour}"/>')
            for x, p in own:
                if p.get("low") is not None and p.get("high") is not None:
                    out.append(f'<path d="M{at(x):.1f} {up(p["low"]):.1f}V{up(p["high"]):.1f}" stroke="{colour}"/>')
                fill = "none" if one.get("published") else colour
                out.append(f'<circle cx="{at(x):.1f}" cy="{up(p["y"]):.1f}" r="3" fill="{fill}" stroke="{colour}"/>')
            out.append(f'<text x="{_LEFT}" y="{_HEIGHT + 18 * n:.0f}" fill="{colour}">● {html.escape(one["name"])}</text>')
        return "".join(out) + "</svg>"


def figures(places: str, folders: list[str], development: bool) -> list[Figure]:
    """The figures of some runs."""
    return [Figure(f) for f in json.loads(_mary.exhibits(places, folders, development))["figures"]]
