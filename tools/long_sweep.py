#!/usr/bin/env python3
"""The whole path of a sweep at Pythia's scale: 154 checkpoints of 8 sizes from a made-up hub with faults, a disk limit,
two kills, and the report.

    PYTHON tools/long_sweep.py MARY HUB FOLDER [CHECKPOINTS [SIZES]]

Needs numpy. MARY is the program, HUB the example of mary-testkit (`cargo build -p mary-testkit --example hub`), FOLDER a
place for everything. The checkpoints are tiny networks that drift from one random place to another: they know nothing,
and only time, memory and disk are looked at. A second call goes on where the first was stopped.
"""

import json
import os
import resource
import shutil
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
NANO = ROOT / "crates/run/mary-lab/assets/nano"
STEPS = [0] + [2**k for k in range(10)] + [1000 * k for k in range(1, 144)]
TASKS = "psychometric/grammar-small,psychometric/numbers"


def network(width, seed):
    """GPT-NeoX with one block."""
    rng = np.random.default_rng(seed)
    draw = lambda *shape: (0.05 * rng.standard_normal(shape)).astype(np.float32)
    block, out = "gpt_neox.layers.0.", {"gpt_neox.embed_in.weight": draw(1280, width)}
    for name, rows, columns in (("attention.query_key_value", 3 * width, width), ("attention.dense", width, width),
                                ("mlp.dense_h_to_4h", 4 * width, width), ("mlp.dense_4h_to_h", width, 4 * width)):
        out[f"{block}{name}.weight"], out[f"{block}{name}.bias"] = draw(rows, columns), draw(rows)
    for name in (f"{block}input_layernorm", f"{block}post_attention_layernorm", "gpt_neox.final_layer_norm"):
        out[f"{name}.weight"], out[f"{name}.bias"] = 1 + draw(width), draw(width)
    return out


def write(path, tensors):
    header, data = {}, b""
    for name, x in tensors.items():
        raw = x.astype(np.float16).tobytes()
        header[name] = {"dtype": "F16", "shape": x.shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def make(hub, checkpoints, sizes):
    steps = STEPS if checkpoints >= len(STEPS) else [STEPS[round(i * 153 / (checkpoints - 1))] for i in range(checkpoints)]
    config = json.loads((NANO / "config.json").read_text())
    for size in range(1, sizes + 1):
        width, folder = 16 * size, hub / "me" / f"tiny-{size}m"
        if folder.exists():
            continue
        first, last = network(width, size), network(width, 100 + size)
        config |= {"hidden_size": width, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 4 * width}
        for step in steps:
            share = np.log1p(step) / np.log1p(143000)
            place = folder / f"step{step}"
            place.mkdir(parents=True)
            (place / "config.json").write_text(json.dumps(config))
            for name in ("tokenizer.json", "tokenizer_config.json"):
                shutil.copy(NANO / name, place / name)
            write(place / "model.safetensors", {n: (1 - share) * x + share * last[n] for n, x in first.items()})


def held(folder):
    files = (p for p in folder.rglob("*") if p.is_file() and not p.is_symlink())
    return sum(p.stat().st_size for p in files)


def watched(command, environment, stop):
    """Runs until `stop` says so or the end: seconds, largest memory, largest disk of the hub's cache."""
    began, child = time.time(), subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    most = {"memory": 0, "cache": 0}

    def look():
        while child.poll() is None:
            try:
                status = Path(f"/proc/{child.pid}/status").read_text()
                peak = int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")))
                most["memory"] = max(most["memory"], peak * 1024)
                most["cache"] = max(most["cache"], held(Path(environment["HF_HOME"])))
            except (OSError, StopIteration):
                pass
            time.sleep(1)

    looking = threading.Thread(target=look)
    looking.start()
    while child.poll() is None:
        if stop and stop():
            child.kill()
        time.sleep(0.2)
    looking.join()
    return time.time() - began, most, child.returncode


def main():
    mary, hub, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3]).resolve()
    checkpoints, sizes = (int(w) for w in (sys.argv[4:] + ["154", "8"][len(sys.argv[4:]):]))
    make(folder / "hub", checkpoints, sizes)
    server = subprocess.Popen([hub, folder / "hub", "40"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    environment = os.environ | {"HF_ENDPOINT": server.stdout.readline().strip(), "HF_HOME": str(folder / "hf"),
                                "MARY_CACHE_DIR": str(folder / "cache"), "MARY_RUNS": str(folder / "runs")}
    models = [f"hf/me/tiny-{i}m" for i in range(1, sizes + 1)]
    command = [mary, "sweep", *models, "--tasks", TASKS, "--set", "n=4", "--tokens-per-step", "2097152", "--disk-limit",
               "20MB", "--quiet", "--json"]

    def done():
        lists = (folder / "runs").glob("sweep-*/checkpoints.jsonl")
        return sum(len(p.read_text().splitlines()) for p in lists)

    whole = checkpoints * sizes
    for until in (whole // 4, whole // 2, None):
        if until is not None and done() >= until:
            continue
        seconds, most, code = watched(command, environment, until and (lambda: done() >= until))
        print(f"{done()} of {whole} done after {seconds:.0f} s, status {code}, memory {most['memory'] / 1e6:.0f} MB, "
              f"hub's cache {most['cache'] / 1e6:.1f} MB", flush=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"processor: {used.ru_utime + used.ru_stime:.0f} s")
    for sweep in (folder / "runs").glob("sweep-*"):
        report = sweep / "report.html"
        print(f"{sweep}: {held(sweep) / 1e6:.0f} MB, report {report.stat().st_size / 1e6 if report.exists() else 0:.1f} MB")
    server.stdin.close()
    print(server.stdout.read().strip())


main()
