#!/usr/bin/env python3
"""`mary serve` on a GPU beside transformers: the same random LLaMA-shaped model in bfloat16, the same requests.

    python tools/bench_serve_cuda.py MARY FOLDER [--clients 1 16 64] [--seconds 8]

The model (1.3 billion weights, the built-in model's tokenizer) is made in FOLDER where there is none. transformers has no
network to serve: it gets as many prompts at once as there are clients, in one `generate`, the best loop there is. The loads
are those of tools/bench_serve.py. Needs torch, transformers and aiohttp.
"""

import argparse
import asyncio
import random
import shutil
import time
from pathlib import Path

import torch
import transformers as tf
from bench_serve import measure, prompt, start

NANO = Path(__file__).resolve().parent.parent / "crates/run/mary-lab/assets/nano"


def make(folder):
    torch.manual_seed(1)
    config = tf.LlamaConfig(vocab_size=1280, hidden_size=2048, intermediate_size=5632, num_hidden_layers=24, num_attention_heads=16,
                            num_key_value_heads=16, max_position_embeddings=4096, bos_token_id=0, eos_token_id=0)
    tf.LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained(folder)
    shutil.copy(NANO / "tokenizer.json", folder)


def loop(model, tokenizer, load, clients, seconds):
    draws = [random.Random(f"measured {i}") for i in range(clients)]
    done, times, begun = 0, [], time.monotonic()
    while time.monotonic() - begun < seconds:
        texts, tokens = zip(*(prompt(load, draw) for draw in draws))
        since = time.monotonic()
        ids = tokenizer(list(texts), return_tensors="pt", padding=True).to("cuda")
        model.generate(**ids, max_new_tokens=tokens[0], min_new_tokens=tokens[0], do_sample=False, pad_token_id=0)
        torch.cuda.synchronize()
        times.append(time.monotonic() - since)
        done += clients
    return done / (time.monotonic() - begun), sorted(times)[int(0.95 * (len(times) - 1))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mary")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 16, 64])
    parser.add_argument("--seconds", type=float, default=8)
    options = parser.parse_args()
    if not options.folder.exists():
        make(options.folder)
    found = {}
    cases = [(load, clients) for load in ["prefill", "shared", "writing"] for clients in options.clients]
    words = [options.mary, "serve", "-q", "-m", f"hf/{options.folder.resolve()}", "--device", "cuda:0", "--dtype", "bf16", "--port", "0"]
    process, url = start(words, r"(http://[^/\s]+)/v1")
    try:
        for load, clients in cases:
            asyncio.run(measure(url, load, clients, 1, "warm"))
            found[load, clients] = asyncio.run(measure(url, load, clients, options.seconds, "measured"))
    finally:
        process.kill()
        process.wait()
    tokenizer = tf.PreTrainedTokenizerFast(tokenizer_file=str(options.folder / "tokenizer.json"), pad_token="<|endoftext|>", padding_side="left")
    model = tf.AutoModelForCausalLM.from_pretrained(options.folder, dtype=torch.bfloat16, attn_implementation="sdpa").cuda().eval()
    print(torch.cuda.get_device_name(), len(tokenizer(prompt("prefill", random.Random(1))[0]).input_ids), "tokens in a long prompt")
    print(f"{'load':8} {'clients':>7} {'mary/s':>8} {'loop/s':>8} {'ratio':>6} {'p95 mary':>9} {'p95 loop':>9}")
    with torch.inference_mode():
        for load, clients in cases:
            loop(model, tokenizer, load, clients, 1)
            theirs, slow_theirs = loop(model, tokenizer, load, clients, options.seconds)
            ours, slow = found[load, clients]
            print(f"{load:8} {clients:7} {ours:8.2f} {theirs:8.2f} {ours / theirs:6.2f} {slow:8.3f}s {slow_theirs:8.3f}s", flush=True)


if __name__ == "__main__":
    main()
