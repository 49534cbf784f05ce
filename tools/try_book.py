#!/usr/bin/env python3
"""Follows the tutorials of the book literally: saves the files they show, runs their commands in a fresh folder, checks exit codes.

    python3 tools/try_book.py target/debug/mary                     # all tutorials
    python3 tools/try_book.py target/debug/mary study class         # some of them
    python3 tools/try_book.py target/debug/mary --keep DIR          # in DIR, which is kept

A block of code is a file where the words before it end in "Save this as `NAME`:" or "this as `NAME`:", and commands where its
first line begins with one. RUN and names ending in … stand for the newest folder that fits. Commands that need a network, a
browser or a person are passed over (SKIPPED). MARY_TEST_MODELS names the folder with smollm2-135m.gguf; without it, commands
on that model are passed over. `mary tasks import` needs a Python with lm_eval: MARY_PEER_PYTHON, else python3; without it, what
is imported is passed over, and noted in the list that MARY_SKIPS names.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"
SKIPPED = ("mary models pull", "mary study serve", "mary view", "mary import", "hf/", "openai/", "mary study withdraw", "mary study read",
           # Of a study that waits for people.
           "mary study close rhyme", "mary study results rhyme", "mary report people-rhyme", "mary study export rhyme",
           "mary study close grammar", "mary study results grammar")
MODEL = "gguf/smollm2-135m-instruct"
IMPORTED = ("mary tasks import", "-t tasks/", "-lm-eval-")


def blocks(text):
    """Code blocks with the words before them."""
    held, words, ended, fenced = [], "", True, False
    for line in text.splitlines() + ["."]:
        if line.startswith("```"):
            fenced = not fenced
            if not fenced:
                yield words, "\n".join(held)
                held, ended = [], True
        elif fenced or line.startswith("    "):
            held.append(line if fenced else line[4:])
        elif not line.strip():
            held += [""] if held else []
            ended = True
        else:
            if held:
                yield words, "\n".join(held).strip("\n")
                held = []
            words = line if ended else f"{words}\n{line}"
            ended = False


def newest(folder, pattern):
    found = sorted(folder.glob(pattern), key=lambda p: p.stat().st_mtime)
    if not found:
        sys.exit(f"nothing fits {pattern} in {folder}")
    return found[-1]


def filled(line, folder):
    line = re.sub(r"  +#.*", "", line)
    line = re.sub(r"(\S+?)…", lambda m: newest(folder / "runs", m[1] + "*").name if m[1][0] != "/" else m[0], line)
    if re.search(r"\bRUN\b", line):
        of_models = [p for p in (folder / "runs").iterdir() if (p / "summary.json").exists() and not p.name.startswith("people")]
        line = re.sub(r"\bRUN\b", str(max(of_models, key=lambda p: p.stat().st_mtime)), line)
    return line


def harness():
    """The Python that imports tasks of lm-evaluation-harness, where there is one."""
    python = os.environ.get("MARY_PEER_PYTHON") or shutil.which("python3")
    if python and subprocess.run([python, "-c", "import lm_eval.tasks"], capture_output=True).returncode == 0:
        return python
    print("  skipped: no Python with lm_eval, so that nothing is imported")
    if skips := os.environ.get("MARY_SKIPS"):
        with open(skips, "a") as out:
            out.write("peers\ttools/try_book.py\tno Python has the package lm_eval\n")
    return None


def follow(page, program, model, place):
    folder, passed, missed = place, 0, 0
    home = {**os.environ, "MARY_CACHE_DIR": str(place / "cache"), "PATH": f"{place / 'bin'}:{os.environ['PATH']}"}
    (place / "bin").mkdir()
    (place / "bin" / "mary").symlink_to(program)
    text = page.read_text()
    python = harness() if IMPORTED[0] in text else None
    for words, code in blocks(text):
        for example in re.findall(r"\]\(\.\./examples/([\w.-]+)\)", words):
            shutil.copy(DOCS / "examples" / example, folder)
        if name := re.search(r"this as `([\w.]+)`:$", words.strip()):
            (folder / name[1]).write_text(code + "\n")
            continue
        if not re.match(r"(mary|mkdir|cp) ", code):
            continue
        for line in code.replace("\\\n", " ").splitlines():
            # Beside the built-in model the other one can be missed.
            line = line if model else line.replace(f"builtin/nano,{MODEL}", "builtin/nano")
            if not re.match(r"(mary|mkdir|cp) ", line) or any(part in line for part in SKIPPED) or (not model and (MODEL in line or "-and-1-more-" in line)):
                continue
            # Without any run there is nothing to export.
            runless = line.startswith("mary export") and not (folder / "runs").exists()
            if not python and (runless or any(part in line for part in IMPORTED)):
                missed += 1
                continue
            if found := re.match(r"mkdir (\S+) && cd \S+$", line):
                folder = place / found[1]
                folder.mkdir()
                continue
            line = filled(line.replace(MODEL, model or MODEL), folder)
            begun = time.monotonic()
            own = {**home, "MARY_PYTHON": python, "HF_HOME": str(place / "hf")} if line.startswith(IMPORTED[0]) else home
            done = subprocess.run(["bash", "-ec", line], cwd=folder, env=own, capture_output=True, text=True)
            # The faulty checkpoint of one tutorial ends a sweep with 1.
            wanted = 1 if (folder / "grown" / "step100").exists() and "sweep ./grown" in line else 0
            print(f"  {time.monotonic() - begun:6.1f} s  {line}", flush=True)
            if done.returncode != wanted:
                sys.exit(f"{page.name}: `{line}` ended with {done.returncode}, not {wanted}\n{done.stdout[-1500:]}{done.stderr[-1500:]}")
            passed += 1
    return passed, missed


def main():
    program = Path(sys.argv[1]).resolve()
    words = sys.argv[2:]
    keep = words.pop(words.index("--keep") + 1) if "--keep" in words else None
    wanted = [w for w in words if not w.startswith("--")]
    models = os.environ.get("MARY_TEST_MODELS")
    model = f"gguf/{Path(models).resolve()}/smollm2-135m.gguf" if models and (Path(models) / "smollm2-135m.gguf").exists() else None
    for page in sorted((DOCS / "tutorials").glob("*.md")):
        if wanted and page.stem not in wanted:
            continue
        print(page.stem)
        with tempfile.TemporaryDirectory() as fresh:
            place = Path(keep or fresh) / page.stem
            place.mkdir(parents=True)
            passed, missed = follow(page, program, model, place)
        print(f"  {passed} commands" + (f", {missed} not without lm_eval" if missed else ""))
        if passed + missed < 3:
            sys.exit(f"{page.name}: hardly any command was found on it")


if __name__ == "__main__":
    main()
