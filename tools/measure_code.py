#!/usr/bin/env python3
"""Counts what makes the codebase heavy, the same way every time.

    python tools/measure_code.py              the table
    python tools/measure_code.py --crates     product lines of each crate besides
    python tools/measure_code.py --long       the files and functions over the limits
    python tools/measure_code.py --circles    the circles of files
    python tools/measure_code.py --check      exit 1 if a limit of CONTRIBUTING is broken

Product lines are all lines of `src` outside test modules (`#[cfg(test)] mod …`, in place or as a file of its own);
blank lines and comments count. A circle is a set of files of one crate that reach each other by `crate::` and
`super::` paths outside tests; a parent that only re-exports its children does not close one.
"""

import argparse
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

BUDGET = 190_000  # product lines
FILE, FUNCTION = 600, 100
MISLEADING = ["Kind", "Source", "Shown", "Wanted", "Asked", "Found", "Trouble", "Seen"]
REASON = re.compile(r"//.*\b(because|since|so that|otherwise|instead of|rather than|why|would)\b", re.I)


def tracked():
    listed = subprocess.run(["git", "ls-files", "*.rs"], capture_output=True, text=True, check=True).stdout
    return [Path(p) for p in listed.splitlines() if Path(p).exists()]


def crate_of(path):
    for folder in path.parents:
        if (folder / "Cargo.toml").exists():
            return folder
    return Path(".")


def blank_strings(line):
    """The line without what stands in quotes or behind `//`, so that braces can be counted."""
    line = re.sub(r'"(?:\\.|[^"\\])*"', '""', line)
    line = re.sub(r"'(?:\\.|[^'\\])'", "''", line)
    return line.split("//")[0]


def blank_raw_strings(lines):
    """The lines without what stands in raw strings, whose braces and quotes would end blocks early."""
    text = "\n".join(lines)
    blank = re.sub(r'\bb?r(#+)".*?"\1', lambda m: '""' + "\n" * m.group().count("\n"), text, flags=re.S)
    return blank.split("\n")


def end_of_block(lines, start):
    """The line on which the block ends whose first brace opens at or after `start`."""
    depth, opened = 0, False
    for number in range(start, len(lines)):
        bare = blank_strings(lines[number])
        if not opened and bare.rstrip().endswith(";") and "{" not in bare:
            return number
        depth += bare.count("{") - bare.count("}")
        opened = opened or "{" in bare
        if opened and depth <= 0:
            return number
    return len(lines) - 1


def test_lines(lines):
    """Numbers of the lines that belong to test modules, and the names of test modules in files of their own."""
    inside, elsewhere, number = set(), [], 0
    lines = blank_raw_strings(lines)
    while number < len(lines):
        if re.match(r"\s*#\[cfg\((all\()?test\b", lines[number]):
            start = number
            number += 1
            path = None
            while number < len(lines) and lines[number].lstrip().startswith("#["):
                found = re.search(r'#\[path = "([^"]+)"', lines[number])
                path = found.group(1) if found else path
                number += 1
            end = end_of_block(lines, number)
            module = re.match(r"\s*(?:pub(?:\([a-z]+\))? )?mod (\w+);", lines[number]) if number < len(lines) else None
            if module:
                elsewhere.append(path or module.group(1))
            inside.update(range(start, end + 1))
            number = end
        number += 1
    return inside, elsewhere


class Code:
    """All Rust files, with what is product and what is test."""

    def __init__(self):
        self.product, self.tests, self.examples = {}, 0, 0
        files = {p: p.read_text().splitlines() for p in tracked()}
        tests_elsewhere = set()
        for path, lines in files.items():
            _, elsewhere = test_lines(lines)
            stem = path.parent if path.name in ("lib.rs", "main.rs", "mod.rs") else path.with_suffix("")
            for name in elsewhere:
                if name.endswith(".rs"):
                    tests_elsewhere.add((path.parent / name))
                else:
                    tests_elsewhere |= {stem / f"{name}.rs", stem / name / "mod.rs"}
        folders = {p.parent if p.name == "mod.rs" else p.with_suffix("") for p in tests_elsewhere if p in files}
        tests_elsewhere |= {path for path in files if folders & set(path.parents)}
        for path, lines in files.items():
            inner = path.relative_to(crate_of(path)).parts[0]
            if inner == "examples":
                self.examples += len(lines)
            elif inner in ("tests", "benches") or path in tests_elsewhere:
                self.tests += len(lines)
            else:
                inside, _ = test_lines(lines)
                self.tests += len(inside)
                self.product[path] = [line for n, line in enumerate(lines) if n not in inside]

    def lines(self):
        return sum(map(len, self.product.values()))

    def crates(self):
        count = Counter()
        for path, lines in self.product.items():
            count[crate_of(path).name] += len(lines)
        return count

    def functions(self):
        """(length, file, name) of every function."""
        for path, lines in self.product.items():
            for number, line in enumerate(lines):
                found = re.match(r"\s*(?:pub(?:\([^)]*\))? )?(?:const |async |unsafe |extern \"C\" )*fn (\w+)", line)
                if found:
                    yield end_of_block(lines, number) - number + 1, path, found.group(1)

    def circles(self):
        """Sets of files of a crate that reach each other, largest first."""
        modules = {}
        for path in self.product:
            crate = crate_of(path)
            parts = list(path.relative_to(crate).with_suffix("").parts[1:])
            if parts and parts[-1] in ("mod", "lib", "main"):
                parts.pop()
            modules[(crate, tuple(parts))] = path
        uses = defaultdict(set)
        for (crate, here), path in modules.items():
            text = re.sub(r"//.*", "", "\n".join(self.product[path]))
            text = re.sub(r"\bpub(?:\([^)]*\))? use [^;]*;", "", text)
            for found in re.finditer(r"\b(crate|super(?:::super)*)((?:::\w+)*)(?:::\{([^;]*?)\})?", text):
                up = found.group(1).count("super")
                base = () if not up else here[: len(here) - up]
                tails = [found.group(2)]
                if found.group(3):
                    tails = [f"{found.group(2)}::{t.strip()}" for t in re.split(r"[,{}\s]+", found.group(3)) if t.strip()]
                for tail in tails:
                    full = base + tuple(p for p in tail.split("::") if p)
                    while full and (crate, full) not in modules:
                        full = full[:-1]
                    if full and full != here and (crate, full) in modules:
                        uses[path].add(modules[(crate, full)])
        return sorted((c for c in components(uses) if len(c) > 1), key=len, reverse=True)


def components(uses):
    """Strongly connected components (Tarjan), without recursion."""
    index, low, on, stack, found = {}, {}, set(), [], []
    for root in list(uses):
        if root in index:
            continue
        work = [(root, iter(sorted(uses.get(root, ()))))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on.add(root)
        while work:
            node, rest = work[-1]
            for other in rest:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on.add(other)
                    work.append((other, iter(sorted(uses.get(other, ())))))
                    break
                if other in on:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    group = []
                    while True:
                        other = stack.pop()
                        on.discard(other)
                        group.append(other)
                        if other == node:
                            break
                    found.append(group)
    return found


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("crates", "long", "circles", "check"):
        arguments.add_argument(f"--{name}", action="store_true")
    given = arguments.parse_args()
    code = Code()
    text = [line for lines in code.product.values() for line in lines]
    functions = list(code.functions())
    circles = code.circles()
    alone = 0
    for lines in code.product.values():
        for n, line in enumerate(lines):
            if line.strip().startswith("/// ") and len(line.strip()[3:].split()) <= 4:
                before = lines[n - 1].strip() if n else ""
                after = lines[n + 1].strip() if n + 1 < len(lines) else ""
                alone += not before.startswith("///") and not after.startswith("///")
    comments = sum(1 for line in text if REASON.search(line))
    names = Counter(m.group(1) for line in text
                    if (m := re.search(r"\b(?:struct|enum|trait|type) (\w+)", line)) and m.group(1) in MISLEADING)
    doctests = 0
    for lines in code.product.values():
        fences = [line.strip() for line in lines if re.match(r"\s*//[/!] ```", line)]
        doctests += sum(1 for opening in fences[::2] if opening[3:].strip() in ("```", "```rust", "```no_run"))
    long_files = sorted(((len(lines), path) for path, lines in code.product.items() if len(lines) > FILE), reverse=True)
    rows = [
        ("crates", len({crate_of(p) for p in code.product})),
        ("lines of Rust: product", f"{code.lines():,}"),
        ("lines of Rust: tests", f"{code.tests:,}"),
        ("lines of Rust: examples", f"{code.examples:,}"),
        (f"files over {FILE} product lines", len(long_files)),
        (f"functions over 80 / {FUNCTION} lines", f"{sum(f[0] > 80 for f in functions)} / {sum(f[0] > FUNCTION for f in functions)}"),
        ("circles of files / the largest", f"{len(circles)} / {len(circles[0]) if circles else 0}"),
        ("circles of more than three files", sum(len(c) > 3 for c in circles)),
        ("doc comments of four words or fewer", f"{alone:,}"),
        ("lines that give a reason", f"{100 * comments / max(1, len(text)):.2f} %"),
        ("doctests", doctests),
        ("unsafe blocks", sum(len(re.findall(r"\bunsafe \{", line)) for line in text)),
        ("`fn of(`", sum("fn of(" in line for line in text)),
        ("types called " + ", ".join(f"{k} {v}" for k, v in names.most_common()), sum(names.values())),
    ]
    width = max(len(str(name)) for name, _ in rows)
    for name, value in rows:
        print(f"{name:<{width}}  {value}")
    if given.crates:
        print()
        for name, count in code.crates().most_common():
            print(f"{count:>8,}  {name}")
    if given.long:
        print()
        for count, path in long_files:
            print(f"{count:>6}  {path}")
        for count, path, name in sorted(functions, reverse=True, key=lambda f: f[0]):
            if count > FUNCTION:
                print(f"{count:>6}  {path}: {name}")
    if given.circles:
        for group in circles:
            print(f"\n{len(group)} files")
            for path in sorted(group):
                print(f"    {path}")
    faults = []
    if code.lines() > BUDGET:
        faults.append(f"product code has {code.lines():,} lines, the budget is {BUDGET:,}: delete something")
    # A file may be longer where its header says why ("Longer than others: ...").
    faults += [f"{path}: {count} lines" for count, path in long_files
               if not any("Longer than others" in line for line in code.product[path][:15])]
    faults += [f"{path}: `{name}` has {count} lines" for count, path, name in functions if count > FUNCTION]
    faults += [f"a circle of {len(c)} files: {', '.join(map(str, sorted(c)))}" for c in circles if len(c) > 3]
    if given.check and faults:
        print("\n" + "\n".join(faults), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
