#!/usr/bin/env python3
"""Which position carries the number of the subject? Pairs for `mary patch`, and the picture of docs/inside.md.

    tools/subject_number.py pairs OUT.csv [N]        pairs in the words of the small world
    tools/subject_number.py picture DIR... OUT.svg   from the folders of one `mary patch` each
"""
import csv
import json
import random
import sys
from pathlib import Path

WORLD = Path(__file__).parent.parent / "crates/core/mary-generators/src/small_world/world.json"
LINKS = ["near", "behind", "with", "beside"]
VERBS = [("is", "are"), ("was", "were")]


def pairs(out, number):
    """Subjects of both numbers equally often, a distractor of either number behind them."""
    world = json.loads(WORLD.read_text())
    nouns = [row[:2] for row in world["people"] + world["beasts"] if row[0] != row[1]]
    rng = random.Random(1)
    with open(out, "w", newline="") as file:
        write = csv.writer(file)
        write.writerow("id clean corrupted good bad subject subject_corrupted link distractor noun".split())
        for at in range(number):
            noun = nouns[at % len(nouns)]
            other = rng.choice([n for n in nouns if n != noun])[rng.randrange(2)]
            plural, link, verb = at // len(nouns) % 2 ^ at % 2, rng.choice(LINKS), rng.choice(VERBS)
            clean, corrupted = noun[plural], noun[1 - plural]
            text = lambda subject: f"The {subject} {link} the {other}"
            write.writerow([at + 1, text(clean), text(corrupted), verb[plural], verb[1 - plural],
                            clean, corrupted, f"{link} the", other, noun[0]])


COLOURS = {"subject": "#0b6e99", "link": "#7a7a7a", "distractor": "#b4690e"}
NAMES = {"link": "words between", "distractor": "distractor (last token)"}
W, H, LEFT, TOP = 330, 230, 52, 46


def panel(found, column, row):
    """The effect of each place over layers with its interval; the strongest control of each dotted."""
    cells = found["cells"]
    layers = max(c["layer"] for c in cells)
    x = lambda layer: column * W + LEFT + layer / max(layers, 1) * (W - LEFT - 18)
    y = lambda v: row * H + TOP + (1.15 - max(-0.25, min(1.15, v))) / 1.4 * (H - TOP - 40)
    out = []
    d = found["difference"]
    out.append(f'<text x="{x(0)}" y="{row * H + 18}" class="t">{found["model"]}</text>')
    out.append(f'<text x="{x(0)}" y="{row * H + 34}">difference {d["value"]:.2f} nats [{d["low"]:.2f}, {d["high"]:.2f}]</text>')
    if not found["shares"]:
        out.append(f'<text x="{x(0)}" y="{y(0.5)}">no difference to restore</text>')
        return out
    for v in (0, 0.5, 1):
        out.append(f'<line x1="{x(0)}" x2="{x(layers)}" y1="{y(v)}" y2="{y(v)}" class="g"/>'
                   f'<text x="{x(0) - 6}" y="{y(v) + 4}" text-anchor="end">{v:g}</text>')
    step = max(1, round(layers / 6))
    for layer in range(0, layers + 1, step):
        out.append(f'<text x="{x(layer)}" y="{y(-0.25) + 16}" text-anchor="middle">{layer}</text>')
    for place, colour in COLOURS.items():
        here = [c for c in cells if c["place"] == place]
        band = [(x(c["layer"]), y(c["effect"]["low"])) for c in here]
        band += [(x(c["layer"]), y(c["effect"]["high"])) for c in reversed(here)]
        points = lambda ps: " ".join(f"{a:.1f},{b:.1f}" for a, b in ps)
        out.append(f'<polygon points="{points(band)}" fill="{colour}" opacity=".18"/>')
        own = [(x(c["layer"]), y(c["effect"]["value"])) for c in here]
        out.append(f'<polyline points="{points(own)}" fill="none" stroke="{colour}" stroke-width="2"/>')
        beside = [(x(c["layer"]), y(max(v["value"] for v in c["controls"].values()))) for c in here if c["controls"]]
        out.append(f'<polyline points="{points(beside)}" fill="none" stroke="{colour}" stroke-dasharray="2 3"/>')
        out += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>' for (a, b), c in zip(own, here) if c["marked"]]
    return out


def picture(folders, out):
    found = [one for folder in folders for one in json.loads((Path(folder) / "patch.json").read_text())]
    columns = min(3, len(found))
    rows = -(-len(found) // columns)
    drawn = [line for at, one in enumerate(found) for line in panel(one, at % columns, at // columns)]
    for at, (place, colour) in enumerate(COLOURS.items()):
        drawn.append(f'<rect x="{LEFT + at * 150}" y="{rows * H + 6}" width="12" height="12" fill="{colour}"/>'
                     f'<text x="{LEFT + at * 150 + 18}" y="{rows * H + 16}">{NAMES.get(place, place)}</text>')
    drawn.append(f'<text x="{LEFT}" y="{rows * H + 38}">share of the difference restored, by layer of the stream; bands: '
                 "95 % over pairs;</text>")
    drawn.append(f'<text x="{LEFT}" y="{rows * H + 54}">dots: marked, above every control; dotted: the strongest control of '
                 "the same place</text>")
    style = "text{font:12px sans-serif;fill:#222}.t{font-weight:bold}.g{stroke:#ccc}"
    Path(out).write_text(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {max(columns * W, 520)} {rows * H + 64}">'
                         f'<style>{style}</style><rect width="100%" height="100%" fill="#fff"/>{"".join(drawn)}</svg>\n')


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["pairs", out, *number]:
            pairs(out, int(number[0]) if number else 60)
        case ["picture", *folders, out] if folders:
            picture(folders, out)
        case _:
            sys.exit(__doc__)
