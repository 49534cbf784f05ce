#!/usr/bin/env python3
"""Verdicts of SyntaxGym's own package on random surprisals, for `mary-taskfile`'s tests.

    pip install --no-deps syntaxgym; pip install pyparsing numpy pandas
    python tools/golden_syntaxgym.py > crates/tasks/mary-taskfile/tests/golden/syntaxgym.json

100 random formulas with 100 cases each. The package reads round brackets only; the suites that were released write square
ones, which this script replaces as their site did. The surprisals are drawn by integer arithmetic that the test repeats.
"""

import importlib.util
import inspect
import json
import random
import sys
import types

# The package's own beginning asks for Docker and containers of models, which verdicts do not need.
for name in ("docker", "tqdm"):
    sys.modules.setdefault(name, types.ModuleType(name))
package = types.ModuleType("syntaxgym")
package.__path__ = list(importlib.util.find_spec("syntaxgym").submodule_search_locations)
sys.modules["syntaxgym"] = package
inspect.getargspec = getattr(inspect, "getargspec", inspect.getfullargspec)
from syntaxgym.prediction import Prediction

CONDITIONS = ["a", "cond_b", "no-c", "x_d"]
draw = random.Random(16)


def surprisal(case, region, condition):
    mixed = ((case * 7919 + region * 104_729 + ord(condition[-1]) * 1_299_709 + 12_345) * 2_654_435_761) & 0xFFFFFFFF
    mixed = ((mixed ^ (mixed >> 15)) * 2_246_822_519) & 0xFFFFFFFF
    return (mixed >> 16) / 4096 if case % 2 == 0 else float((mixed >> 24) // 64)


def region():
    number = "*" if draw.random() < 0.05 else draw.randint(1, 4)
    return f"({number};%{draw.choice(CONDITIONS)}%)"


def number(depth):
    if depth == 0 or draw.random() < 0.45:
        return f"{draw.choice([0, 1.5, 4])}" if draw.random() < 0.1 else region()
    parts = [number(depth - 1) for _ in range(draw.randint(2, 3))]
    text = parts[0]
    for part in parts[1:]:
        text += draw.choice([" + ", " - ", "+", "-"]) + part
    return f"[{text}]" if draw.random() < 0.8 else f"( {text} )"


def comparison():
    return f"{number(2)} {draw.choice('<<>>>=')} {number(2)}"


def formula():
    parts = [f"[{comparison()}]" for _ in range(draw.randint(1, 3))]
    text = parts[0] if len(parts) > 1 else comparison()
    for part in parts[1:]:
        text += draw.choice([" & ", " & ", " | "]) + part
    return text


golden = []
for _ in range(100):
    text = formula()
    prediction = Prediction(0, text.replace("[", "(").replace("]", ")"), "sum")
    verdicts = ""
    for case in range(100):
        item = {
            "conditions": [
                {
                    "condition_name": c,
                    "regions": [{"region_number": r, "metric_value": {"sum": surprisal(case, r, c)}} for r in range(1, 5)],
                }
                for c in CONDITIONS
            ]
        }
        verdicts += "1" if prediction(item) else "0"
    golden.append({"formula": text, "verdicts": verdicts})
print(json.dumps(golden, indent=0))
