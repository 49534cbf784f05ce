#!/usr/bin/env python3
"""Recipes for what makes a model say so: tables for `mary patch`, `probe` and `steer`, their runs, and the pictures of docs/inside.md.

    tools/inside_recipes.py all MARY DIR [MODEL]          everything: H-TEST, tables, every recipe on the built-in checkpoints and on
                                                          a larger model, what they hold, pictures; goes on where it stopped
    tools/inside_recipes.py tables DIR                    all tables; letters need DIR/htest, a run of H-TEST
    tools/inside_recipes.py run MARY DIR NAME MODELS [LAYERS]  one recipe on some models, as folders below DIR
    tools/inside_recipes.py show DIR NAME                 what the folders of a recipe hold, in lines
    tools/inside_recipes.py subject DIR... OUT.svg        share restored by place and layer, from folders of `mary patch`
    tools/inside_recipes.py steps DIR OUT.svg             behaviour beside mechanism over checkpoints, from all recipes

NAME is number, magnitude, than, sensory or letters; LAYERS are those that are steered (0,1,2).
"""
import csv
import json
import random
import subprocess
import sys
import time
from pathlib import Path

WORLD = json.loads((Path(__file__).parent.parent / "crates/core/mary-generators/src/small_world/world.json").read_text())
WORDS = WORLD["numbers"]


def write(path, head, rows):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([head.split(), *rows])
    print(f"{path}: {len(rows)} rows")


def number(folder, count=60):
    """Subjects of both numbers equally often, a distractor of either number behind them."""
    nouns = [row[:2] for row in WORLD["people"] + WORLD["beasts"] if row[0] != row[1]]
    links, verbs, rng, rows = ["near", "behind", "with", "beside"], [("is", "are"), ("was", "were")], random.Random(1), []
    for at in range(count):
        noun = nouns[at % len(nouns)]
        other = rng.choice([n for n in nouns if n != noun])[rng.randrange(2)]
        plural, link, verb = at // len(nouns) % 2 ^ at % 2, rng.choice(links), rng.choice(verbs)
        clean, corrupted = noun[plural], noun[1 - plural]
        text = lambda subject: f"The {subject} {link} the {other}"
        rows.append([at + 1, text(clean), text(corrupted), verb[plural], verb[1 - plural],
                     clean, corrupted, f"{link} the", other, noun[0]])
    write(folder / "number.csv", "id clean corrupted good bad subject subject_corrupted link distractor noun", rows)


def magnitude(folder, count=40):
    """Who has more? The first number is large or small beside the second. The direction is made of other numbers than
    those that are compared; added to the first it should speak for its owner, added to the second against. And one number
    alone: what is it more than?"""
    rng, rows, steered, than = random.Random(2), [], [], []
    names = [row[0] for row in WORLD["names"]]
    goods = [row[1] for row in WORLD["foods"] + WORLD["things"]]
    text = lambda p, q, a, b, g: f"{p} has {WORDS[a]} {g}. {q} has {WORDS[b]} {g}."
    for at in range(count):
        (p, q), g = rng.sample(names, 2), rng.choice(goods)
        low, middle, high = sorted(rng.sample(range(2, 11), 3))
        first, other = (high, low) if at % 2 else (low, high)
        good, bad = (p, q) if first > middle else (q, p)
        rows.append([at + 1, text(p, q, first, middle, g), text(p, q, other, middle, g), good, bad,
                     WORDS[first], WORDS[other], f"{g}. {q} has", WORDS[middle]])
        (p, q), g, (a, b) = rng.sample(names, 2), rng.choice(goods), rng.sample(range(4, 8), 2)
        steered.append([at + 1, text(p, q, a, b, g), p, q, WORDS[a], WORDS[b]])
        least, low, middle, high = sorted(rng.sample(range(1, 13), 4))
        sides = [(high, middle), (low, least)] if at % 2 else [(low, least), (high, middle)]
        ((clean, good), (corrupted, bad)), form = sides, rng.choice(["more", "bigger"])
        than.append([at + 1, *(f"{WORDS[n].capitalize()} is {form} than" for n in (clean, corrupted)), WORDS[good],
                     WORDS[bad], *(WORDS[n].capitalize() for n in (clean, corrupted))])
    head = "id clean corrupted good bad first first_corrupted between second"
    write(folder / "magnitude.csv", head, rows)
    write(folder / "magnitude-steer.csv", "id text good bad first second", steered)
    contrast = [[f"{p} has {WORDS[high]}", f"{p} has {WORDS[low]}"]
                for p in names[:6] for high, low in zip((8, 9, 10), (1, 2, 3))]
    write(folder / "magnitude-contrast.csv", "positive negative", contrast)
    write(folder / "than.csv", "id clean corrupted good bad number number_corrupted", than)
    made = [[at + 1, f"{WORDS[a].capitalize()} is {form} than", WORDS[a - near], WORDS[a + near], WORDS[a].capitalize()]
            for at, (a, near, form) in enumerate((a, n, f) for a in range(4, 8) for n in (1, 2, 3) for f in ("more", "bigger"))]
    write(folder / "than-steer.csv", "id text good bad number", made)
    contrast = [[WORDS[high].capitalize(), WORDS[low].capitalize()] for high, low in zip((8, 9, 10), (1, 2, 3))]
    write(folder / "than-contrast.csv", "positive negative", contrast)


def sensory(folder):
    """Which place says how a thing looks, sounds, feels, tastes or smells? Things with opposite qualities; and the
    question after one of two things, in which the quality alone differs."""
    rng, things, which = random.Random(3), [], []
    for sense, words, opposites, have, lack in WORLD["qualities"]:
        for at in range(4):
            sides = [(have[at], words[0]), (lack[at], opposites[0])]
            if at % 2:
                sides.reverse()
            (clean, good), (corrupted, bad) = sides
            things.append([len(things) + 1, f"The {clean} is", f"The {corrupted} is", good, bad, clean, corrupted])
            order = rng.sample([clean, corrupted], 2)
            text = lambda quality: f"Which is {quality}, the {order[0]} or the {order[1]}? The"
            which.append([len(which) + 1, text(good), text(bad), clean, corrupted, good, bad, *order])
    write(folder / "sensory.csv", "id clean corrupted good bad thing thing_corrupted", things)
    write(folder / "which.csv", "id clean corrupted good bad quality quality_corrupted one other", which)


def letters(folder):
    """Does what a probe reads of a word's first letter move the answers? The items of H-TEST's start-vowel as a run asked
    them, and the same words asked for their first letter. Words of the direction are not those that it is tried on."""
    items, seen = [], set()
    run = next((folder / "htest").glob("**/samples.jsonl"))
    for line in run.read_text().splitlines():
        row = json.loads(line)
        if row["id"]["task"] != "htest/start-vowel" or row["id"]["item"] in seen:
            continue
        seen.add(row["id"]["item"])
        score = row["exchanges"][0]["ask"]["request"]["score"]
        text = "".join(part["text"] for turn in score["prefix"]["turns"] for part in turn["parts"])
        question = row["item"]["target"]["choice"]["question"]
        word, right = question.split()[0], "AB"[row["item"]["target"]["choice"]["correct"]]
        vowel = word[0] in "AEIOU"
        items.append([row["id"]["item"], text, right, "AB"[right == "A"], "vowel" if vowel else "consonant", word])
    rng = random.Random(4)
    words = sorted({item[5] for item in items})
    rng.shuffle(words)
    learned = set(words[::2])
    keep = [i for i in items if i[1].count(i[5]) == 1]
    write(folder / "letters-htest.csv", "id text good bad label word", keep)
    label = lambda i: (i[2], i[3]) if i[4] == "vowel" else (i[3], i[2])
    write(folder / "letters-htest-steer.csv", "id text good bad word",
          [[i[0], i[1], *label(i), i[5]] for i in keep if i[5] not in learned])
    before = lambda i: i[1][: i[1].rindex(i[5]) + len(i[5])]
    sides = [[before(i) for i in keep if i[5] in learned and i[4] == kind] for kind in ("vowel", "consonant")]
    many = max(map(len, sides))
    write(folder / "letters-htest-contrast.csv", "positive negative",
          [[side[at] if at < len(side) else "" for side in sides] for at in range(many)])
    shown = ["Table", "Island", "River", "Elbow", "Garden", "Uncle"]
    shots = "".join(f"{w}: {w[0]}\n" for w in shown)
    spelled = [[w, f"{shots}{w}:", w[0], rng.choice("BCDFGLMPRST" if w[0] in "AEIOU" else "AEIOU"),
                "vowel" if w[0] in "AEIOU" else "consonant", w] for w in words if w not in shown]
    write(folder / "letters-spell.csv", "id text good bad label word", spelled)
    first = lambda r: (r[2], r[3]) if r[4] == "vowel" else (r[3], r[2])
    write(folder / "letters-spell-steer.csv", "id text good bad word",
          [[r[0], r[1], *first(r), r[5]] for r in spelled if r[5] not in learned])
    sides = [[r[1][:-1] for r in spelled if r[5] in learned and r[4] == kind] for kind in ("vowel", "consonant")]
    write(folder / "letters-spell-contrast.csv", "positive negative",
          [[side[at] if at < len(side) else "" for side in sides] for at in range(max(map(len, sides)))])


# What each recipe asks: a name, the command and its options; {layers} are some of the model's.
RUNS = {
    "number": [("number", "patch number.csv --regions subject,link,distractor")],
    "magnitude": [
        ("magnitude", "patch magnitude.csv --regions first,between,second"),
        ("first", "steer magnitude-steer.csv --region first --contrast magnitude-contrast.csv --layers {layers} --factors -1,1"),
        ("second", "steer magnitude-steer.csv --region second --contrast magnitude-contrast.csv --layers {layers} --factors -1,1"),
    ],
    "than": [
        ("than", "patch than.csv --regions number"),
        ("than-steer", "steer than-steer.csv --region number --contrast than-contrast.csv --layers {layers} --factors -1,1"),
    ],
    "sensory": [("sensory", "patch sensory.csv --regions thing"), ("which", "patch which.csv --regions quality,one,other")],
    "letters": [
        (f"{name}-{what}", line.format(name=name, layers="{layers}"))
        for name in ("htest", "spell")
        for what, line in [
            ("probe", "probe letters-{name}.csv --group word --region word"),
            ("steer", "steer letters-{name}-steer.csv --region word --contrast letters-{name}-contrast.csv --layers {layers} "
                      "--factors -4,4"),
        ]
    ],
}


def run(mary, folder, name, models, layers="0,1,2"):
    """Several models are checkpoints: their folder is the one that `steps` draws."""
    for what, line in RUNS[name]:
        words = line.format(layers=layers).split()
        words = [str(folder / w) if w.endswith(".csv") else w for w in words]
        out = folder / f"{what}--{'steps' if ',' in models else models.split('/')[-1]}"
        if (out / "report.html").exists():
            continue
        begun = time.monotonic()
        done = subprocess.run([mary, *words, "-m", models, "-q", "--out", out], capture_output=True, text=True)
        print(f"{out}: {done.returncode}, {time.monotonic() - begun:.0f} s", *done.stderr.strip().splitlines()[-1:], flush=True)
        if done.returncode:
            sys.exit(done.stderr)


def everything(mary, folder, *larger):
    """Cheap recipes first. The larger model is steered at four of its 30 layers, the built-in one at all of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "htest").exists():
        subprocess.run([mary, "run", "-m", ",".join(["builtin/nano", *larger]), "-t", "htest/start-vowel", "--shots", "4", "-q",
                        "--output-path", folder / "htest"], check=True)
    for make in number, magnitude, sensory, letters:
        make(folder)
    steps_of = [0, 64, 128, 256, 512, 1000, 2000, 3000, 5000, 7000, 10000]
    for models, layers in [(",".join(f"builtin/nano@step{n}" for n in steps_of), "0,1,2,3"), *((m, "5,10,15,20") for m in larger)]:
        for name in RUNS:
            run(mary, folder, name, models, layers)
    for name in RUNS:
        show(folder, name)
    picture(sorted(folder.glob("number--*")), folder / "subject-number.svg")
    steps(folder, folder / "inside-steps.svg")


def said(value, low, high, factor=1, digits=2):
    return f"{factor * value:.{digits}f} [{factor * low:.{digits}f}, {factor * high:.{digits}f}]"


def interval(of, *more):
    return said(of["value"], of["low"], of["high"], *more)


def show(folder, name):
    for what, line in RUNS[name]:
        for path in sorted(folder.glob(f"{what}--*/*.json")):
            for one in json.loads(path.read_text()):
                print(f"== {what}: {one['model']}")
                if "cells" in one:
                    cells = one["cells"]
                    print(f"  difference {interval(one['difference'])}, {one['wrong_sign']} wrong signs, "
                          f"{sum(c['marked'] for c in cells)} of {len(cells)} marked")
                    for place in dict.fromkeys(c["place"] for c in cells):
                        here = [c for c in cells if c["place"] == place]
                        best = max(here, key=lambda c: c["effect"]["value"])
                        control = max(best["controls"].items(), key=lambda v: v[1]["value"], default=("", {"value": 0}))
                        print(f"  {place}: layer {best['layer']} {interval(best['effect'], 100, 0)} %, {control[0]} "
                              f"{100 * control[1]['value']:.0f}; marked {[c['layer'] for c in here if c['marked']]}")
                for layer in one.get("layers", []):
                    print(f"  probe {layer['layer']}: {interval(layer['accuracy'], 100, 0)} control {layer['control']['value']:.2f} "
                          f"untrained {(layer['untrained'] or {'value': 0})['value']:.2f}{' marked' if layer['marked'] else ''}")
                for e in one.get("effects", []) + one.get("amnesic", []):
                    print(f"  layer {e['layer']} x{e['factor']:g}: {interval(e['effect'])} random {min(e['random']):.2f} to "
                          f"{max(e['random']):.2f} p {e['p_holm']:.3f}{' marked' if e['marked'] else ''}")


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




STEPS = [("number", "subject's number", "subject", "distractor"), ("than", "more than", "number", "last"),
         ("magnitude", "who has more", "first", "last"), ("sensory", "quality of a thing", "thing", "last")]


def steps(folder, out):
    """For each recipe the difference in behaviour over checkpoints, and how far the strongest layer of two places lies above
    its strongest control, where its cell is marked."""
    drawn = []
    for column, (name, title, first, last) in enumerate(STEPS):
        found = json.loads(next(folder.glob(f"{name}--steps/patch.json")).read_text())
        step = lambda one: int(one["model"].partition("@step")[2] or 10000)
        found.sort(key=step)
        x0, width = column * 250 + 46, 186
        x = lambda at: x0 + at / (len(found) - 1) * width
        top = max(one["difference"]["high"] for one in found)
        high = lambda v: 130 - max(v, -0.05 * top) / top * 90
        low = lambda v: 262 - max(0, min(v, 1.05)) * 95
        drawn.append(f'<text x="{x0}" y="22" class="t">{title}</text>')
        for scale, values, digits in (high, [0, top], 1), (low, [0, 0.5, 1], 1):
            for v in values:
                drawn.append(f'<line x1="{x0}" x2="{x0 + width}" y1="{scale(v)}" y2="{scale(v)}" class="g"/>'
                             f'<text x="{x0 - 5}" y="{scale(v) + 4}" text-anchor="end">{v:.{digits}f}</text>')
        for at, one in enumerate(found):
            d = one["difference"]
            drawn.append(f'<line x1="{x(at):.1f}" x2="{x(at):.1f}" y1="{high(d["low"]):.1f}" y2="{high(d["high"]):.1f}" stroke="#222"/>'
                         f'<circle cx="{x(at):.1f}" cy="{high(d["value"]):.1f}" r="3" fill="#222"/>')
            if at % 2 == 0 or at == len(found) - 1:
                drawn.append(f'<text x="{x(at):.1f}" y="284" text-anchor="middle">{step(one)}</text>' if at % 3 == 0 or
                             at == len(found) - 1 else "")
        for place, colour in (first, "#0b6e99"), (last, "#b4690e"):
            line = []
            for at, one in enumerate(found):
                here = [c for c in one["cells"] if c["place"] == place] if one["shares"] else []
                best = max(here, key=lambda c: c["effect"]["low"], default=None)
                if best:
                    line.append((x(at), low(best["effect"]["value"])))
                    marked = any(c["marked"] for c in here)
                    drawn.append(f'<circle cx="{x(at):.1f}" cy="{line[-1][1]:.1f}" r="4" fill="{colour if marked else "#fff"}" '
                                 f'stroke="{colour}"/>')
            points = " ".join(f"{a:.1f},{b:.1f}" for a, b in line)
            drawn.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5" opacity=".6"/>')
    legend = ["above: clean less corrupted, nats, with 95 % intervals; below: share restored by the strongest layer, "
              "blue where the texts differ, brown in the last token;",
              "full dots: at least one layer is marked, above every control; no dot: nothing to restore; along the axis: steps of training"]
    drawn += [f'<text x="20" y="{308 + 16 * at}">{line}</text>' for at, line in enumerate(legend)]
    style = "text{font:11px sans-serif;fill:#222}.t{font-weight:bold}.g{stroke:#ddd}"
    Path(out).write_text(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {len(STEPS) * 250} 334"><style>{style}</style>'
                         f'<rect width="100%" height="100%" fill="#fff"/>{"".join(drawn)}</svg>\n')


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["all", mary, folder, *larger] if len(larger) < 2:
            everything(mary, Path(folder), *larger)
        case ["tables", folder]:
            for make in number, magnitude, sensory, letters:
                make(Path(folder))
        case ["run", mary, folder, name, models, *layers]:
            run(mary, Path(folder), name, models, *layers)
        case ["show", folder, name]:
            show(Path(folder), name)
        case ["subject", *folders, out] if folders:
            picture(folders, out)
        case ["steps", folder, out]:
            steps(Path(folder), out)
        case _:
            sys.exit(__doc__)
