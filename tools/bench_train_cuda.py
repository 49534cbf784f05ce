#!/usr/bin/env python3
"""Training on a GPU beside PyTorch on the same GPU: tokens a second, and the ratio.

    cargo build --release -p mary-train --example gpu --features cuda,checks
    python3 tools/bench_train_cuda.py --program target/release/examples/gpu

Needs torch with CUDA and transformers. Both train GPT-NeoX models of the same shapes with random
weights on random tokens, in float32 (PyTorch without TF32, SDPA attention, fused AdamW, gradients
clipped at norm 1), everything on the GPU; the median of nine steps after three.
"""

import argparse
import re
import statistics
import subprocess
import time

SHAPES = {
    "nano": dict(vocab_size=1280, hidden_size=128, num_hidden_layers=4, num_attention_heads=4,
                 max_position_embeddings=512, rotary_pct=0.5, tie_word_embeddings=True),
    "70m": dict(vocab_size=50304, hidden_size=512, num_hidden_layers=6, num_attention_heads=8,
                max_position_embeddings=2048, rotary_pct=0.25, tie_word_embeddings=False),
    "160m": dict(vocab_size=50304, hidden_size=768, num_hidden_layers=12, num_attention_heads=12,
                 max_position_embeddings=2048, rotary_pct=0.25, tie_word_embeddings=False),
}


def torch_rate(name, batch, length):
    import torch
    from transformers import GPTNeoXConfig, GPTNeoXForCausalLM
    torch.manual_seed(0)
    shape = dict(SHAPES[name])
    shape["intermediate_size"] = 4 * shape["hidden_size"]
    config = GPTNeoXConfig(use_cache=False, attention_dropout=0.0, hidden_dropout=0.0, **shape)
    config._attn_implementation = "sdpa"
    model = GPTNeoXForCausalLM(config).float().cuda().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    tokens = torch.randint(0, shape["vocab_size"], (batch, length + 1), device="cuda")
    inputs, targets = tokens[:, :-1].contiguous(), tokens[:, 1:].reshape(-1)
    times = []
    for step in range(12):
        torch.cuda.synchronize()
        begun = time.perf_counter()
        logits = model(input_ids=inputs).logits
        loss = torch.nn.functional.cross_entropy(logits.view(-1, logits.shape[-1]), targets)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        loss.item()
        torch.cuda.synchronize()
        if step >= 3:
            times.append(time.perf_counter() - begun)
    del model, optimizer, logits, loss
    torch.cuda.empty_cache()
    return batch * length / statistics.median(times)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True, help="the example `gpu` of mary-train")
    parser.add_argument("--device", default="0")
    args = parser.parse_args()
    out = subprocess.run([args.program, "--device", args.device, "time"], capture_output=True, text=True)
    print(out.stdout, out.stderr, flush=True)
    ours = {}
    for line in out.stdout.splitlines():
        found = re.match(r"time (\w+) (\d+)x(\d+) (\w+) (\d+) tokens/s", line)
        if found:
            name, batch, length, how, rate = found.groups()
            ours.setdefault((name, int(batch), int(length)), []).append((how, float(rate)))
    import torch
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    for (name, batch, length), rates in ours.items():
        try:
            theirs = torch_rate(name, batch, length)
        except torch.cuda.OutOfMemoryError:
            print(f"{name} {batch}x{length}: PyTorch ran out of memory", flush=True)
            torch.cuda.empty_cache()
            continue
        words = ", ".join(f"{how} {rate:.0f} (ratio {rate / theirs:.2f})" for how, rate in rates)
        print(f"{name} {batch}x{length}: PyTorch {theirs:.0f} tokens/s; ours {words}", flush=True)


main()
