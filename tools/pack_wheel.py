#!/usr/bin/env python3
"""Packs a wheel around an extension library that is built already.

    tools/pack_wheel.py LIBRARY FOLDER                            for this machine, as it is
    tools/pack_wheel.py LIBRARY FOLDER manylinux_2_28_x86_64 LICENCES.txt     for a release: compressed, with this file

`maturin build` in crates/interfaces/mary-python makes the same wheel for others. Tests and tools/release.sh have the
library already, and maturin would compile everything a second time, with other features or another linker.
Prints the wheel's path.
"""

import base64
import hashlib
import pathlib
import re
import sys
import sysconfig
import zipfile

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    from pip._vendor import tomli as tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "crates" / "interfaces" / "mary-python"


def metadata(project, version, licences):
    lines = ["Metadata-Version: 2.4", f"Name: {project['name']}", f"Version: {version}",
             f"Summary: {project['description']}", f"Requires-Python: {project['requires-python']}",
             f"License-Expression: {project['license']}"]
    lines += [f"License-File: {name}" for name in licences]
    lines += [f"Classifier: {name}" for name in project["classifiers"]]
    for extra, packages in project["optional-dependencies"].items():
        lines += [f"Provides-Extra: {extra}"] + [f"Requires-Dist: {p}; extra == '{extra}'" for p in packages]
    readme = (PACKAGE / project["readme"]).read_text()
    return "\n".join([*lines, "Description-Content-Type: text/markdown", "", readme])


def main(library, folder, platform=None, *texts):
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    licences = {p.name: p.read_bytes() for p in [ROOT / "LICENSE-APACHE", ROOT / "LICENSE-MIT", *map(pathlib.Path, texts)]}
    name = f"{project['name'].replace('-', '_')}-{version}"
    tag = f"cp310-abi3-{platform or re.sub(r'[-.]', '_', sysconfig.get_platform())}"
    files = {
        str(path.relative_to(PACKAGE / "python")): path.read_bytes()
        for path in sorted((PACKAGE / "python").rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts and path.suffix in (".py", ".pyi", ".typed")
    }
    files["mary/_mary.abi3.so"] = pathlib.Path(library).read_bytes()
    info = f"{name}.dist-info"
    files[f"{info}/METADATA"] = metadata(project, version, licences).encode()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: pack_wheel\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    scripts = "".join(f"{command} = {place}\n" for command, place in project["scripts"].items())
    files[f"{info}/entry_points.txt"] = f"[console_scripts]\n{scripts}".encode()
    files |= {f"{info}/licenses/{file}": text for file, text in licences.items()}
    record = []
    for path, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record.append(f"{path},sha256={digest},{len(content)}")
    record.append(f"{info}/RECORD,,")
    files[f"{info}/RECORD"] = "\n".join([*record, ""]).encode()
    wheel = pathlib.Path(folder) / f"{name}-{tag}.whl"
    # For a test it is stored as it is: packing a hundred megabytes takes longer than everything else.
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED if platform else zipfile.ZIP_STORED) as out:
        for path, content in files.items():
            out.writestr(zipfile.ZipInfo(path), content, out.compression)
    print(wheel)


if __name__ == "__main__":
    main(*sys.argv[1:])
