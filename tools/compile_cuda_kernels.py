#!/usr/bin/env python3
"""Turns the CUDA kernels of scoring and of training into PTX text, with NVRTC from a package and no CUDA toolkit.

    python3 tools/compile_cuda_kernels.py            # writes ptx/*.ptx.gz beside each source
    python3 tools/compile_cuda_kernels.py --check    # also compiles to machine code, prints registers

Needs `pip` and a Linux machine; neither a GPU nor a driver. The PTX is for compute capability 8.0;
the driver turns it into code for whatever GPU it finds. `hopper.cu` runs on Hopper GPUs alone and becomes
machine code for them, in four minutes. The first line names the source it was made from, and a test compares
that with the source that is there.
"""

import argparse
import ctypes
import glob
import gzip
import os
import re
import subprocess
import sys
import tempfile
import zipfile

PACKAGE = "nvidia-cuda-nvrtc-cu12==12.4.127"
CRATES = os.path.join(os.path.dirname(__file__), "../crates/models")
# Each source with its parts; each part is a module of its own. `lean` is for GPUs with less shared
# memory.
SOURCES = {
    "mary-local/src/kernels/cuda/kernels.cu": {
        "base": ["-DBASE"],
        "attend_s": ["-DATTEND_S"],
        "attend_b": ["-DATTEND_B"],
        "attend_h": ["-DATTEND_H"],
        "last_s": ["-DLAST_S"],
        "last_b": ["-DLAST_B"],
        "last_h": ["-DLAST_H"],
        "product_b": ["-DPRODUCTS_B", "-DSTAGES_LARGE=4"],
        "product_h": ["-DPRODUCTS_H", "-DSTAGES_LARGE=4"],
        "product_b_lean": ["-DPRODUCTS_B", "-DSTAGES_LARGE=2"],
        "product_h_lean": ["-DPRODUCTS_H", "-DSTAGES_LARGE=2"],
    },
    "mary-local/src/kernels/cuda/hopper.cu": {"hopper_b": ["-DPRODUCTS_B"], "hopper_h": ["-DPRODUCTS_H"]},
    "mary-local/src/kernels/cuda/recurrent.cu": {"recurrent": []},
    "mary-train/src/net/cuda/train.cu": {"train": []},
    "mary-train/src/net/cuda/attention.cu": {"attention": []},
    "mary-train/src/net/cuda/attention16.cu": {"attention16": []},
}


def nvrtc(cache):
    os.makedirs(cache, exist_ok=True)
    found = glob.glob(os.path.join(cache, "**/libnvrtc.so.12"), recursive=True)
    if not found:
        subprocess.check_call([sys.executable, "-m", "pip", "download", "--no-deps", "-q",
                               "--only-binary=:all:", "-d", cache, PACKAGE])
        wheel, = glob.glob(os.path.join(cache, "nvidia_cuda_nvrtc_cu12*.whl"))
        zipfile.ZipFile(wheel).extractall(cache)
        found = glob.glob(os.path.join(cache, "**/libnvrtc.so.12"), recursive=True)
    return ctypes.CDLL(found[0])


def fingerprint(source):
    number = 0xCBF29CE484222325
    for byte in source:
        number = (number ^ byte) * 0x100000001B3 % 2**64
    return f"{number:016x}"


def compile_to(lib, source, options, cubin):
    program = ctypes.c_void_p()
    check = lambda code, what: code == 0 or sys.exit(f"{what}: NVRTC error {code}")
    check(lib.nvrtcCreateProgram(ctypes.byref(program), source, b"kernels.cu", 0, None, None), "create")
    words = (ctypes.c_char_p * len(options))(*[o.encode() for o in options])
    code = lib.nvrtcCompileProgram(program, len(options), words)
    size = ctypes.c_size_t()
    lib.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    lib.nvrtcGetProgramLog(program, log)
    if log.value.strip():
        print(log.value.decode(), file=sys.stderr)
    check(code, "compile")
    kind = "CUBIN" if cubin else "PTX"
    check(getattr(lib, f"nvrtcGet{kind}Size")(program, ctypes.byref(size)), "size")
    out = ctypes.create_string_buffer(size.value)
    check(getattr(lib, f"nvrtcGet{kind}")(program, out), "read")
    return out.raw


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--only", default="", help="sources whose path contains this")
    parser.add_argument("--cache", default=os.path.join(tempfile.gettempdir(), "mary-nvrtc"))
    args = parser.parse_args()
    lib = nvrtc(args.cache)
    for path, parts in SOURCES.items():
        if args.only in path:
            compile_source(lib, os.path.join(CRATES, path), parts, args.check)


def read(path):
    """A source with the files of ours that it includes in their places."""
    with open(path, "rb") as file:
        text = file.read()
    beside = lambda found: read(os.path.join(os.path.dirname(path), found[1].decode()))
    return re.sub(rb'#include "([^"]+)"\n', beside, text)


def keep(folder, name, content):
    packed = os.path.join(folder, name)
    with open(packed, "wb") as file:
        file.write(gzip.compress(content, mtime=0))
    print(f"{name}: {len(content) >> 10} KiB, packed {os.path.getsize(packed) >> 10}")


def compile_source(lib, path, parts, check):
    source = read(path)
    options = ["--std=c++17", "--extra-device-vectorization"]
    name = fingerprint(source)
    folder = os.path.join(os.path.dirname(path), "ptx")
    os.makedirs(folder, exist_ok=True)
    origin = os.path.basename(path)
    title = f"// from {origin}, FNV-1a {name}\n"
    for part, defines in parts.items():
        if origin == "hopper.cu":
            machine = ["--gpu-architecture=sm_90a"] + (["--ptxas-options=-v"] if check else [])
            code = title.encode() + compile_to(lib, source, options + defines + machine, True)
            keep(folder, part + ".cubin.gz", code)
            continue
        if check and not part.endswith("lean"):
            machine = ["--gpu-architecture=sm_90", "--ptxas-options=-v"]
            compile_to(lib, source, options + defines + machine, True)
        ptx = compile_to(lib, source, options + defines + ["--gpu-architecture=compute_80"], False)
        lines = ptx.decode().rstrip("\0").splitlines()
        text = title + "\n".join(line.rstrip() for line in lines) + "\n"
        keep(folder, part + ".ptx.gz", text.encode())


main()
