#!/usr/bin/env python3
"""Lists every foreign crate in the program with its version and licence, and checks them.

    tools/licences.py                       a table of what is inside (tab-separated), on any system
    tools/licences.py --target TRIPLE       of what is inside on that system
    tools/licences.py --target … --texts    the texts of these licences, each once
    tools/licences.py --check               exit 1 for a licence that is not in deny.toml, or a new duplicate

The same rules as `cargo deny check licenses bans` from the same file, where that program is not installed.
Advisories need their database and are checked on the forge (.github/workflows/test.yml).
"""

import json
import pathlib
import re
import subprocess
import sys
from collections import defaultdict

ROOT = pathlib.Path(__file__).resolve().parent.parent


def packages(target):
    """The packages that end up in the program: normal dependencies of `mary` and `mary-python`."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--features", "mary/cuda"]
    command += ["--filter-platform", target] if target else []
    data = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)
    by_id = {p["id"]: p for p in data["packages"]}
    edges = {n["id"]: [d["pkg"] for d in n["deps"] if any(k["kind"] is None for k in d["dep_kinds"])]
             for n in data["resolve"]["nodes"]}
    todo = [i for i, p in by_id.items() if p["name"] in ("mary", "mary-python")]
    seen = set(todo)
    while todo:
        for other in edges.get(todo.pop(), []):
            if other not in seen:
                seen.add(other)
                todo.append(other)
    for package in by_id.values():
        # A crate that names a file instead of a licence: the file's name is one.
        if not package["license"] and (package["license_file"] or "").endswith("LICENSE-MIT"):
            package["license"] = "MIT"
    return sorted((by_id[i] for i in seen if by_id[i]["source"]), key=lambda p: (p["name"], p["version"]))


def allowed(expression, licences):
    """Whether an SPDX expression can be fulfilled: one side of every OR, both of every AND."""
    tokens = re.findall(r"\(|\)|[^\s()]+", expression.replace("/", " OR "))

    def either():
        value = both()
        while tokens and tokens[0].upper() == "OR":
            tokens.pop(0)
            value = both() or value
        return value

    def both():
        value = one()
        while tokens and tokens[0].upper() == "AND":
            tokens.pop(0)
            value = one() and value
        return value

    def one():
        token = tokens.pop(0)
        if token == "(":
            value = either()
            tokens.pop(0)
            return value
        while tokens and tokens[0].upper() == "WITH":
            token += " WITH " + tokens[1]
            del tokens[:2]
        return token in licences

    return either()


def texts(found):
    """Every licence text that comes with a crate, with the C sources in it or with our assets, under the names of those it covers."""
    covered, without = defaultdict(set), []
    for package in found:
        folder, name = pathlib.Path(package["manifest_path"]).parent, f"{package['name']} {package['version']}"
        files = [f for f in [*folder.glob("*"), *folder.glob("*/*")]
                 if f.is_file() and re.match(r"(un)?licen[cs]e|copying|copyright|notice", f.name, re.I)
                 and f.suffix not in (".rs", ".py", ".html")]
        for file in files:
            covered[file.read_text(errors="replace").strip()].add(name)
        if not files:
            without.append(f"{name} ({package['license']})")
    for file in ROOT.glob("crates/*/*/assets/*LICENSE*"):
        covered[file.read_text().strip()].add(re.sub(r"-?LICENSE-?|\.txt", "", file.name))
    if without:
        yield "These come without a text of their licence:\n\n" + "\n".join(without)
    for text, names in sorted(covered.items(), key=lambda pair: sorted(pair[1])):
        yield ", ".join(sorted(names)) + "\n\n" + text


def main():
    target = sys.argv[sys.argv.index("--target") + 1] if "--target" in sys.argv else None
    found = packages(target)
    if "--texts" in sys.argv:
        print(("\n\n" + "=" * 100 + "\n\n").join(texts(found)))
        return 0
    if "--check" not in sys.argv:
        for package in found:
            print(package["name"], package["version"], package["license"], sep="\t")
        return 0
    rules = (ROOT / "deny.toml").read_text()
    licences = set(re.findall(r'"([^"]+)"', re.search(r"allow = \[(.*?)\]", rules, re.S)[1]))
    skipped = set(re.findall(r'\{ crate = "([^"]+)"', rules))
    faults = [f"{p['name']} {p['version']}: licence {p['license']}" for p in found
              if not p["license"] or not allowed(p["license"], licences)]
    versions = defaultdict(set)
    for package in found:
        versions[package["name"]].add(package["version"])
    faults += [f"{name}: several versions ({', '.join(sorted(v))})" for name, v in versions.items()
               if len(v) > 1 and name not in skipped]
    print("\n".join(faults) or f"{len(found)} foreign crates: licences and versions as deny.toml has them")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
