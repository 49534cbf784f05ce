#!/usr/bin/env python3
"""Writes crates/models/mary-kernels/src/dequant/grids.bin: the grids of ggml's IQ kinds, one number a byte, as
the Python package `gguf` (MIT) has them; and crates/models/mary-weights/tests/golden/codebooks.json: random
blocks of every kind with a table, and what that package makes of them.

    python tools/quant_grids.py      # needs gguf and numpy
"""

import base64
import json
from pathlib import Path

import gguf
import numpy as np
from gguf import quants

GOLDEN = Path(__file__).resolve().parent.parent / "crates/models/mary-weights/tests/golden/codebooks.json"
OUT = Path(__file__).resolve().parent.parent / "crates/models/mary-kernels/src/dequant/grids.bin"


def main():
    parts = []
    for kind in (quants.IQ2_XXS, quants.IQ2_XS, quants.IQ2_S, quants.IQ3_XXS, quants.IQ3_S, quants.IQ1_S):
        kind.init_grid()
        parts.append(np.asarray(kind.grid).reshape(kind.grid_shape).astype(np.int8).tobytes())
    OUT.write_bytes(b"".join(parts))
    print([len(p) for p in parts], OUT.stat().st_size)
    golden()


def golden():
    rng = np.random.default_rng(7)
    # Where the half-precision scale of a block lies; IQ1_M keeps it in four pieces, MXFP4 has none.
    places = {
        "IQ2_XXS": 0, "IQ2_XS": 0, "IQ2_S": 0, "IQ3_XXS": 0, "IQ3_S": 0, "IQ1_S": 0, "IQ1_M": None,
        "IQ4_NL": 0, "IQ4_XS": 0, "MXFP4": None, "TQ1_0": 52, "TQ2_0": 64,
    }
    out = {}
    for name, place in places.items():
        kind = gguf.GGMLQuantizationType[name]
        _, size = gguf.GGML_QUANT_SIZES[kind]
        blocks = rng.integers(0, 256, (4, size), dtype=np.uint8)
        scale = rng.normal(0, 0.05, 4).astype(np.float16)
        if place is not None:
            blocks[:, place : place + 2] = scale.view(np.uint8).reshape(4, 2)
        elif name == "IQ1_M":
            words = blocks[:, 48:56].copy().view(np.uint16)
            for i in range(4):
                piece = (scale.view(np.uint16) >> np.uint16(4 * i)) & np.uint16(15)
                words[:, i] = (words[:, i] & np.uint16(0x0FFF)) | (piece << np.uint16(12))
            blocks[:, 48:56] = words.view(np.uint8)
        else:
            blocks[:, 0] = [0, 1, 2, 127]
        numbers = quants.dequantize(blocks, kind).astype(np.float32)
        assert np.isfinite(numbers).all(), name
        b64 = lambda a: base64.b64encode(np.ascontiguousarray(a).tobytes()).decode()
        out[name] = {"bytes": b64(blocks), "numbers": b64(numbers.astype("<f4"))}
    GOLDEN.write_text(json.dumps(out))
    print(GOLDEN.stat().st_size)


if __name__ == "__main__":
    main()
