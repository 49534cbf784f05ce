#!/usr/bin/env python3
"""Splits crates/models/mary-weights/tests/golden/llama.gguf into two parts, as llama-gguf-split does: the first
part keeps all metadata, every part says which it is.

    python tools/golden_split.py      # needs gguf and numpy
"""

from pathlib import Path

import gguf

HERE = Path(__file__).resolve().parent.parent / "crates/models/mary-weights/tests/golden"


def main():
    reader = gguf.GGUFReader(HERE / "llama.gguf")
    tensors = list(reader.tensors)
    halves = [tensors[: len(tensors) // 2], tensors[len(tensors) // 2 :]]
    folder = HERE / "parts"
    folder.mkdir(exist_ok=True)
    for number, own in enumerate(halves):
        path = folder / f"llama-{number + 1:05}-of-{len(halves):05}.gguf"
        writer = gguf.GGUFWriter(path, "llama")
        for name, field in reader.fields.items():
            if number > 0 or name.startswith("GGUF.") or name == "general.architecture":
                continue
            kind = field.types[0]
            inner = field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
            writer.add_key_value(name, field.contents(), kind, inner)
        writer.add_uint16("split.no", number)
        writer.add_uint16("split.count", len(halves))
        writer.add_int32("split.tensors.count", len(tensors))
        for tensor in own:
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        print(path.name, path.stat().st_size)


if __name__ == "__main__":
    main()
