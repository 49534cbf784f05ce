#!/usr/bin/env python3
"""Packs a wheel around an extension library that is built already.

    tools/pack_wheel.py LIBRARY FOLDER

`maturin build` in crates/interfaces/mary-python is the way to a wheel for others; this one exists for the tests, which
have the library from `cargo test` and would otherwise compile everything a second time with other features.
Prints the wheel's path.
"""

import base64
import hashlib
import pathlib
import re
import sys
import sysconfig
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "crates" / "interfaces" / "mary-python"


def main(library: str, folder: str) -> None:
    version = re.search(r'\[workspace\.package\]\s+version = "([^"]+)"', (ROOT / "Cargo.toml").read_text())
    assert version, "Cargo.toml has no version"
    name = f"mary_lab-{version[1]}"
    platform = re.sub(r"[-.]", "_", sysconfig.get_platform())
    tag = f"cp310-abi3-{platform}"
    script = re.search(r'\[project\.scripts\]\s+mary = "([^"]+)"', (PACKAGE / "pyproject.toml").read_text())
    assert script, "pyproject.toml has no script"
    files = {
        str(path.relative_to(PACKAGE / "python")): path.read_bytes()
        for path in sorted((PACKAGE / "python").rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts and path.suffix in (".py", ".pyi", ".typed")
    }
    files["mary/py.typed"] = b""
    files["mary/_mary.abi3.so"] = pathlib.Path(library).read_bytes()
    info = f"{name}.dist-info"
    files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: mary-lab\nVersion: {version[1]}\nRequires-Python: >=3.10\n".encode()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: pack_wheel\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    files[f"{info}/entry_points.txt"] = f"[console_scripts]\nmary = {script[1]}\n".encode()
    record = []
    for path, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record.append(f"{path},sha256={digest},{len(content)}")
    record.append(f"{info}/RECORD,,")
    files[f"{info}/RECORD"] = "\n".join([*record, ""]).encode()
    wheel = pathlib.Path(folder) / f"{name}-{tag}.whl"
    # Stored as it is: packing a hundred megabytes takes longer than everything else.
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_STORED) as out:
        for path, content in files.items():
            out.writestr(path, content)
    print(wheel)


if __name__ == "__main__":
    main(*sys.argv[1:3])
