#!/usr/bin/env python3
"""How fast a million scores become a data frame.

    tools/bench_frames.py [ROWS]

Scores texts with the built-in model until the table has a million tokens, then times what happens between
the table and a data frame. Wants the package mary with pyarrow, pandas and polars.
"""

import sys
import time

import mary


def timed(label: str, rows: int, work) -> None:
    best = float("inf")
    for _ in range(5):
        begun = time.perf_counter()
        frame = work()
        best = min(best, time.perf_counter() - begun)
        assert len(frame) == rows
    print(f"{label:24} {best * 1000:8.1f} ms  {rows / best / 1e6:8.1f} million rows/s")


def main(wanted: int) -> None:
    import polars
    import pyarrow

    model = mary.Model("builtin/nano")
    text = "The girls see the big bird and the dog runs over the hill to the small house."
    tokens = len(model.score([text], by="token"))
    texts = [f"{text}"] * (wanted // tokens + 1)
    begun = time.perf_counter()
    table = model.score(texts, by="token")
    rows, seconds = len(table), time.perf_counter() - begun
    print(f"{rows} tokens scored in {seconds:.1f} s ({rows / seconds / 1e6:.2f} million a second, table included)")
    timed("pyarrow.table", rows, lambda: pyarrow.table(table))
    timed("polars.DataFrame", rows, lambda: polars.DataFrame(table))
    timed("pandas (to_pandas)", rows, table.to_pandas)
    timed("numpy column", rows, lambda: table["logprob"])


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
