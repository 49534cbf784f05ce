#!/usr/bin/env python3
"""Prompts of lm-raven (Hu et al. 2023) as golden values, from its own program.

    git clone https://github.com/hxiaoyang/lm-raven && git -C lm-raven checkout 500e6f7
    python3 tools/golden_lm_raven.py lm-raven/inference.py [FOLDER OF THE DATASET raven]

Its class `RPM` and its `Solver` make the texts; what it imports for computing (torch, openai, transformers …) is
not needed for that and is replaced by empty modules. Three problems are ours and stand in the golden file with all
their prompts. Of the released problems, which are not ours to copy, it holds a hash: of every problem's eight
prompts, sorted and joined by line ends, problems in the order of their ids as text.
"""
import importlib.util
import json
import pathlib
import sys
import types

HERE = pathlib.Path(__file__).resolve().parent.parent
OUT = HERE / "crates/tasks/mary-psychometric/tests/golden/lm_raven.json"
SETS = ["raven_center_single_subset500.json", "iraven_center_single_subset500.json"]


class Anything(types.ModuleType):
    def __getattr__(self, name):
        return Anything(name)

    def __call__(self, *_, **__):
        return self


def load(path):
    for name in ["accelerate", "openai", "requests", "torch", "torch.nn", "torch.nn.functional", "tqdm", "transformers"]:
        sys.modules[name] = Anything(name)
    spec = importlib.util.spec_from_file_location("lm_raven", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def prompts(module, problem):
    solver = module.Solver("null")
    said = []
    module.print = lambda text: said.append(text)
    solver._merge(problem, "center_single", n=3)
    return [text for text in said if isinstance(text, str)]


def fnv(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return f"{value:016x}"


def own():
    """Panels of our own as (type, size, colour), the right candidate first, as upstream stores them."""
    panel = lambda t, s, c: [{"Type": str(t), "Size": str(s), "Color": str(c), "Angle": "0"}]
    rows = [
        [(1, 0, 0), (2, 0, 1), (3, 0, 2), (2, 3, 4), (3, 3, 5), (4, 3, 6), (1, 5, 7), (2, 5, 8)],
        [(4, 4, 9), (4, 3, 9), (4, 2, 9), (1, 5, 0), (1, 4, 0), (1, 3, 0), (5, 2, 3), (5, 1, 3)],
        [(5, 1, 2), (3, 1, 2), (1, 1, 2), (3, 0, 5), (1, 0, 5), (5, 0, 5), (1, 4, 8), (5, 4, 8)],
    ]
    right = [((3, 5, 9), (1, 2, 4)), ((5, 0, 3), (2, 4, 7)), ((3, 4, 8), (4, 2, 1))]
    problems = {}
    for number, (context, (good, other)) in enumerate(zip(rows, right)):
        mixed = [tuple(good[i] if not k >> i & 1 else other[i] for i in range(3)) for k in range(8)]
        rules = [{"Type": "Progression", "Size": "Constant", "Color": "Progression"}]
        problems[str(100 + number)] = {"rules": rules, "rpm": [panel(*p) for p in context + mixed]}
    return problems


def main():
    module = load(sys.argv[1])
    golden = {"made_with": "github.com/hxiaoyang/lm-raven @ 500e6f7, inference.py, -b 0 -n 3", "own": own(), "prompts": {}, "released": {}}
    for key, problem in golden["own"].items():
        golden["prompts"][key] = prompts(module, problem)
        assert len(golden["prompts"][key]) == 8
    for name in SETS if len(sys.argv) > 2 else []:
        problems = json.loads((pathlib.Path(sys.argv[2]) / name).read_text())
        joined = "\n".join("\n".join(sorted(prompts(module, problems[k]))) for k in sorted(problems))
        golden["released"][name] = fnv(joined)
    lines = ",\n".join(f" {json.dumps(k)}: {json.dumps(v)}" for k, v in golden.items())
    OUT.write_text("{\n" + lines + "\n}\n")
    print(OUT, {k: v for k, v in golden["released"].items()})


if __name__ == "__main__":
    main()
