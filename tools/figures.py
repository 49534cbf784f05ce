"""What the benchmarks write down: figures with the machine and the commit they were measured on.

A file holds {"machine": {...}, "figures": [{"what", "peer", "ours", "theirs", "unit", "ratio", "aim"?, ...}]}.
A ratio above one says that ours is faster. `tools/bench_page.py` makes docs/FIGURES.md of the files in docs/figures.
"""

import json
import os
import platform
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def commit():
    """The commit of the sources, with a star where they were changed since; nothing outside a repository."""
    def git(*words):
        return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True).stdout.strip()

    head = git("rev-parse", "--short", "HEAD")
    changed = head and git("status", "--porcelain", "--untracked-files=no", "--", "crates", "Cargo.lock")
    return (head + ("*" if changed else "")) or "unknown"


def processor():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return {"processor": platform.processor() or platform.machine()}
    field = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    flags = set(field.get("flags", "").split())
    known = [name for name, flag in (("AMX", "amx_bf16"), ("AVX-512", "avx512f"), ("VNNI", "avx512_vnni"), ("AVX2", "avx2"))
             if flag in flags]
    return {"processor": field.get("model name", platform.machine()), "instructions": known}


def machine(**more):
    """This machine, now. The load says whether it was quiet."""
    return {**processor(), "cores": os.cpu_count(), "load": round(os.getloadavg()[0], 2), "commit": commit(),
            "date": time.strftime("%Y-%m-%d"), **more}


def versions(*names):
    """Versions of Python packages that are installed."""
    from importlib import metadata

    found = {}
    for name in names:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            pass
    return found


class Figures:
    """Figures of one benchmark; `about` is what was found when it began, before it made load itself."""

    def __init__(self, **more):
        self.about = machine(**more)
        self.all = []

    def add(self, what, peer, ours, theirs, unit, aim=None, **more):
        """A rate where `unit` ends in "/s", otherwise a time or a size, of which less is better."""
        ratio = ours / theirs if unit.endswith("/s") else theirs / ours
        figure = {"what": what, "peer": peer, "ours": round(ours, 4), "theirs": round(theirs, 4), "unit": unit,
                  "ratio": round(ratio, 2), **({"aim": aim} if aim else {}), **more}
        self.all.append(figure)
        return figure

    def save(self, path):
        if path:
            Path(path).write_text(json.dumps({"machine": self.about, "figures": self.all}, indent=1) + "\n")
