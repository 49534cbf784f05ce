#!/usr/bin/env python3
"""`mary serve` beside llama.cpp's server: the same GGUF file, the same requests, 1 to 64 clients, by turns.

    target/peers/bin/python tools/bench_serve.py MARY MODEL.gguf [--clients 1 4 16 64] [--seconds 8]

Three loads: `prefill` (120 words nobody has sent before, one token wanted), `shared` (one beginning of 120 words, an
ending of its own, one token wanted) and `writing` (20 words, 48 tokens wanted). For each: requests a second, the
95th percentile of their time, and the ratio. llama.cpp's server gets as many slots as there are clients, 16 at most.
"""

import argparse
import asyncio
import random
import re
import subprocess
import sys
import threading
import time
from collections import deque
from pathlib import Path

import aiohttp

WORDS = Path(__file__).read_text().split()
LLAMA = """
import sys, time, xllamacpp
p = xllamacpp.CommonParams()
p.model.path = sys.argv[1]
p.hostnames = ["127.0.0.1"]
p.port = 0
p.n_parallel = int(sys.argv[2])
p.n_ctx = 2048 * p.n_parallel
server = xllamacpp.Server(p)
print("listening", server.listening_address, flush=True)
time.sleep(36000)
"""


def start(words, marker):
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for line in process.stdout:
        if found := re.search(marker, line):
            # What else it says is thrown away, or it would wait for a reader.
            threading.Thread(target=lambda: deque(process.stdout, 0), daemon=True).start()
            return process, found.group(1)
    sys.exit(f"{words[0]} ended before it listened")


def prompt(load, draw):
    words = lambda count: " ".join(draw.choice(WORDS) for _ in range(count))
    if load == "prefill":
        return words(120), 1
    if load == "shared":
        same = random.Random(7)
        return " ".join(same.choice(WORDS) for _ in range(120)) + " " + words(4), 1
    return words(20), 48


async def client(session, url, load, draw, end, times):
    while time.monotonic() < end:
        text, tokens = prompt(load, draw)
        body = {"model": "m", "prompt": text, "max_tokens": tokens, "temperature": 0, "cache_prompt": True}
        begun = time.monotonic()
        async with session.post(url + "/v1/completions", json=body) as answer:
            said = await answer.json()
            assert answer.status == 200 and said["choices"], said
        times.append(time.monotonic() - begun)


async def measure(url, load, clients, seconds, seed):
    times = []
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=600)) as session:
        end = time.monotonic() + seconds
        begun = time.monotonic()
        draws = [random.Random(f"{seed} {i}") for i in range(clients)]
        await asyncio.gather(*(client(session, url, load, draw, end, times) for draw in draws))
        took = time.monotonic() - begun
    times.sort()
    return len(times) / took, times[int(0.95 * (len(times) - 1))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mary")
    parser.add_argument("model")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 4, 16, 64])
    parser.add_argument("--loads", nargs="+", default=["prefill", "shared", "writing"])
    parser.add_argument("--seconds", type=float, default=8)
    options = parser.parse_args()
    print(f"{'load':8} {'clients':>7} {'mary/s':>8} {'llama/s':>8} {'ratio':>6} {'p95 mary':>9} {'p95 llama':>9}")
    for clients in options.clients:
        for load in options.loads:
            found = {}
            for who in ["mary", "llama"]:
                if who == "mary":
                    words = [options.mary, "serve", "-q", "-m", f"gguf/{options.model}", "--port", "0"]
                    process, url = start(words, r"(http://[^/\s]+)/v1")
                else:
                    words = [sys.executable, "-c", LLAMA, options.model, str(min(clients, 16))]
                    process, url = start(words, r"listening (http\S+)")
                try:
                    asyncio.run(measure(url, load, 1, 1, "warm"))
                    found[who] = asyncio.run(measure(url, load, clients, options.seconds, "measured"))
                finally:
                    process.kill()
                    process.wait()
            (ours, slow), (theirs, slow_theirs) = found["mary"], found["llama"]
            print(f"{load:8} {clients:7} {ours:8.2f} {theirs:8.2f} {ours / theirs:6.2f} {slow:8.2f}s {slow_theirs:8.2f}s", flush=True)


if __name__ == "__main__":
    main()
