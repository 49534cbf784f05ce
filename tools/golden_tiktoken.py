#!/usr/bin/env python3
"""Makes crates/models/mary-weights/tests/golden/tiktoken/: a small file of ranks in the form of the first Qwen's
`qwen.tiktoken`, learned from a few lines of our own, and the ids that OpenAI's `tiktoken` gives with it.

    python tools/golden_tiktoken.py      # needs tiktoken
"""

import base64
import json
import re
import unicodedata
from collections import Counter
from pathlib import Path

import tiktoken

HERE = Path(__file__).resolve().parent.parent / "crates/models/mary-weights/tests/golden/tiktoken"
PATTERN = r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
LINES = [
    "The lamp beside the window was the last thing the child had seen.",
    "She counted the stones, the shells and the small bones again and again.",
    "Das Haus am Fluss, die Straße und der Fluß.",
    "水は低い方へ流れる。水の音を聞く。",
    "It's not that they're late; we'll wait, and I'd rather they've slept.",
]
TEXTS = LINES + ["", " ", "   two  spaces\n\n\tand a tab ", "12345", "naïve café", "cafe\u0301", "🦉🦉 owl", "snake_case(x) != y;", "'S 'LL", "\r\n\r\n", "thethethe", "<|im_end|>x<|endoftext|>"]


def learn(words, merges):
    ranks = {bytes([b]): b for b in range(256)}
    words = Counter(tuple(bytes([b]) for b in w.encode()) for w in words)
    while len(ranks) < 256 + merges:
        pairs = Counter()
        for word, n in words.items():
            for pair in zip(word, word[1:]):
                pairs[pair] += n
        if not pairs:
            break
        best = max(pairs, key=lambda p: (pairs[p], p))
        ranks[best[0] + best[1]] = len(ranks)
        joined = {}
        for word, n in words.items():
            out, i = [], 0
            while i < len(word):
                if word[i : i + 2] == best:
                    out.append(best[0] + best[1])
                    i += 2
                else:
                    out.append(word[i])
                    i += 1
            joined[tuple(out)] = joined.get(tuple(out), 0) + n
        words = joined
    return ranks


def main():
    HERE.mkdir(parents=True, exist_ok=True)
    words = [w for line in LINES for w in re.findall(r" ?\w+| ?[^\w\s]+", line)]
    ranks = learn(words, 150)
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *[f"<|extra_{i}|>" for i in range(205)]]
    encoding = tiktoken.Encoding("qwen", pat_str=PATTERN, mergeable_ranks=ranks,
                                 special_tokens={t: i for i, t in enumerate(special, len(ranks))})
    (HERE / "qwen.tiktoken").write_text(
        "".join(f"{base64.b64encode(t).decode()} {r}\n" for t, r in ranks.items()))
    texts = [{"text": t, "ids": encoding.encode(unicodedata.normalize("NFC", t), allowed_special="all")} for t in TEXTS]
    (HERE / "golden.json").write_text(json.dumps({"made_with": f"tiktoken {tiktoken.__version__}", "texts": texts}, ensure_ascii=False, indent=1) + "\n")
    print(len(ranks), sum(len(t["ids"]) for t in texts))


if __name__ == "__main__":
    main()
