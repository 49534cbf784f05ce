#!/usr/bin/env python3
"""Makes docs/reference/commands.md and docs/reference/tasks.md from the program, so that they cannot drift.

    python3 tools/reference.py target/debug/mary            # writes the two pages
    python3 tools/reference.py target/debug/mary --check    # fails where the pages are not what the program says

The check also reads every `mary …` line in the code blocks of the book: its command and options must exist.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

PAGES = Path(__file__).resolve().parent.parent / "docs" / "reference"
MADE = "*Made by `tools/reference.py` from the program's own {}.*\n"


def ask(program, *words):
    # Neither somebody's mary.toml nor their environment may show in the defaults.
    quiet = {name: value for name, value in os.environ.items() if not name.startswith("MARY_")}
    done = subprocess.run([program, *words], capture_output=True, text=True, cwd="/", env=quiet, check=True)
    return done.stdout


def commands_in(text):
    """Names of the commands that a help lists: they stand before its options, below one heading or several."""
    return [name for name in re.findall(r"^  ([a-z][a-z-]*)", text.split("\nOptions:")[0], re.M) if name != "help"]


def command_page(program):
    lines = ["# Commands", "", MADE.format("help"), "`mary COMMAND --help` prints the long form.", ""]
    top = ask(program, "-h")
    places = top[top.index("\nPlaces:"):]
    lines += ["These options belong to every command:", "", "```text", places.strip(), "```", ""]

    def add(words, depth):
        text = ask(program, *words, "-h").split("\nPlaces:")[0]
        lines.extend([f"{'#' * depth} mary {' '.join(words)}", "", "```text", text.strip(), "```", ""])
        for name in commands_in(text):
            add([*words, name], min(depth + 1, 4))

    for name in commands_in(top):
        add([name], 2)
    return "\n".join(lines).rstrip() + "\n"


def code_lines(text):
    """Lines of indented and fenced code, a trailing backslash joining two."""
    lines, fenced = [], False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            line = line.strip().removeprefix("$ ")
            if lines and lines[-1][1].endswith("\\"):
                lines[-1] = (lines[-1][0], lines[-1][1][:-1] + line)
            else:
                lines.append((number, line))
    return lines


def known_options(page):
    """Options of every command, by the help on the page of commands."""
    everywhere = set(re.findall(r"--[a-z][a-z-]*", page.split("\n## ")[0])) | {"--help", "--version"}
    sections = re.findall(r"^#{2,4} mary ([^\n]*)\n\n```text\n(.*?)```", page, re.M | re.S)
    return {tuple(name.split()): everywhere | set(re.findall(r"--[a-z][a-z-]*", text)) for name, text in sections}


def wrong_commands(page):
    known = known_options(page)
    for file in sorted(PAGES.parent.rglob("*.md")):
        if file.parent.name in ("history", "reference"):
            continue
        for number, line in code_lines(file.read_text()):
            # `mary submit … -- run …` holds a second command.
            for part in re.split(r" -- | \| |; |&& ", re.sub(r"  +#.*|'[^']*'|\"[^\"]*\"", " ", line)):
                words = part.removeprefix("nice ").split()
                if words and words[0] == "mary":
                    words = words[1:]
                elif not (" -- " in line and words and (words[0],) in known):
                    continue
                while words[:1] and words[0].startswith("--"):
                    words = words[2:]
                name = tuple(words[:2]) if tuple(words[:2]) in known else tuple(words[:1])
                at = f"docs/{file.relative_to(PAGES.parent)}:{number}"
                if name and name not in known and re.fullmatch("[a-z-]+", name[0]):
                    yield f"{at}: there is no command `mary {name[0]}`"
                for word in words:
                    option = word.split("=")[0].replace("_", "-")
                    if name in known and re.fullmatch("--[a-z-]+", option) and option not in known[name]:
                        yield f"{at}: `mary {' '.join(name)}` has no option {option}"


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def task_page(program):
    lines = ["# Tasks", "", MADE.format("list of tasks"),
             "`mary tasks show TASK` also prints a sample item. Settings are given with `--set NAME=VALUE`; those marked *judging* change how",
             "answers are scored, not what is asked, and `mary rescore` can change them without the model.", ""]
    seen, cited, family = {}, set(), None
    for task in json.loads(ask(program, "tasks", "--json")):
        if task["family"] != family:
            family = task["family"]
            lines += [f"## {family}", ""]
        lines += [f"### {task['id']}", "", f"**{task['title']}** (version {task['version']}). {task['about']}", ""]
        facts = []
        if task.get("chance") is not None:
            facts.append(f"chance {100 * task['chance']:.1f} %" if task["chance"] else "chance 0")
        if human := task.get("human"):
            facts.append(f"people {100 * human['value']:.1f} % ({human['source']})")
        if facts:
            lines += [f"Reference values: {'; '.join(facts)}.", ""]
        if task.get("dataset"):
            lines += [f"Published items: dataset `{task['dataset']}` (`mary data pull {task['dataset']}`).", ""]
        params = json.dumps(task["params"], sort_keys=True)
        if task["params"] and params in seen:
            lines += [f"Settings: those of `{seen[params]}`.", ""]
        elif task["params"]:
            seen[params] = task["id"]
            lines += ["| setting | values | default | what |", "|---|---|---|---|"]
            for p in task["params"]:
                mark = " *(judging)*" if p["changes"] == "judging" else ""
                default = f"`{cell(p['default'])}`" if p["default"] else ""
                lines.append(f"| `{p['name']}` | {cell(p['values'])} | {default} | {cell(p['about'])}{mark} |")
            lines.append("")
        source = task["citation"]
        if source["text"] not in cited:
            cited.add(source["text"])
            lines += [f"Source: {source['text']} {source.get('link') or ''}".strip(), ""]
    return "\n".join(lines).rstrip() + "\n"


def main():
    program = str(Path(sys.argv[1]).resolve())
    stale, commands = [], command_page(program)
    for name, text in [("commands.md", commands), ("tasks.md", task_page(program))]:
        page = PAGES / name
        if "--check" not in sys.argv:
            page.write_text(text)
        elif not page.exists() or page.read_text() != text:
            stale.append(f"docs/reference/{name}")
    print(*(wrong := list(wrong_commands(commands))), sep="\n", end="\n" if wrong else "")
    if wrong and "--check" in sys.argv:
        sys.exit("commands in the book that the program does not have")
    if stale:
        sys.exit(f"{' and '.join(stale)}: not what the program says; run tools/reference.py {sys.argv[1]}")


if __name__ == "__main__":
    main()
