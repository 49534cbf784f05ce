#!/usr/bin/env python3
"""Draws docs/pictures/binding.svg: which lessons bind (the twin of tools/binding.py), and when a model of the program
does (its probes).

    python3 tools/figure_binding.py TWIN.jsonl seeing/probes.jsonl docs/pictures/binding.svg
"""

import json
import sys
from pathlib import Path

from figure_seeing import GAP, LEFT, PANEL, STYLE, TOP, WIDTH, Panel

SHOWN = [("new", "both"), ("words", "larger words alone"), ("lists", "more lists alone"), ("old", "neither")]
KINDS = ["count", "line", "place", "colour", "shape"]


def main():
    twin, probes, out = sys.argv[1:4]
    curves, name = {}, None
    for line in Path(twin).read_text().splitlines():
        told = json.loads(line)
        if "cfg" in told:
            name = told["cfg"]["name"]
            continue
        mean = (told["colour"] + told["shape"] + told["place"]) / 300
        curves.setdefault(name, []).append((told["step"], mean, mean, mean))
    half = (WIDTH - LEFT - GAP - 16) / 2
    left = Panel(LEFT, half, [64, 2000], "Colour, shape and place, four recipes (twin)")
    for number, (key, _) in enumerate(SHOWN):
        left.curve(number, curves[key], False)
    left.key([(n, title) for n, (_, title) in enumerate(SHOWN)], LEFT + 50, TOP + 30)
    rows = [json.loads(line) for line in Path(probes).read_text().splitlines()]
    right = Panel(LEFT + half + GAP, half, [1, max(r["step"] for r in rows)], "The program's own, by kind of question")
    for number, kind in enumerate(KINDS):
        points = [(r["step"], *[r["by_kind"][kind]] * 3) for r in rows]
        right.curve(number, points, False)
    right.key(list(enumerate(KINDS)), LEFT + half + GAP + 40, TOP + 30)
    height = TOP + PANEL + 60
    told = "Share of right answers about held-out layouts over training steps, by recipe and by kind of question"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" aria-label="{told}">',
        f"<style>{STYLE}</style>",
        f'<rect class="paper" width="{WIDTH}" height="{height}" rx="6"/>',
        *left.out,
        *right.out,
        "</svg>",
    ]
    Path(out).write_text("\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
