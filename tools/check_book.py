#!/usr/bin/env python3
"""Checks the sources of the book in docs/: every page has a place, links lead somewhere, user pages stay short and plain.

    python3 tools/check_book.py              # what ./test runs; lists what is wrong, exit code 1
    python3 tools/check_book.py --pages      # words and reading ease (Flesch) of every page
    python3 tools/check_book.py --allow 40   # another word limit, in thousands

User pages are those of the parts in USER; the phrases to avoid are the table "Words" in CONTRIBUTING.md. It does not need
mdbook.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
USER = ("Start", "Tutorials", "How-to", "Explanation", "Questions")
WORDS = 30_000
PARAGRAPH = 90
ITEM = re.compile(r"^\s*(?:[-*]|\d+\.) ")
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def parts():
    """Pages of each part of SUMMARY.md, in order."""
    found, part = {}, "Start"
    for line in (DOCS / "SUMMARY.md").read_text().splitlines():
        if line.startswith("# ") and line != "# Summary":
            part = line[2:].strip()
        elif link := LINK.search(line):
            found.setdefault(part, []).append(DOCS / link[1])
    return found


def blocks(text):
    """Prose paragraphs and list items with the line they begin on; no headings, tables or code."""
    held, start, fenced = [], 0, False
    for number, line in enumerate(text.splitlines() + [""], 1):
        fence = line.lstrip().startswith("```")
        code = fenced or fence or (line.startswith("    ") and not held)
        fenced ^= fence
        if code or not line.strip() or line.startswith(("#", "|", ">")) or ITEM.match(line):
            if held:
                yield start, " ".join(held)
            held = []
        if not code and line.strip() and not line.startswith(("#", "|")):
            start = start if held else number
            held.append(ITEM.sub("", line.lstrip("> ")).strip())


def anchors(page):
    """Headings as GitHub and mdbook name them."""
    slugs, fenced = set(), False
    for line in page.read_text().splitlines():
        fenced ^= line.startswith("```")
        if line.startswith("#") and not fenced:
            title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", line.lstrip("#").strip()).lower()
            slugs.add(re.sub(r"[^\w\- ]", "", title).replace(" ", "-"))
    return slugs


def broken_links(page):
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.S)
    for target in LINK.findall(text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        if not there.exists():
            yield f"{target}: no such file"
        elif anchor and there.suffix == ".md" and anchor not in anchors(there):
            yield f"{target}: no such heading"


def phrases():
    """The first column of the table "Words" in CONTRIBUTING.md."""
    table = (ROOT / "CONTRIBUTING.md").read_text().split("\n## Words\n")[1].split("\n## ")[0]
    rows = [line.split("|")[1].strip() for line in table.splitlines() if line.startswith("| ")]
    return [phrase for row in rows[1:] for phrase in re.split(r"; ", row)]


def spoken(phrases):
    """Phrases in what the program says: string literals of its crates, and help texts of commands."""
    any_of = re.compile(r"\b(" + "|".join(map(re.escape, phrases)) + r")\b", re.I)
    for file in sorted((ROOT / "crates").glob("*/*/src/**/*.rs")):
        if "tests" in file.name or "testkit" in str(file):
            continue
        help_text = "/commands/" in str(file)
        for number, line in enumerate(file.read_text().splitlines(), 1):
            said = '"' in line and not line.lstrip().startswith("//") or help_text and line.lstrip().startswith("///")
            if said and (found := any_of.search(line)):
                yield f"{file.relative_to(ROOT)}:{number}: “{found[0]}” (CONTRIBUTING.md, Words)"


def lost_pages():
    """Pages that sources name and that are not there; `docs/gguf.md` is a page of ggml."""
    for file in [*(ROOT / "crates").glob("*/*/*/**/*.rs"), *(ROOT / "tools").glob("*.py")]:
        for name in set(re.findall(r"\bdocs/[\w/-]+\.md", file.read_text())) - {"docs/gguf.md"}:
            if not (ROOT / name).exists():
                yield f"{file.relative_to(ROOT)}: there is no {name}"


def syllables(word):
    word = re.sub(r"[^a-z]", "", word.lower())
    groups = len(re.findall(r"[aeiouy]+", word))
    return max(1, groups - (word.endswith("e") and not word.endswith("le") and groups > 1))


def flesch(text):
    """Flesch's reading ease of the prose: 60 is plain English, 30 an article in a journal."""
    prose = " ".join(block if block.endswith((".", ":", "?")) else block + "." for _, block in blocks(text))
    prose = re.sub(r"`[^`]*`|\([^)]*\)|\*", " ", LINK.sub(lambda m: m[0].split("]")[0].strip("![") + " ", prose))
    words = re.findall(r"[A-Za-z][A-Za-z'’-]*", prose)
    sentences = max(1, len(re.findall(r"[.?!:;](?:\s|$)", prose)))
    return 206.835 - 1.015 * len(words) / sentences - 84.6 * sum(map(syllables, words)) / len(words) if words else 0.0


def shown(page):
    """A page without its comments, which readers do not see."""
    return re.sub(r"<!--.*?-->", "", page.read_text(), flags=re.S)


def main():
    book = parts()
    pages = [page for part in book.values() for page in part]
    user = [page for part in USER for page in book.get(part, [])]
    if "--pages" in sys.argv:
        for part, held in book.items():
            for page in held:
                text = shown(page)
                print(f"{part:12} {len(text.split()):6} {flesch(text):6.1f}  {page.relative_to(DOCS)}")
    limit = WORDS
    if "--allow" in sys.argv:
        limit = 1000 * int(sys.argv[sys.argv.index("--allow") + 1])
    wrong = [f"docs/SUMMARY.md: {page.relative_to(DOCS)} is not there" for page in pages if not page.exists()]
    pages = [page for page in pages if page.exists()]
    placed = set(pages) | {DOCS / "SUMMARY.md"}
    wrong += [f"docs/{p.relative_to(DOCS)}: not in SUMMARY.md" for p in sorted(DOCS.rglob("*.md")) if p not in placed]
    for page in [*pages, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]:
        wrong += [f"{page.relative_to(ROOT)}: {fault}" for fault in broken_links(page)]
    for page in [*user, ROOT / "README.md"]:
        name, text = page.relative_to(ROOT), page.read_text()
        for line, block in blocks(text):
            if (words := len(block.split())) > PARAGRAPH:
                wrong.append(f"{name}:{line}: a paragraph of {words} words; {PARAGRAPH} are allowed")
        flat = " ".join(text.lower().split())
        wrong += [f"{name}: “{phrase}” (CONTRIBUTING.md, Words)" for phrase in phrases() if re.search(rf"\b{re.escape(phrase.lower())}\b", flat)]
    wrong += [*spoken(phrases()), *lost_pages()]
    total = sum(len(shown(page).split()) for page in user)
    if total > limit:
        wrong.append(f"user pages have {total:,} words; {limit:,} are allowed")
    print(*wrong, f"book: {len(pages)} pages, {total:,} words in {len(user)} user pages", sep="\n")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
