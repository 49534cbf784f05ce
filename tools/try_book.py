#!/usr/bin/env python3
"""Follows the tutorials and how-to pages literally: saves the files they show, runs their commands in a fresh folder, and checks exit
codes, the files that commands were told to write, and the heads of the tables that a page prints below a command.

    python3 tools/try_book.py target/debug/mary                     # all pages
    python3 tools/try_book.py target/debug/mary study class         # some of them
    python3 tools/try_book.py target/debug/mary --keep DIR          # in DIR, which is kept

A block of code is a file where the words before it end in "Save this as `NAME`:" or "this as `NAME`:", and commands where its
first line begins with one. RUN (the second RUN: the one before) and names ending in … stand for the newest folder that fits. Commands that need a network, a
browser or a person are passed over (SKIPPED). MARY_TEST_MODELS names the folder with smollm2-135m.gguf; without it, commands
on that model are passed over. Comments of a page, which readers do not see, say what else to know about its commands:

    <!-- try: not PART: REASON -->    commands of the next block that hold PART (`all`: all of them) cannot run here
    <!-- try: A = B -->               from here on, B is run in place of A: what is smaller, or can be had
    <!-- try: first COMMAND -->       what the next block needs

How-to pages find the files that they name without showing them (`book_files.py`). `mary tasks import` needs a Python with lm_eval: MARY_PEER_PYTHON, else python3; without it, what
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

from book_files import FILES

DOCS = Path(__file__).resolve().parent.parent / "docs"
SKIPPED = ("mary models pull", "mary study serve", "mary view", "hf/", "openai/", "mary study withdraw", "mary study read",
           # Of a study that waits for people.
           "mary study close rhyme", "mary study results rhyme", "mary report people-rhyme", "mary study export rhyme",
           "mary study close grammar", "mary study results grammar", "mary report people-grammar")
MODEL = "gguf/smollm2-135m-instruct"
IMPORTED = ("mary tasks import", "-t tasks/", "-lm-eval-")
COMMAND = r"(mary|mkdir|cp|echo) "


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
        of_models.sort(key=lambda p: p.stat().st_mtime)
        line = re.sub(r"\bRUN\b", lambda _: str(of_models.pop() if len(of_models) > 1 else of_models[0]), line)
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


def notes(words):
    """What the comments before a block say: commands to run first, words to swap, and parts of commands that cannot run."""
    first, swaps, barred = [], [], []
    for note in re.findall(r"<!-- try: (.*?) -->", words, re.S):
        if note.startswith("first "):
            first.append(note[6:])
        elif found := re.match(r"not (.+?): \S", note):
            barred.append("" if found[1] == "all" else found[1])
        else:
            swaps.append(tuple(note.split(" = ")))
    return first, swaps, barred


def unlike(code, said):
    """Heads of columns of a table on the page that are not in what a command printed or wrote."""
    for line in code.splitlines():
        heads = re.split(r"\s{2,}" if " " in line else ",", line.strip())
        if len(heads) > 2:
            return [head for head in heads if head not in said]
    return []


class Follower:
    def __init__(self, page, program, model, place):
        self.page, self.folder, self.place = page, place, place
        self.tutorial = page.parent.name == "tutorials"
        self.text = page.read_text()
        self.model = model or (None if self.tutorial else "builtin/nano")
        self.python = harness() if self.tutorial and IMPORTED[0] in self.text else None
        self.home = {**os.environ, "MARY_CACHE_DIR": str(place / "cache"), "PATH": f"{place / 'bin'}:{os.environ['PATH']}"}
        self.swaps, self.passed, self.missed, self.marked = [], 0, 0, 0
        (place / "bin").mkdir()
        (place / "bin" / "mary").symlink_to(program)
        for name, text in {} if self.tutorial else FILES.items():
            (place / name).write_text(text)

    def follow(self):
        said = ""
        for words, code in blocks(self.text):
            for example in re.findall(r"\]\((?:\.\./)?examples/([\w.-]+)\)", words):
                shutil.copy(DOCS / "examples" / example, self.folder)
            if name := re.search(r"this as `([\w.]+)`:$", words.strip()):
                (self.folder / name[1]).write_text(code + "\n")
                continue
            first, swaps, barred = notes(words)
            self.swaps += swaps
            lines = [line for line in code.replace("\\\n", " ").splitlines() if re.match(COMMAND, line)]
            if not lines or (self.tutorial and not re.match(COMMAND, code)):
                if said and (missing := unlike(code, said)):
                    sys.exit(f"{self.page.name}: the page shows {missing}, which the command does not print\n{said[-3000:]}")
                continue
            said = "".join(self.command(line, []) for line in first)
            said += "".join(self.command(line, barred) for line in lines)

    def command(self, line, barred):
        """Runs a command if it can run here; what it printed and wrote."""
        # Beside the built-in model the other one can be missed.
        line = line if self.model else line.replace(f"builtin/nano,{MODEL}", "builtin/nano")
        if any(part in line for part in (SKIPPED if self.tutorial else barred)) or (not self.model and (MODEL in line or "-and-1-more-" in line)):
            self.marked += 1
            return ""
        # Without any run there is nothing to export.
        runless = re.match("mary (export|import)", line) and not (self.folder / "runs").exists()
        if self.tutorial and not self.python and (runless or any(part in line for part in IMPORTED)):
            self.missed += 1
            return ""
        if found := re.match(r"mkdir (\S+) && cd \S+$", line):
            self.folder = self.place / found[1]
            self.folder.mkdir()
            return ""
        for before, after in self.swaps + [(MODEL, self.model or MODEL)]:
            line = line.replace(before, after)
        line = filled(line, self.folder)
        begun = time.monotonic()
        own = {**self.home, "MARY_PYTHON": self.python, "HF_HOME": str(self.place / "hf")} if line.startswith(IMPORTED[0]) else self.home
        done = subprocess.run(["bash", "-ec", line], cwd=self.folder, env=own, capture_output=True, text=True)
        # The faulty checkpoint of one tutorial ends a sweep with 1.
        wanted = 1 if (self.folder / "grown" / "step100").exists() and "sweep ./grown" in line else 0
        print(f"  {time.monotonic() - begun:6.1f} s  {line}", flush=True)
        said = done.stdout + done.stderr
        if done.returncode != wanted:
            sys.exit(f"{self.page.name}: `{line}` ended with {done.returncode}, not {wanted}\n{said[-3000:]}")
        for name in re.findall(r"(?:--out|-o|--save|--keys|>) ([\w./-]+)", line):
            path = self.folder / name
            if not path.exists() or not (any(path.iterdir()) if path.is_dir() else path.stat().st_size):
                sys.exit(f"{self.page.name}: `{line}` did not write {name}\n{said[-3000:]}")
            said += path.read_text() if path.suffix in (".csv", ".txt") else ""
        self.passed += 1
        return said


def pages():
    """Tutorials and how-to pages, as the table of contents has them."""
    part = ""
    for line in (DOCS / "SUMMARY.md").read_text().splitlines():
        part = line[2:] if line.startswith("# ") else part
        if part in ("Tutorials", "How-to") and (found := re.search(r"\((.+)\)", line)):
            yield DOCS / found[1]


def main():
    program = Path(sys.argv[1]).resolve()
    words = sys.argv[2:]
    keep = words.pop(words.index("--keep") + 1) if "--keep" in words else None
    wanted = [w for w in words if not w.startswith("--")]
    models = os.environ.get("MARY_TEST_MODELS")
    model = f"gguf/{Path(models).resolve()}/smollm2-135m.gguf" if models and (Path(models) / "smollm2-135m.gguf").exists() else None
    totals = [0, 0]
    for page in pages():
        if wanted and page.stem not in wanted:
            continue
        print(page.stem)
        with tempfile.TemporaryDirectory() as fresh:
            place = Path(keep or fresh) / page.stem
            place.mkdir(parents=True)
            follower = Follower(page, program, model, place)
            follower.follow()
        totals = [totals[0] + follower.passed, totals[1] + follower.marked]
        print(f"  {follower.passed} commands, {follower.marked} marked" + (f", {follower.missed} not without lm_eval" if follower.missed else ""))
        if follower.tutorial and follower.passed + follower.missed < 3:
            sys.exit(f"{page.name}: hardly any command was found on it")
    print(f"{totals[0]} commands ran; {totals[1]} are marked as not to be run here")


if __name__ == "__main__":
    main()
