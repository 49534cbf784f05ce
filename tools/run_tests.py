#!/usr/bin/env python3
"""Builds the tests with cargo and runs several test programs at once.

    tools/run_tests.py [--jobs N] [--log FILE] [--times] [--only PACKAGE,…] -- CARGO-TEST-OPTIONS

`cargo test` runs one program after another; half of ours wait for servers, browsers and schedulers, so on two cores
that takes twice as long. Integration tests are run topic by topic (the first part of a test's name), so that no
program is left over while the others are done. What took longest last time begins first (target/test-times.json).
What a program prints is shown when it has ended, with the seconds it took and those of processor time that it and what
it waited for have used (a browser that was killed is not among these). --only runs the programs of these packages,
built as all are. --times (RUSTC_BOOTSTRAP=1) tells what each test took. Documentation tests are run by cargo itself.
The exit code is that of the first program that failed.
"""

import argparse
import json
import os
import pathlib
import re
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


def topics(program):
    """(name, command, folder) of the parts of a program that are run by themselves."""
    name, path, folder = program
    if not name.endswith(": integration"):
        return [(name, [path], folder)]
    listed = subprocess.run([path, "--list", "--format", "terse"], env=environment(folder), capture_output=True, text=True)
    parts = {}
    for test in re.findall(r"^(.*): test$", listed.stdout, re.MULTILINE):
        parts.setdefault(test.split("::")[0], []).append(test)
    # What cannot even list its tests fails as a whole, and is seen.
    if listed.returncode or not parts:
        return [(name, [path], folder)]
    # One test at a time: others run beside it.
    return [(f"{name} {topic}", [path, "--test-threads", "1", "--exact", *tests], folder) for topic, tests in parts.items()]


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--jobs", type=int, default=max(3, (os.cpu_count() or 2) * 2))
    arguments.add_argument("--log", type=pathlib.Path, default=ROOT / "target" / "tests.log")
    arguments.add_argument("--times", action="store_true")
    arguments.add_argument("--only", type=lambda text: text.split(","))
    arguments.add_argument("options", nargs="*")
    given = arguments.parse_args()
    before = json.loads(TIMES.read_text()) if TIMES.exists() else {}
    built = [program for program in programs(given.options) if not given.only or program[2].name in given.only]
    todo = [part for program in built for part in topics(program)]
    if not given.only and "--lib" not in given.options:
        todo.append(("documentation", ["cargo", "test", "--doc", "--no-fail-fast", *given.options], ROOT))
    # What was never timed may be long: it begins first, the largest program before the others.
    size = lambda part: os.path.getsize(part[1][0]) if part[2] != ROOT else 0
    todo.sort(key=lambda part: (-before.get(part[0], 1e9), -size(part)))
    took, used, failed, lock = {}, [], [], threading.Lock()
    log = given.log.open("w")

    def say(text):
        with lock:
            sys.stdout.write(text)
            sys.stdout.flush()
            log.write(text)
            log.flush()

    def run(part):
        name, command, folder = part
        more = {}
        if folder != ROOT:
            more = environment(folder)
        if given.times and folder != ROOT:
            command = [*command, "-Zunstable-options", "--report-time"]
            more["RUSTC_BOOTSTRAP"] = "1"
        start = time.monotonic()
        done = subprocess.Popen(command, cwd=folder, env=os.environ | more, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, errors="replace")
        printed = done.stdout.read()
        _, status, usage = os.wait4(done.pid, 0)
        done.returncode = os.waitstatus_to_exitcode(status)
        took[name] = round(time.monotonic() - start, 1)
        used.append(usage.ru_utime + usage.ru_stime)
        if done.returncode:
            failed.append(name)
        say(f"\n     Running {name} ({took[name]} s, {used[-1]:.1f} s of processor time)\n{printed}")
        return done.returncode

    start = time.monotonic()
    with ThreadPoolExecutor(given.jobs) as pool:
        codes = list(pool.map(run, todo))
    say(f"\n{len(todo)} programs and topics in {time.monotonic() - start:.0f} s, {sum(used):.0f} s of processor time\n")
    if not given.only:
        TIMES.write_text(json.dumps(before | took, indent=1))
    for name in failed:
        say(f"failed: {name}\n")
    return next((code for code in codes if code), 0)


if __name__ == "__main__":
    sys.exit(main())
