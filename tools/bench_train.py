"""PyTorch's half of the training benchmark: one line of JSON per round on stdout.

Called by `cargo run --release -p mary-train --example throughput`; reads a model folder, runs
the same number of training steps (forward, backward, clip, AdamW) on random tokens of the same
shape, and prints tokens a second.
"""
import json
import sys
import time

import torch
from transformers import AutoModelForCausalLM

folder, threads, batch, context, steps = sys.argv[1], *map(int, sys.argv[2:6])
torch.set_num_threads(threads)
torch.manual_seed(0)
model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="sdpa")
model.train()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95), weight_decay=0.1)
tokens = torch.randint(0, model.config.vocab_size, (batch, context + 1))


def step():
    logits = model(tokens[:, :-1], use_cache=False).logits
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return loss.item()


step()
for line in sys.stdin:
    begun, cpu = time.perf_counter(), time.process_time()
    for _ in range(steps):
        step()
    wall, cpu = time.perf_counter() - begun, time.process_time() - cpu
    print(json.dumps({"tokens_per_second": steps * batch * context / wall, "per_cpu_second": steps * batch * context / cpu}), flush=True)
