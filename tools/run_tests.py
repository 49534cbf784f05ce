#!/usr/bin/env python3
"""Builds the tests with cargo and runs several test programs at once.

    tools/run_tests.py [--jobs N] [--log FILE] [--times] [--only PACKAGE,…] -- CARGO-TEST-OPTIONS

`cargo test` runs one program after another; half of ours wait for servers, browsers and schedulers, so on two cores
that takes twice as long. The programs that took longest last time begin first (target/test-times.json). What a program
prints is shown when it has ended. --only runs the programs of these packages, built as all are. --times (RUSTC_BOOTSTRAP=1) tells what each test took. Documentation tests run last,
by cargo itself. The exit code is that of the first program that failed.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parent.parent
TIMES = ROOT / "target" / "test-times.json"


def programs(options):
    """(name, path, folder of its package) of every test program that cargo built."""
    command = ["cargo", "test", "--no-run", "--message-format=json-render-diagnostics", *options]
    built = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if built.returncode:
        sys.exit(built.returncode)
    found = []
    for line in built.stdout.splitlines():
        message = json.loads(line) if line.startswith("{") else {}
        if message.get("reason") == "compiler-artifact" and message["profile"]["test"] and message.get("executable"):
            folder = pathlib.Path(message["manifest_path"]).parent
            found.append((f"{folder.name}: {message['target']['name']}", message["executable"], folder))
    return found


def environment(folder):
    """What cargo tells a test program."""
    libraries = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True).stdout.strip()
    known = os.environ.get("LD_LIBRARY_PATH")
    paths = [str(ROOT / "target/debug/deps"), str(ROOT / "target/debug"), f"{libraries}/lib", *([known] if known else [])]
    return os.environ | {
        "CARGO": os.environ.get("CARGO", "cargo"),
        "CARGO_MANIFEST_DIR": str(folder),
        "CARGO_PKG_NAME": folder.name,
        "LD_LIBRARY_PATH": ":".join(paths),
    }


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--jobs", type=int, default=max(2, (os.cpu_count() or 2) * 3 // 2))
    arguments.add_argument("--log", type=pathlib.Path, default=ROOT / "target" / "tests.log")
    arguments.add_argument("--times", action="store_true")
    arguments.add_argument("--only", type=lambda text: text.split(","))
    arguments.add_argument("options", nargs="*")
    given = arguments.parse_args()
    before = json.loads(TIMES.read_text()) if TIMES.exists() else {}
    # What was never timed may be long: it begins first, the largest program before the others.
    todo = sorted(programs(given.options), key=lambda p: (-before.get(p[0], 1e9), -os.path.getsize(p[1])))
    if given.only:
        todo = [program for program in todo if program[2].name in given.only]
    took, failed, lock = {}, [], threading.Lock()
    log = given.log.open("w")

    def say(text):
        with lock:
            sys.stdout.write(text)
            sys.stdout.flush()
            log.write(text)
            log.flush()

    def run(program):
        name, path, folder = program
        command, more = [path], {}
        if given.times:
            command += ["-Zunstable-options", "--report-time"]
            more = {"RUSTC_BOOTSTRAP": "1"}
        start = time.monotonic()
        done = subprocess.run(command, cwd=folder, env=environment(folder) | more, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace")
        took[name] = round(time.monotonic() - start, 1)
        if done.returncode:
            failed.append(name)
        say(f"\n     Running {name} ({took[name]} s)\n{done.stdout}")
        return done.returncode

    with ThreadPoolExecutor(given.jobs) as pool:
        codes = list(pool.map(run, todo))
    if not given.only:
        TIMES.write_text(json.dumps(before | took, indent=1))
    if not given.only and "--lib" not in given.options:
        doc = subprocess.Popen(["cargo", "test", "--doc", "--no-fail-fast", *given.options], cwd=ROOT,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        for line in doc.stdout:
            say(line)
        codes.append(doc.wait())
    for name in failed:
        say(f"failed: {name}\n")
    return next((code for code in codes if code), 0)


if __name__ == "__main__":
    sys.exit(main())
