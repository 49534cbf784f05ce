#!/usr/bin/env python3
"""Lists the public items of mary-lab, so that a change of what others build on is seen in review.

    tools/public_api.py            prints them
    tools/public_api.py --check    compares with docs/api/mary-lab.txt (exit 1 where they differ)
    tools/public_api.py --write    writes that file

One line an item: its kind and path; for functions their arguments' names and types, for structs and enums their public
fields and variants. Reads what rustdoc writes as JSON, which stable compilers do when asked with RUSTC_BOOTSTRAP.
"""

import difflib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
KEPT = ROOT / "docs" / "api" / "mary-lab.txt"


def documented():
    """rustdoc's JSON of mary-lab. Only rustdoc sees RUSTC_BOOTSTRAP: cargo would build everything again for it."""
    with tempfile.TemporaryDirectory() as folder:
        wrapper = pathlib.Path(folder) / "rustdoc"
        wrapper.write_text('#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc "$@"\n')
        wrapper.chmod(0o755)
        command = ["cargo", "rustdoc", "--quiet", "--locked", "-p", "mary-lab", "--lib", "--",
                   "-Z", "unstable-options", "--output-format", "json"]
        subprocess.run(command, cwd=ROOT, check=True, env=os.environ | {"RUSTDOC": str(wrapper)})
    return json.loads((ROOT / "target" / "doc" / "mary_lab.json").read_text())


def type_name(given):
    if not isinstance(given, dict):
        return str(given)
    (kind, inner), = given.items()
    if kind == "resolved_path":
        name = inner.get("path", inner.get("name", "")).split("::")[-1]
        inside = ((inner.get("args") or {}).get("angle_bracketed") or {}).get("args", [])
        inside = [type_name(a["type"]) if "type" in a else a.get("lifetime", "_") for a in inside if isinstance(a, dict)]
        return f"{name}<{', '.join(inside)}>" if inside else name
    if kind in ("primitive", "generic"):
        return inner
    if kind == "borrowed_ref":
        return ("&mut " if inner.get("is_mutable", inner.get("mutable")) else "&") + type_name(inner["type"])
    if kind == "slice":
        return f"[{type_name(inner)}]"
    if kind == "array":
        return f"[{type_name(inner['type'])}; {inner['len']}]"
    if kind == "tuple":
        return "(" + ", ".join(map(type_name, inner)) + ")"
    if kind in ("impl_trait", "dyn_trait"):
        bounds = inner if kind == "impl_trait" else inner["traits"]
        names = [(b.get("trait_bound") or b).get("trait", {}) for b in bounds if isinstance(b, dict)]
        word = "impl " if kind == "impl_trait" else "dyn "
        return word + " + ".join(n.get("path", n.get("name", "?")).split("::")[-1] for n in names if n)
    return kind


def lines(data):
    index, found, seen = data["index"], set(), set()

    def item(number):
        return index.get(str(number))

    def function(path, thing):
        signature = thing["inner"]["function"]["sig"]
        arguments = ", ".join(f"{name}: {type_name(kind)}" if name != "self" else "self" for name, kind in signature["inputs"])
        output = f" -> {type_name(signature['output'])}" if signature["output"] else ""
        found.add(f"fn {path}({arguments}){output}")

    def methods(path, numbers):
        for number in numbers:
            block = item(number)
            if block and block["inner"]["impl"]["trait"] is None:
                for inner in map(item, block["inner"]["impl"]["items"]):
                    if inner and inner["visibility"] == "public" and "function" in inner["inner"]:
                        function(f"{path}::{inner['name']}", inner)

    def walk(number, path):
        thing = item(number)
        if thing is None or (number, path) in seen:
            return
        seen.add((number, path))
        (kind, inner), = thing["inner"].items()
        if kind == "module":
            for child in map(item, inner["items"]):
                if child and child["visibility"] == "public":
                    name = child["name"] or (child["inner"].get("use") or {}).get("name")
                    walk(child["id"], f"{path}::{name}")
        elif kind == "use":
            target = item(inner["id"]) if inner.get("id") is not None else None
            if target is None:
                found.add(f"use {path} = {inner['source']}")
            elif inner.get("is_glob"):
                for child in target["inner"].get("module", {}).get("items", []):
                    walk(child, f"{path.rsplit('::', 1)[0]}::{item(child)['name']}")
            else:
                walk(inner["id"], path)
        elif kind == "function":
            function(path, thing)
        elif kind in ("struct", "union"):
            shape = inner["kind"]
            fields = shape.get("plain", {}).get("fields", []) if isinstance(shape, dict) else []
            named = [f for f in map(item, fields) if f and f["visibility"] == "public"]
            text = ", ".join(f"{f['name']}: {type_name(f['inner']['struct_field'])}" for f in named)
            found.add(f"struct {path} {{ {text} }}" if text else f"struct {path}")
            methods(path, inner["impls"])
        elif kind == "enum":
            found.add(f"enum {path} {{ {', '.join(item(v)['name'] for v in inner['variants'])} }}")
            methods(path, inner["impls"])
        elif kind == "trait":
            found.add(f"trait {path} {{ {', '.join(item(i)['name'] or '' for i in inner['items'] if item(i))} }}")
        else:
            found.add(f"{kind} {path}")

    walk(data["root"], "mary_lab")
    return sorted(found)


def main():
    text = "\n".join(lines(documented())) + "\n"
    if "--write" in sys.argv:
        KEPT.parent.mkdir(parents=True, exist_ok=True)
        KEPT.write_text(text)
    elif "--check" in sys.argv:
        before = KEPT.read_text().splitlines()
        changes = list(difflib.unified_diff(before, text.splitlines(), "docs/api/mary-lab.txt", "mary-lab now", lineterm="", n=0))
        if changes:
            print("\n".join(changes))
            print("the library's public items changed: tools/public_api.py --write, and a line in CHANGELOG.md")
            return 1
        print(f"{len(before)} public items of mary-lab, as before")
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
