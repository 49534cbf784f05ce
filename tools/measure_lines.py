#!/usr/bin/env python3
"""Peak memory of Mary on long files: a text a line, and rows with ids.

    python tools/measure_lines.py MARY [--lines 1000000,10000000] [--scored 0] [--folder DIR]

For each number of lines: reading and planning (`score --dry-run`) of plain lines and of rows with ids, a run of
100 texts drawn from all of them, `tasks check` of a task file, and a file whose last line is wrong. With
--scored N a whole run of N texts on the built-in model is added. Printed are seconds, the largest resident memory
of the process and its exit code.
"""

import argparse
import os
import subprocess
import tempfile
import time
from pathlib import Path


def measured(words, folder):
    begin = time.perf_counter()
    out, err = folder / "out", folder / "err"
    with out.open("wb") as said, err.open("wb") as wrong:
        child = subprocess.Popen(words, stdout=said, stderr=wrong, cwd=folder)
        _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    first = err.read_text(errors="replace").strip().splitlines()
    return time.perf_counter() - begin, used.ru_maxrss / 1024, child.returncode, used.ru_utime + used.ru_stime, first


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("mary")
    arguments.add_argument("--lines", default="1000000,10000000")
    arguments.add_argument("--scored", type=int, default=0)
    arguments.add_argument("--folder")
    given = arguments.parse_args()
    program = str(Path(given.mary).resolve())
    with tempfile.TemporaryDirectory(dir=given.folder) as home:
        home = Path(home)
        places = ["--output-path", "runs", "--cache-dir", "cache"]

        def row(name, words):
            seconds, mb, code, processor, said = measured([program, *words, *places], home)
            print(f"{name}: {mb:.0f} MB, {seconds:.0f} s ({processor:.0f} s of processor), exit code {code}", flush=True)
            if code not in (0,) and said:
                print(f"    {said[0]}", flush=True)

        for n in map(int, given.lines.split(",")):
            with (home / "texts.txt").open("w") as file:
                file.writelines(f"Dog {i} sleeps.\n" for i in range(n))
            with (home / "rows.csv").open("w") as file:
                file.write("id,text\n")
                file.writelines(f"item-{i},Dog {i} sleeps.\n" for i in range(n))
            (home / "task.toml").write_text('[data]\npath = "rows.csv"\nid = "id"\n[request]\nkind = "score"\ngood = "{{ text }}"\n'
                                            'bad = "Not {{ text }}"\n[judge]\nkind = "choice"\n')
            row(f"{n:,} lines, planned", ["score", "texts.txt", "--dry-run"])
            row(f"{n:,} rows with ids, planned", ["score", "rows.csv", "--dry-run"])
            row(f"{n:,} rows, 100 drawn and scored", ["score", "rows.csv", "--limit", "100", "-q"])
            row(f"{n:,} rows, tasks check", ["tasks", "check", "task.toml"])
            with (home / "rows.csv").open("a") as file:
                file.write("item-7,Again.\n")
            row(f"{n:,} rows and the id of row 8 once more", ["score", "rows.csv"])
        if given.scored:
            with (home / "texts.txt").open("w") as file:
                file.writelines(f"Dog {i} sleeps.\n" for i in range(given.scored))
            row(f"{given.scored:,} lines scored", ["score", "texts.txt", "--out", "texts.csv", "-q"])
            row(f"{given.scored:,} lines, from the folder", ["score", "texts.txt", "--out", "texts.csv", "-q"])


if __name__ == "__main__":
    main()
