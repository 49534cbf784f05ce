#!/usr/bin/env python3
"""Makes docs/FIGURES.md of the files in docs/figures, which the benchmarks write with --json.

    python3 tools/bench_page.py            # writes the page
    python3 tools/bench_page.py --check    # fails where the page is not what the files say
"""

import json
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"
HEAD = """# Figures

Made by `tools/bench_page.py` from the files in `docs/figures`, each written by one benchmark with `--json`; how each is
measured is in [BENCHMARKS.md](BENCHMARKS.md), [GPUs](history/cuda.md) and [tuning](history/tuning.md). A ratio above one says that
ours is faster (or takes less). A star behind a commit: the sources were changed since.
"""


def number(x):
    return f"{x:,.0f}" if abs(x) >= 100 else f"{x:.3g}"


def section(path):
    told = json.loads(path.read_text())
    about = told["machine"]
    where = about.get("gpu") or f"{about.get('processor', 'unknown')}, {', '.join(about.get('instructions', []))}"
    lines = [f"\n## {path.stem}\n",
             f"{where}; {about.get('cores', '?')} cores, load {about.get('load', 'not written down')}; commit {about['commit']}, {about['date']}; "
             + ", ".join(f"{k} {v}" for k, v in about.items()
                         if k not in ("gpu", "processor", "instructions", "cores", "load", "commit", "date")) + ".\n",
             "| what | peer | ours | theirs | ratio | aim |", "|---|---|---|---|---|---|"]
    for f in told["figures"]:
        if "peer" not in f:  # measured alone
            continue
        aim = f.get("aim")
        lines.append(f"| {f['what']} | {f['peer']} | {number(f['ours'])} {f['unit']} | {number(f['theirs'])} {f['unit']} "
                     f"| {f['ratio']} | {f'{aim}' if aim else ''} |")
    return "\n".join(lines) + "\n"


def main():
    page = DOCS / "FIGURES.md"
    text = HEAD + "".join(section(path) for path in sorted((DOCS / "figures").glob("*.json")))
    if "--check" in sys.argv[1:]:
        sys.exit(None if page.read_text() == text else "docs/FIGURES.md is stale: run tools/bench_page.py")
    page.write_text(text)


main()
