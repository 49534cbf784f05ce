#!/usr/bin/env python3
"""Lists the public items of mary-lab, so that a change of what others build on is seen in review.

    tools/public_api.py            prints them
    tools/public_api.py --check    compares with docs/api/mary-lab.txt (exit 1 where they differ)
    tools/public_api.py --write    writes that file

One line an item, by path: functions with their arguments, structs with public fields, enums with variants, what they
implement. What mary-lab passes on from another crate is one line with its name there.

Makes the documentation of the whole workspace (`cargo doc --workspace --no-deps`), so it serves as the documentation
step of ./test too and compiles nothing that this would not. rustdoc is started a second time for mary-lab, to write JSON,
which a stable compiler does when asked with RUSTC_BOOTSTRAP. Only rustdoc sees that variable: cargo would build everything
again for it.
"""

import difflib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
KEPT = ROOT / "docs" / "api" / "mary-lab.txt"
DOC = ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "doc"
TWICE = """#!/bin/sh
set -e
rustdoc "$@"
case " $* " in
*" --test "*) ;;
*" --crate-name mary_lab "*) RUSTC_BOOTSTRAP=1 rustdoc "$@" -Z unstable-options --output-format json ;;
esac
"""


def documented():
    """rustdoc's JSON of mary-lab."""
    page, found = DOC / "mary_lab" / "index.html", DOC / "mary_lab.json"
    if page.exists() and not (found.exists() and found.stat().st_mtime >= page.stat().st_mtime):
        page.unlink()  # made by somebody else's `cargo doc`; without it cargo makes it again, and ours beside it
    with tempfile.TemporaryDirectory() as folder:
        wrapper = pathlib.Path(folder) / "rustdoc"
        wrapper.write_text(TWICE)
        wrapper.chmod(0o755)
        command = ["cargo", "doc", "--workspace", "--no-deps", "--locked", "--quiet"]
        done = subprocess.run(command, cwd=ROOT, env={"RUSTDOCFLAGS": "-D warnings"} | os.environ | {"RUSTDOC": str(wrapper)})
    if done.returncode:
        sys.exit(done.returncode)
    return json.loads(found.read_text())


def arguments(given):
    """What stands in angle brackets behind a path."""
    inside = (given or {}).get("angle_bracketed") or {}
    shown = [type_name(a["type"]) if "type" in a else a.get("lifetime", "_") for a in inside.get("args", []) if isinstance(a, dict)]
    for bound in inside.get("constraints", []):
        is_what = (bound["binding"].get("equality") or {}).get("type")
        shown.append(f"{bound['name']} = {type_name(is_what)}" if is_what else bound["name"])
    if "parenthesized" in (given or {}):
        asked = given["parenthesized"]
        output = f" -> {type_name(asked['output'])}" if asked["output"] else ""
        return f"({', '.join(map(type_name, asked['inputs']))}){output}"
    return f"<{', '.join(shown)}>" if shown else ""


def path_name(path):
    return path["path"].split("::")[-1] + arguments(path.get("args"))


def bounds(given):
    """`Read + Send` of a list of bounds."""
    named = [path_name(b["trait_bound"]["trait"]) if "trait_bound" in b else b.get("outlives", "…") for b in given]
    return " + ".join(named)


def type_name(given):
    if given == "infer":
        return "_"
    (kind, inner), = given.items()
    if kind == "resolved_path":
        return path_name(inner)
    if kind in ("primitive", "generic"):
        return inner
    if kind == "borrowed_ref":
        lifetime = inner["lifetime"] + " " if inner.get("lifetime") else ""
        return "&" + lifetime + ("mut " if inner["is_mutable"] else "") + type_name(inner["type"])
    if kind == "raw_pointer":
        return ("*mut " if inner["is_mutable"] else "*const ") + type_name(inner["type"])
    if kind == "slice":
        return f"[{type_name(inner)}]"
    if kind == "array":
        return f"[{type_name(inner['type'])}; {inner['len']}]"
    if kind == "tuple":
        return "(" + ", ".join(map(type_name, inner)) + ")"
    if kind == "impl_trait":
        return "impl " + bounds(inner)
    if kind == "dyn_trait":
        named = [path_name(t["trait"]) for t in inner["traits"]] + ([inner["lifetime"]] if inner.get("lifetime") else [])
        return "dyn " + " + ".join(named)
    if kind == "qualified_path":
        of = f" as {path_name(inner['trait'])}" if inner.get("trait") else ""
        return f"<{type_name(inner['self_type'])}{of}>::{inner['name']}"
    if kind == "function_pointer":
        return "fn" + signature(inner["sig"])
    raise ValueError(f"tools/public_api.py does not know the type {kind}")


def signature(sig):
    shown = [f"{name}: {type_name(kind)}" for name, kind in sig["inputs"]]
    shown = [re.sub(r"^self: (&?('\w+ )?(mut )?)Self$", r"\1self", one) for one in shown]
    return f"({', '.join(shown)})" + (f" -> {type_name(sig['output'])}" if sig["output"] else "")


def generics(given):
    """`<T: Read>` with the bounds that stand behind `where` too."""
    shown = []
    for one in given["params"]:
        kind = one["kind"]
        if "type" in kind and not kind["type"].get("is_synthetic"):
            of = bounds(kind["type"]["bounds"])
            shown.append(one["name"] + (f": {of}" if of else ""))
        elif "const" in kind:
            shown.append(f"const {one['name']}: {type_name(kind['const']['type'])}")
        elif "lifetime" in kind:
            shown.append(one["name"])
    behind = [f"{type_name(w['bound_predicate']['type'])}: {bounds(w['bound_predicate']['bounds'])}"
              for w in given["where_predicates"] if "bound_predicate" in w]
    return (f"<{', '.join(shown)}>" if shown else "") + (f" where {', '.join(behind)}" if behind else "")


class Listing:
    def __init__(self, data):
        self.index, self.found, self.seen = data["index"], set(), set()
        self.walk(data["root"], "mary_lab")

    def item(self, number):
        return self.index.get(str(number))

    def members(self, numbers):
        return [thing for thing in map(self.item, numbers) if thing]

    def function(self, path, thing):
        inner = thing["inner"]["function"]
        word = "async fn" if inner["header"]["is_async"] else "fn"
        self.found.add(f"{word} {path}{signature(inner['sig'])}{generics(inner['generics'])}")

    def fields(self, shape):
        """Public fields; dots for private ones, without which nobody else can build the thing."""
        shown = [f"{f['name']}: {type_name(f['inner']['struct_field'])}" for f in self.members(shape["fields"])]
        return "{ " + ", ".join(shown + (["…"] if shape["has_stripped_fields"] else [])) + " }"

    def variant(self, thing):
        kind = thing["inner"]["variant"]["kind"]
        if kind == "plain":
            return thing["name"]
        if "tuple" in kind:
            held = [type_name(f["inner"]["struct_field"]) for f in self.members(n for n in kind["tuple"] if n is not None)]
            return f"{thing['name']}({', '.join(held)})"
        return f"{thing['name']} {self.fields(kind['struct'])}"

    def impls(self, path, numbers):
        """Methods of a type's own, and the traits that it implements by itself."""
        traits = set()
        for block in self.members(numbers):
            inner = block["inner"]["impl"]
            if inner["trait"] is None:
                for thing in self.members(inner["items"]):
                    if thing["visibility"] == "public":
                        self.walk(thing["id"], f"{path}::{thing['name']}")
            elif not inner["is_synthetic"] and inner["blanket_impl"] is None:
                traits.add(path_name(inner["trait"]))
        if traits := traits - {"StructuralPartialEq"}:
            self.found.add(f"impl {path}: {', '.join(sorted(traits))}")

    def walk(self, number, path):
        thing = self.item(number)
        if thing is None or (number, path) in self.seen:
            return
        self.seen.add((number, path))
        (kind, inner), = thing["inner"].items()
        if kind == "module":
            for child in self.members(inner["items"]):
                if child["visibility"] == "public":
                    self.walk(child["id"], f"{path}::{child['name'] or child['inner']['use']['name']}")
        elif kind == "use":
            target = self.item(inner["id"]) if inner["id"] is not None else None
            if target is None:
                self.found.add(f"use {path} = {inner['source']}")
            elif inner["is_glob"]:
                listed = target["inner"].get("module", {}).get("items", [])
                for child in self.members(listed):
                    self.walk(child["id"], f"{path.rsplit('::', 1)[0]}::{child['name']}")
            else:
                self.walk(inner["id"], path)
        elif kind == "function":
            self.function(path, thing)
        elif kind == "struct":
            shape = inner["kind"]
            text = ""
            if "plain" in shape and shape != "unit":
                text = " " + self.fields(shape["plain"])
            elif "tuple" in shape:
                held = [self.item(n) if n is not None else None for n in shape["tuple"]]
                text = "(" + ", ".join(type_name(f["inner"]["struct_field"]) if f else "_" for f in held) + ")"
            self.found.add(f"struct {path}{generics(inner['generics'])}{text}")
            self.impls(path, inner["impls"])
        elif kind == "enum":
            shown = ", ".join(map(self.variant, self.members(inner["variants"])))
            self.found.add(f"enum {path}{generics(inner['generics'])} {{ {shown} }}")
            self.impls(path, inner["impls"])
        elif kind == "trait":
            of = bounds(inner["bounds"])
            self.found.add(f"trait {path}{generics(inner['generics'])}{': ' + of if of else ''}")
            for child in self.members(inner["items"]):
                self.walk(child["id"], f"{path}::{child['name']}")
        elif kind in ("constant", "assoc_const"):
            self.found.add(f"const {path}: {type_name(inner['type'])}")
        elif kind == "type_alias":
            self.found.add(f"type {path}{generics(inner['generics'])} = {type_name(inner['type'])}")
        else:
            self.found.add(f"{kind} {path}")


def main():
    found = Listing(documented()).found
    text = "\n".join(sorted(found, key=lambda line: (re.search(r"mary_lab[\w:]*\w", line)[0], line))) + "\n"
    if "--write" in sys.argv:
        KEPT.parent.mkdir(parents=True, exist_ok=True)
        KEPT.write_text(text)
    elif "--check" in sys.argv:
        before = KEPT.read_text().splitlines()
        changes = list(difflib.unified_diff(before, text.splitlines(), "docs/api/mary-lab.txt", "mary-lab now", lineterm="", n=0))
        if changes:
            print("\n".join(changes))
            print("The public items of mary-lab changed. If that is meant: tools/public_api.py --write, and a line in CHANGELOG.md.")
            return 1
        print(f"{len(before)} public items of mary-lab, as before")
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
