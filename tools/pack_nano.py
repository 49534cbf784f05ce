#!/usr/bin/env python3
"""Packs the checkpoints of `builtin/nano` for the program, exact to the bit.

    tools/pack_nano.py FOLDER     FOLDER/step10000.safetensors and the earlier steps, as `mary grow` leaves them

The last one is kept as it is, since almost every run opens it. Each other becomes a file of differences from the next
later one: half-precision numbers as integers in the order of their values, neighbours in size beside one another (so
that few small differences and many large ones are not mixed), low and high bytes apart, deflated. 21.1 MB become 16.4;
general compressors reach 19.4. `mary-lab/src/builtin/packed.rs` reads them; its test holds the hashes.
"""

import pathlib
import shutil
import sys
import zlib

import numpy as np

ASSETS = pathlib.Path(__file__).resolve().parent.parent / "crates/run/mary-lab/assets/nano"


def ordered(words):
    """The sixteen bits of each number as an integer that grows with it."""
    return np.where(words & 0x8000, ~words, words | 0x8000).astype(np.uint16)


def pack(words, later):
    difference = (ordered(words) - ordered(later)).astype(np.int16)
    # small ones of either sign first: 0, −1, 1, −2 …
    folded = ((difference << 1) ^ (difference >> 15)).astype(np.uint16)
    folded = folded[np.argsort(later >> 10 & 31, kind="stable")]
    return zlib.compress((folded & 255).astype(np.uint8).tobytes() + (folded >> 8).astype(np.uint8).tobytes(), 9)


def main(folder):
    files = sorted(folder.glob("step*.safetensors"), key=lambda p: -int(p.stem[4:]))
    if files[0].parent.resolve() != ASSETS:
        shutil.copy(files[0], ASSETS)
    for later, file in zip(files, files[1:]):
        packed = pack(np.fromfile(file, "<u2"), np.fromfile(later, "<u2"))
        (ASSETS / f"{file.stem}.packed").write_bytes(packed)
        print(f"{file.stem}: {file.stat().st_size} -> {len(packed)}")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
