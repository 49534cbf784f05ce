"""Golden files of `mary-train`: three AdamW steps of PyTorch on tiny models, both families.

    python tools/golden_train.py crates/models/mary-train/tests/golden

Needs torch, transformers and safetensors. Weights are random with a fixed seed; each file holds
the weights before, the gradients of the first step, the weights after each of three steps, the
tokens, and the losses, gradient norms and settings as metadata.
"""
import json
import pathlib
import sys

import torch
from safetensors.torch import save_file
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM, LlamaConfig, LlamaForCausalLM

RATE, BETAS, EPS, DECAY, CLIP, STEPS = 1e-2, (0.9, 0.95), 1e-8, 0.1, 1.0, 3


def neox():
    config = GPTNeoXConfig(
        vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=96,
        rotary_pct=0.5, max_position_embeddings=32, tie_word_embeddings=True, attn_implementation="eager",
        hidden_dropout=0.0, attention_dropout=0.0,
    )
    flat = dict(
        model_type="gpt_neox", vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=3,
        intermediate_size=96, rotary_pct=0.5, max_position_embeddings=32, tie_word_embeddings=True,
        hidden_act="gelu", layer_norm_eps=config.layer_norm_eps,
    )
    return GPTNeoXForCausalLM(config), flat


def llama():
    config = LlamaConfig(
        vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        head_dim=6, intermediate_size=40, max_position_embeddings=32, tie_word_embeddings=False,
        rope_theta=10000.0, attn_implementation="eager", rms_norm_eps=1e-5,
    )
    flat = dict(
        model_type="llama", vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=6, intermediate_size=40, max_position_embeddings=32,
        tie_word_embeddings=False, rope_theta=10000.0, hidden_act="silu", rms_norm_eps=1e-5,
    )
    return LlamaForCausalLM(config), flat


def run(build, seed):
    torch.manual_seed(seed)
    model, config = build()
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_(torch.randn_like(p) * (0.3 if p.ndim == 2 else 0.1) + (1.0 if "norm" in name and name.endswith("weight") else 0.0))
    tokens = torch.randint(0, 61, (3, 21))
    named = dict(model.named_parameters())
    matrices = [p for p in named.values() if p.ndim == 2]
    rest = [p for p in named.values() if p.ndim != 2]
    optimizer = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": DECAY}, {"params": rest, "weight_decay": 0.0}],
        lr=RATE, betas=BETAS, eps=EPS,
    )
    out = {f"before.{n}": p.detach().clone() for n, p in named.items()}
    out["tokens"] = tokens.to(torch.int32)
    losses, norms = [], []
    for step in range(STEPS):
        optimizer.zero_grad()
        logits = model(tokens[:, :-1], use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        if step == 0:
            out.update({f"gradient.{n}": p.grad.detach().clone() for n, p in named.items()})
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP).item())
        optimizer.step()
        losses.append(loss.item())
        if step in (0, STEPS - 1):
            out.update({f"after{step + 1}.{n}": p.detach().clone() for n, p in named.items()})
    metadata = dict(config=config, losses=losses, norms=norms, rate=RATE, beta1=BETAS[0], beta2=BETAS[1], eps=EPS, decay=DECAY, clip=CLIP)
    return out, {"golden": json.dumps(metadata)}


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, build in (("neox", neox), ("llama", llama)):
        tensors, metadata = run(build, 7)
        save_file(tensors, folder / f"{name}.safetensors", metadata=metadata)
        print(name, metadata["golden"][-160:])
