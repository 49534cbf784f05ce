#!/usr/bin/env python3
"""Quantises a GGUF file with llama.cpp's own code, for tests of parity.

    PYTHON tools/quantise_reference.py MODEL.gguf FOLDER [Q4_K_M Q5_K_M Q6_K Q8_0]

Needs gguf, numpy, and xllamacpp, whose library carries ggml's `ggml_quantize_chunk` (not llama.cpp's choice of a kind
for each tensor, which is written down below). A file that is quantised already is dequantised first: what matters
here is which numbers the new file stands for, not how good it is. XLLAMACPP may name the library.
"""

import ctypes
import os
import re
import sys
from pathlib import Path

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Kind

# The usual kind, and the one of tensors that are given more bits.
MIXES = {
    "Q4_K_M": (Kind.Q4_K, Kind.Q6_K), "Q5_K_M": (Kind.Q5_K, Kind.Q6_K),
    "Q6_K": (Kind.Q6_K, Kind.Q6_K), "Q8_0": (Kind.Q8_0, Kind.Q8_0),
}
# For rows that are no multiple of 256.
NARROW = {Kind.Q4_K: Kind.Q5_0, Kind.Q5_K: Kind.Q5_1, Kind.Q6_K: Kind.Q8_0}


def library():
    found = os.environ.get("XLLAMACPP")
    if not found:
        import xllamacpp
        found = next(str(p) for p in Path(xllamacpp.__file__).parent.glob("*.so"))
    ggml = ctypes.CDLL(found)
    ggml.ggml_quantize_chunk.restype = ctypes.c_size_t
    ggml.ggml_quantize_chunk.argtypes = [
        ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p]
    return ggml


def chosen(name, mix, layers, columns):
    """llama.cpp's rule: more bits for the head, and for values and what leads back in every third layer or so."""
    usual, more = MIXES[mix]
    layer = re.match(r"blk\.(\d+)\.(attn_v|ffn_down)\.", name)
    i, n = int(layer[1]) if layer else 0, layers
    many = layer and (i < n // 8 or i >= 7 * n // 8 or (i - n // 8) % 3 == 2)
    kind = more if many or name in ("output.weight", "token_embd.weight") else usual
    return kind if columns % 256 == 0 else NARROW.get(kind, kind)


def quantised(ggml, kind, x):
    x = np.ascontiguousarray(x, dtype=np.float32)
    rows, columns = x.shape
    block, size = gguf.GGML_QUANT_SIZES[kind]
    out = np.zeros((rows, columns // block * size), dtype=np.uint8)
    done = ggml.ggml_quantize_chunk(kind.value, x.ctypes.data, out.ctypes.data, 0, rows, columns, None)
    assert done == out.nbytes, (done, out.nbytes)
    return out


def main():
    source, folder = Path(sys.argv[1]), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    ggml, reader = library(), gguf.GGUFReader(source)
    arch = reader.fields["general.architecture"].contents()
    layers = reader.fields[f"{arch}.block_count"].contents()
    for mix in sys.argv[3:] or MIXES:
        out = folder / f"{source.stem}.{mix}.gguf"
        writer = gguf.GGUFWriter(out, arch)
        for field in reader.fields.values():
            if field.name.startswith("GGUF.") or field.name in ("general.architecture", "general.file_type"):
                continue
            of = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
            writer.add_key_value(field.name, field.contents(), field.types[0], of)
        for tensor in reader.tensors:
            data = gguf.dequantize(tensor.data, tensor.tensor_type)
            if data.ndim == 2:
                kind = chosen(tensor.name, mix, layers, data.shape[1])
                writer.add_tensor(tensor.name, quantised(ggml, kind, data), raw_dtype=kind)
            else:
                writer.add_tensor(tensor.name, data.astype(np.float32))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        print(out)


main()
