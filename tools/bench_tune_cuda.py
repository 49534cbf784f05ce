#!/usr/bin/env python3
"""LoRA on a GPU in bfloat16: `mary tune`'s code beside PEFT and transformers, on the same GPU and weights.

    cargo build --release -p mary-train --example tune --features cuda
    MARY_CUDA_LIBS=FOLDER_OF_CUBLASLT python3 tools/bench_tune_cuda.py --program target/release/examples/tune

Shapes: GPT-NeoX of 70M and 1.4B, LLaMA of 7B, with random bfloat16 weights written on the spot. Both learn
the very same thing: rank 8 and alpha 16 on queries and values (all three where they are one matrix) from the
same first adapter, which the program writes; no dropout; AdamW with a constant rate of 1e-4, no warm-up and
no weight decay, gradients clipped at norm 1; the same tokens, those of the start and the end included, of
equal length, so that PEFT needs no padding; a step has all of them. transformers uses SDPA attention;
gradient checkpointing is switched on only where it runs out of memory without. Where peft is not installed,
a hand-written LoRA stands in, which does less: its products are in bfloat16, PEFT's in float32. Printed are
tokens a second (median of the steps after three), the most memory that nvidia-smi showed, ratios, and how
far apart the losses of a step ever were; the last line is JSON.

    python3 tools/bench_tune_cuda.py --program target/debug/examples/tune --device cpu --shapes tiny-neox,tiny-llama \
        --length 64 --rate 1e-2

compares the losses without a GPU, both in 32 bits: it shows that both are asked for the same.
"""

import argparse
import json
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time

NEOX = dict(model_type="gpt_neox", architectures=["GPTNeoXForCausalLM"], hidden_act="gelu", rotary_pct=0.25,
            rotary_emb_base=10000, layer_norm_eps=1e-5, use_parallel_residual=True, attention_bias=True,
            vocab_size=50304, max_position_embeddings=2048, tie_word_embeddings=False)
LLAMA = dict(model_type="llama", architectures=["LlamaForCausalLM"], hidden_act="silu", rope_theta=10000.0,
             rms_norm_eps=1e-5, vocab_size=32000, max_position_embeddings=4096, tie_word_embeddings=False)
# Each shape with its texts in a step.
SHAPES = {
    "70m": (dict(NEOX, hidden_size=512, num_hidden_layers=6, num_attention_heads=8, intermediate_size=2048), 32),
    "1.4b": (dict(NEOX, hidden_size=2048, num_hidden_layers=24, num_attention_heads=16, intermediate_size=8192), 16),
    "7b": (dict(LLAMA, hidden_size=4096, num_hidden_layers=32, num_attention_heads=32, num_key_value_heads=32,
                intermediate_size=11008), 8),
    "tiny-neox": (dict(NEOX, hidden_size=64, num_hidden_layers=3, num_attention_heads=4, intermediate_size=256,
                       vocab_size=1024), 4),
    "tiny-llama": (dict(LLAMA, hidden_size=64, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
                        intermediate_size=176, vocab_size=1024), 4),
}
WORDS = 1000
# The token that begins a text and ends it.
END = 0


def config_of(name):
    shape, batch = SHAPES[name]
    return dict(shape, torch_dtype="bfloat16", bos_token_id=END, eos_token_id=END), batch


def targets(config):
    return ["query_key_value"] if config["model_type"] == "gpt_neox" else ["q_proj", "v_proj"]


def tensors(config):
    """Names and shapes of a checkpoint."""
    d, f, v = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    if config["model_type"] == "gpt_neox":
        yield "gpt_neox.embed_in.weight", (v, d)
        for i in range(config["num_hidden_layers"]):
            at = f"gpt_neox.layers.{i}."
            for norm in ("input_layernorm", "post_attention_layernorm"):
                yield f"{at}{norm}.weight", (d,)
                yield f"{at}{norm}.bias", (d,)
            for name, rows, columns in (("attention.query_key_value", 3 * d, d), ("attention.dense", d, d),
                                        ("mlp.dense_h_to_4h", f, d), ("mlp.dense_4h_to_h", d, f)):
                yield f"{at}{name}.weight", (rows, columns)
                yield f"{at}{name}.bias", (rows,)
        yield "gpt_neox.final_layer_norm.weight", (d,)
        yield "gpt_neox.final_layer_norm.bias", (d,)
        yield "embed_out.weight", (v, d)
        return
    kv = d // config["num_attention_heads"] * config["num_key_value_heads"]
    yield "model.embed_tokens.weight", (v, d)
    for i in range(config["num_hidden_layers"]):
        at = f"model.layers.{i}."
        yield f"{at}input_layernorm.weight", (d,)
        yield f"{at}post_attention_layernorm.weight", (d,)
        for name, rows, columns in (("self_attn.q_proj", d, d), ("self_attn.k_proj", kv, d), ("self_attn.v_proj", kv, d),
                                    ("self_attn.o_proj", d, d), ("mlp.gate_proj", f, d), ("mlp.up_proj", f, d),
                                    ("mlp.down_proj", d, f)):
            yield f"{at}{name}.weight", (rows, columns)
    yield "model.norm.weight", (d,)
    yield "lm_head.weight", (v, d)


def write_model(folder, name, device="cuda"):
    """Random weights, made on the GPU; a tokenizer whose every word is a token."""
    import torch
    from safetensors.torch import save_file
    config, _ = config_of(name)
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    weights = {}
    for tensor, shape in tensors(config):
        if "norm" in tensor and tensor.endswith("weight"):
            value = torch.ones(shape, dtype=torch.bfloat16)
        else:
            value = (torch.randn(shape, device=device) * 0.02).to(torch.bfloat16).cpu()
        weights[tensor] = value
    save_file(weights, str(folder / "model.safetensors"), metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config))
    vocabulary = {f"w{i}": i for i in range(WORDS)}
    tokenizer = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
                 "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": None, "decoder": None,
                 "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "w0"}}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))


def rows_of(count, length):
    """Texts as numbers of words; with a token before them, `length` tokens are read."""
    draw = random.Random(1)
    return [[draw.randrange(1, WORDS) for _ in range(length - 1)] for _ in range(count)]


class Watch(threading.Thread):
    """The most memory that nvidia-smi shows, in MiB."""

    def __init__(self):
        super().__init__(daemon=True)
        self.most, self.over = 0, False

    def run(self):
        command = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
        while not self.over:
            try:
                text = subprocess.run(command, capture_output=True, text=True).stdout
                self.most = max(self.most, int(text.split()[0]))
            except (OSError, ValueError, IndexError):
                return
            time.sleep(0.1)


def summary(times, losses, tokens):
    """`times` are those at which a step was over; the first three steps warm up."""
    each = [b - a for a, b in zip(times, times[1:])][2:]
    return {"tokens_per_second": tokens / statistics.median(each), "step_ms": 1000 * statistics.median(each),
            "losses": losses, "steps": len(times)}


def ours(args, folder, name, adapter, steps, extra=()):
    """Tunes with the program. The first step's adapter is written where no rate is given to speak of."""
    config, batch = config_of(name)
    length = args.length
    rows = rows_of(batch, length)
    with tempfile.TemporaryDirectory() as work:
        data = pathlib.Path(work) / "set.jsonl"
        line = lambda row: json.dumps({"messages": [{"role": "user", "content": ""}, {
            "role": "assistant", "content": " ".join(f"w{i}" for i in row)}]})
        data.write_text("".join(line(row) + "\n" for row in rows))
        command = [args.program, str(folder), str(data), str(adapter), f"epochs={steps}", f"batch={batch}",
                   f"longest={length}", "rank=8", "alpha=16", "dropout=0", "held-out=0", f"rate={args.rate}",
                   "warm-up=0", "schedule=constant", "decay=0",
                   f"device={'cuda:0' if args.device == 'cuda' else 'cpu'}"] + [e for e in args.extra.split(",") if e]
        command += extra
        begun = time.time()
        child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        times, losses, said = [], [], []
        for text in child.stderr:
            found = re.match(r"step +(\d+)  loss ([\d.]+)", text)
            if found:
                times.append(time.time())
                losses.append(float(found[2]))
            else:
                said.append(text.strip())
        if child.wait():
            sys.exit(f"{name}: {' '.join(command)} failed:\n" + "\n".join(said))
    if steps == 1:
        return None
    result = summary(times, losses, batch * length)
    result["before_first_step_s"] = times[0] - begun
    result["said"] = [text for text in said if text]
    return result


def with_lora(model, config):
    """PEFT, or by hand where it is not installed; says which."""
    import torch
    try:
        from peft import LoraConfig, get_peft_model
        lora = LoraConfig(r=8, lora_alpha=16, lora_dropout=0.0, target_modules=targets(config), task_type="CAUSAL_LM")
        return get_peft_model(model, lora), "PEFT"
    except ImportError:
        pass

    class Lora(torch.nn.Module):
        def __init__(self, base):
            super().__init__()
            self.base = base
            bound = base.in_features ** -0.5
            options = dict(dtype=torch.float32, device=base.weight.device)
            self.a = torch.nn.Parameter(torch.empty(8, base.in_features, **options).uniform_(-bound, bound))
            self.b = torch.nn.Parameter(torch.zeros(base.out_features, 8, **options))

        def forward(self, x):
            low = torch.nn.functional.linear(x, self.a.to(x.dtype))
            return self.base(x) + 2.0 * torch.nn.functional.linear(low, self.b.to(x.dtype))

    for p in model.parameters():
        p.requires_grad_(False)
    for module in list(model.modules()):
        for child, layer in list(module.named_children()):
            if child in targets(config) and isinstance(layer, torch.nn.Linear):
                setattr(module, child, Lora(layer))
    return model, "hand-written LoRA"


def begin_with(model, adapter):
    """Puts the program's first adapter in the place of the one drawn here; B is zero in both."""
    import torch
    from safetensors.torch import load_file
    first = {k.removeprefix("base_model.model.").removesuffix(".lora_A.weight"): v
             for k, v in load_file(f"{adapter}/adapter_model.safetensors").items() if "lora_A" in k}
    found = 0
    with torch.no_grad():
        for name, p in model.named_parameters():
            if not p.requires_grad or not re.search(r"\.(lora_A|a)\b", name):
                continue
            site = [site for site in first if re.search(rf"(^|\.){re.escape(site)}\.", name)]
            assert len(site) == 1, (name, site)
            p.copy_(first[site[0]])
            found += 1
    assert found == len(first), (found, len(first))


def theirs(args, name):
    """Runs in a process of its own, so that the GPU's memory is free again after it."""
    import torch
    from transformers import AutoModelForCausalLM
    config, batch = config_of(name)
    dtype = torch.bfloat16 if args.device == "cuda" else torch.float32
    model = AutoModelForCausalLM.from_pretrained(args.folder, dtype=dtype, attn_implementation="sdpa").to(args.device)
    model.config.use_cache = False
    model, how = with_lora(model, config)
    begin_with(model, args.adapter)
    if args.checkpointing:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    model.train()
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=args.rate, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0,
                                  fused=args.device == "cuda")
    ids = torch.tensor([[END] + row + [END] for row in rows_of(batch, args.length)], device=args.device)
    read, next_ones = ids[:, :-1].contiguous(), ids[:, 1:].contiguous()
    times, losses = [], []
    for _ in range(args.steps):
        # Labels that are shifted already, so that as many tokens are read as in the program.
        loss = model(input_ids=read, labels=next_ones, shift_labels=next_ones).loss
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        losses.append(loss.item())
        if args.device == "cuda":
            torch.cuda.synchronize()
        times.append(time.time())
    result = summary(times, losses, batch * args.length)
    allocated = torch.cuda.max_memory_allocated() >> 20 if args.device == "cuda" else 0
    result.update(how=how, checkpointing=args.checkpointing, allocated_mib=allocated)
    print("RESULT " + json.dumps(result))


def peer(args, folder, name, adapter):
    for checkpointing in (False, True):
        command = [sys.executable, __file__, "--peer", name, "--folder", str(folder), "--adapter", str(adapter),
                   "--device", args.device, "--rate", str(args.rate), "--length", str(args.length),
                   "--steps", str(args.steps)] + (["--checkpointing"] if checkpointing else [])
        watch = Watch()
        watch.start()
        out = subprocess.run(command, capture_output=True, text=True)
        watch.over = True
        found = re.search(r"RESULT (.*)", out.stdout)
        if found:
            return dict(json.loads(found[1]), peak_mib=watch.most)
        full = "OutOfMemory" in out.stderr or "out of memory" in out.stderr
        print(f"{name}: PEFT {'ran out of memory' if full else 'failed'}: {out.stderr[-600:]}", flush=True)
        if not full:
            return None
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", help="the example `tune` of mary-train")
    parser.add_argument("--shapes", default="70m,1.4b,7b")
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"], help="cpu compares losses in 32 bits")
    parser.add_argument("--work", default=None, help="where weights are written; a temporary folder otherwise")
    parser.add_argument("--extra", default="", help="more arguments of the program, as name=value,name=value")
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    parser.add_argument("--adapter", help=argparse.SUPPRESS)
    parser.add_argument("--checkpointing", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.peer:
        theirs(args, args.peer)
        return
    if not args.program:
        parser.error("--program is needed")
    results = {}
    with tempfile.TemporaryDirectory() as temporary:
        for name in args.shapes.split(","):
            folder = pathlib.Path(args.work or temporary) / name
            if not (folder / "tokenizer.json").exists():
                # In a process of its own, so that its share of the GPU's memory is not counted.
                subprocess.run([sys.executable, "-c", f"import sys; sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r}); "
                                f"import bench_tune_cuda as b, pathlib; b.write_model(pathlib.Path({str(folder)!r}), {name!r}, {args.device!r})"], check=True)
            # One step of next to nothing leaves the first adapter as it was drawn.
            first = pathlib.Path(temporary) / f"{name}-first"
            ours(args, folder, name, first, 1, ["rate=1e-30"])
            watch = Watch()
            watch.start()
            mine = ours(args, folder, name, pathlib.Path(temporary) / f"{name}-adapter", args.steps)
            watch.over = True
            mine["peak_mib"] = watch.most
            other = peer(args, folder, name, first)
            results[name] = {"length": args.length, "batch": SHAPES[name][1], "mary": mine, "peer": other}
            print(f"{name}, {SHAPES[name][1]} × {args.length}: mary {mine['tokens_per_second']:.0f} tokens/s, "
                  f"{mine['peak_mib']} MiB, losses {mine['losses'][0]:.4f} to {mine['losses'][-1]:.4f}", flush=True)
            print("    " + "; ".join(mine["said"]), flush=True)
            if other:
                ratio = mine["tokens_per_second"] / other["tokens_per_second"]
                apart = max(abs(a - b) for a, b in zip(mine["losses"], other["losses"]))
                results[name].update(ratio=ratio, losses_apart=apart)
                print(f"    {other['how']}{', gradient checkpointing' if other['checkpointing'] else ''}: "
                      f"{other['tokens_per_second']:.0f} tokens/s, {other['peak_mib']} MiB, losses "
                      f"{other['losses'][0]:.4f} to {other['losses'][-1]:.4f}, at most {apart:.1e} apart; "
                      f"ratio {ratio:.2f}", flush=True)
            if not args.work:
                for file in folder.iterdir():
                    file.unlink()
    print(json.dumps(results))


if __name__ == "__main__":
    main()
