#!/usr/bin/env python3
"""Draws docs/pictures/seeing-development.svg: how a model of `mary grow --eyes` learned to see.

    for p in own blank other none; do
        mary sweep ./seeing -t embodied/scenes --seed 20261117 --set picture=$p --json -q > $p.json
    done
    python3 tools/figure_seeing.py own.json blank.json other.json none.json docs/pictures/seeing-development.svg

Every number is the program's: scores and intervals stand in the runs of each sweep, the window of growth in
its tables. This script places them on paper, and needs nothing but Python.
"""

import json
import math
import re
import sys
from pathlib import Path

WIDTH, PANEL, LEFT, TOP, GAP = 860, 300, 56, 64, 76
KINDS = ["count", "line", "place", "colour", "shape"]
SHOWN = [("own picture", "own"), ("another's", "other"), ("blank", "blank"), ("none", "none")]
STYLE = """
.paper { fill: #ffffff } .ink { fill: #222222 } .soft { fill: #5c5c5c } .grid { stroke: #e2e2e2 }
.chance { stroke: #777777; stroke-dasharray: 5 4 } .window { fill: #0b6bcb; opacity: .13 }
.c0 { stroke: #0b6bcb; fill: #0b6bcb } .c1 { stroke: #b45309; fill: #b45309 }
.c2 { stroke: #6b7280; fill: #6b7280 } .c3 { stroke: #8b3fb0; fill: #8b3fb0 } .c4 { stroke: #15803d; fill: #15803d }
text { font: 13px system-ui, sans-serif } .title { font-weight: 600; font-size: 15px }
polyline { fill: none !important; stroke-width: 2 } line { stroke-width: 1 } .bar { stroke-width: 1.6; opacity: .75 }
@media (prefers-color-scheme: dark) {
.paper { fill: #17191c } .ink { fill: #ececec } .soft { fill: #a8adb4 } .grid { stroke: #33373d }
.chance { stroke: #9aa0a6 } .window { fill: #6cb2ff; opacity: .2 }
.c0 { stroke: #6cb2ff; fill: #6cb2ff } .c1 { stroke: #f0a04b; fill: #f0a04b }
.c2 { stroke: #b4bac2; fill: #b4bac2 } .c3 { stroke: #d09bf0; fill: #d09bf0 } .c4 { stroke: #5fd38a; fill: #5fd38a }
}
"""


def sweep(path):
    """The steps of a sweep with the row of their run: score, interval and kinds of question."""
    told = json.loads(Path(path).read_text())
    rows = {}
    for summary in Path(told["folder"]).glob("runs/*/summary.json"):
        row = json.loads(summary.read_text())["rows"][0]
        step = re.search(r"step(\d+)$", row["model"])
        rows[int(step.group(1))] = row
    return dict(sorted(rows.items())), told["windows"]


def window(tables):
    """Onset with its interval in steps, where the sweep claims growth: "42.0 (25.0 to 65.1)" in its table."""
    for table in tables:
        for cells in table["rows"]:
            row = dict(zip(table["head"], cells))
            if row.get("ability") == "embodied/scenes" and row.get("growth", "").startswith("yes"):
                found = re.match(r"([\d.]+) \(([\d.]+) to ([\d.]+)\)", row["onset"])
                return [float(number) for number in found.groups()] if found else None
    return None


class Panel:
    """A chart of shares over steps on a log axis; step 0 stands apart, left of it."""

    def __init__(self, left, width, steps, title):
        self.left, self.width = left, width
        self.first, self.last = math.log2(max(1, min(s for s in steps if s))), math.log2(max(steps))
        self.out = [f'<text class="ink title" x="{left}" y="{TOP - 16}">{title}</text>']
        for share in range(0, 101, 25):
            y = self.y(share / 100)
            kind = "chance" if share == 25 else "grid"
            self.out.append(f'<line class="{kind}" x1="{left}" x2="{left + width}" y1="{y:.1f}" y2="{y:.1f}"/>')
            self.out.append(f'<text class="soft" x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{share} %</text>')
        for step in [0, *(s for s in (1, 4, 16, 64, 256, 1000) if 2**self.first <= s < max(steps) / 1.7), max(steps)]:
            x = self.x(step)
            self.out.append(f'<text class="soft" x="{x:.1f}" y="{TOP + PANEL + 20}" text-anchor="middle">{step}</text>')
        self.out.append(
            f'<text class="soft" x="{left + width / 2}" y="{TOP + PANEL + 40}" text-anchor="middle">training steps</text>'
        )

    def x(self, step):
        zero = 24
        if step == 0:
            return self.left + zero / 2
        part = (math.log2(step) - self.first) / max(self.last - self.first, 1e-9)
        return self.left + zero + 10 + part * (self.width - zero - 22)

    def y(self, share):
        return TOP + PANEL * (1 - share)

    def shade(self, low, high, at):
        x = [min(max(self.x(s), self.left), self.left + self.width) for s in (low, at, high)]
        self.out.append(f'<rect class="window" x="{x[0]:.1f}" y="{TOP}" width="{x[2] - x[0]:.1f}" height="{PANEL}"/>')
        self.out.append(f'<line class="c0" x1="{x[1]:.1f}" x2="{x[1]:.1f}" y1="{TOP}" y2="{TOP + PANEL}"/>')
        self.out.append(f'<text class="ink" x="{x[2] + 6:.1f}" y="{TOP + 14}">onset: step {at:.0f}</text>')
        self.out.append(f'<text class="soft" x="{x[2] + 6:.1f}" y="{TOP + 30}">({low:.0f} to {high:.0f})</text>')

    def curve(self, number, points, bars, shift=0.0):
        """Points as (step, value, low, high)."""
        line = " ".join(f"{self.x(s) + shift:.1f},{self.y(v):.1f}" for s, v, _, _ in points)
        self.out.append(f'<polyline class="c{number}" points="{line}"/>')
        for step, value, low, high in points:
            x = self.x(step) + shift
            if bars:
                self.out.append(
                    f'<line class="bar c{number}" x1="{x:.1f}" x2="{x:.1f}" y1="{self.y(low):.1f}" y2="{self.y(high):.1f}"/>'
                )
            self.out.append(f'<circle class="c{number}" cx="{x:.1f}" cy="{self.y(value):.1f}" r="2.6"/>')

    def key(self, names, x, y):
        for place, (number, name) in enumerate(names):
            down = y + 19 * place
            self.out.append(f'<line class="c{number}" style="stroke-width:3" x1="{x}" x2="{x + 20}" y1="{down}" y2="{down}"/>')
            self.out.append(f'<text class="ink" x="{x + 26}" y="{down + 4}">{name}</text>')


def point(step, score):
    return step, score["value"], score["low"], score["high"]


def main():
    paths, out = sys.argv[1:5], Path(sys.argv[5])
    told = [sweep(path) for path in paths]
    read = dict(zip(["own", "blank", "other", "none"], (rows for rows, _ in told)))
    onset = window(told[0][1])
    steps = list(read["own"])
    half = (WIDTH - LEFT - GAP - 16) / 2
    left = Panel(LEFT, half, steps, "Its own picture, and what is shown instead")
    if onset:
        left.shade(onset[1], onset[2], onset[0])
    for number, (_, name) in reversed(list(enumerate(SHOWN))):
        points = [point(s, row["score"]) for s, row in read[name].items()]
        left.curve(number, points, True, (number - 1.5) * 1.6)
    left.key([(n, title) for n, (title, _) in enumerate(SHOWN)], LEFT + 40, TOP + 60)
    right = Panel(LEFT + half + GAP, half, steps, "Its own picture, by kind of question")
    for number, kind in enumerate(KINDS):
        points = []
        for step, row in read["own"].items():
            kinds = next(b["values"] for b in row["breakdowns"] if b["tag"] == "kind")
            points.append(point(step, kinds[kind]))
        right.curve(number, points, False)
    right.key(list(enumerate(KINDS)), LEFT + half + GAP + 40, TOP + 30)
    height = TOP + PANEL + 60
    told = "Share of right answers over training steps, with the question's own picture, another's, a blank one and none"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" aria-label="{told}">',
        f"<style>{STYLE}</style>",
        f'<rect class="paper" width="{WIDTH}" height="{height}" rx="6"/>',
        *left.out,
        *right.out,
        "</svg>",
    ]
    out.write_text("\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
