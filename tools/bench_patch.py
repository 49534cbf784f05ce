#!/usr/bin/env python3
"""Activation patching beside TransformerLens and nnsight: the same pairs, every layer, every position, by turns.

    python tools/bench_patch.py MARY HF_FOLDER [--pairs 100] [--peer-pairs 10] [--threads 2] [--only NAME] [--changed]

Needs torch, transformers, transformer_lens and nnsight. HF_FOLDER is a LLaMA-shaped model in 32 bits. Peers run their
usual way (TransformerLens' own function, nnsight's trace, one patch a pass) and at their best (all positions of a layer in one
batch; TransformerLens also begins at the changed layer), without loading; `mary patch` runs as a whole process, with
`--no-controls`. It does not compute what is the same in both texts up to a token; with --changed, peers at their best leave these
positions out, too. Times are for one pair; the ratio is peer over mary. What the peers find in the first pair is compared among them.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
import transformers as tf

NOUNS = "key dog cat boy girl car book tree house bird door cup friend teacher doctor driver letter picture".split()
LINKS = ["near", "behind", "beside", "with"]
CHANGED = False
BEGINNING = "In the morning, as everybody in the village knew, the"


def pairs(tokenizer, count):
    one = lambda word: len(tokenizer.encode(" " + word, add_special_tokens=False)) == 1
    nouns = [n for n in NOUNS if one(n) and one(n + "s")]
    made = []
    for i in range(count):
        a, b, link = nouns[i % len(nouns)], nouns[(i * 7 + 3) % len(nouns)], LINKS[i % 4]
        text = lambda noun: f"{BEGINNING} {noun} {link} the {b}"
        made.append((text(a + "s"), text(a), "are", "is"))
    return made


def difference(logits, good, bad):
    return logits[:, -1, good] - logits[:, -1, bad]


def positions(clean, corrupted):
    """All of them; with --changed, those from the first token on that differs."""
    same = (clean[0] == corrupted[0]).long().cumprod(0).sum().item() if CHANGED else 0
    return list(range(same, clean.shape[1]))


def lens(hf, tokenizer, folder):
    """TransformerLens: its own function, and all positions of a layer at once from that layer on."""
    from transformer_lens import patching
    from transformer_lens.model_bridge import TransformerBridge

    layers = hf.config.num_hidden_layers
    model = TransformerBridge.boot_transformers(str(folder), hf_model=hf, tokenizer=tokenizer)

    def usual(clean, corrupted, good, bad):
        _, cache = model.run_with_cache(clean)
        return patching.get_act_patch_resid_pre(model, corrupted, cache, lambda x: difference(x, good, bad)[0])

    def best(clean, corrupted, good, bad):
        names = lambda name: name.endswith("resid_pre")
        _, ours = model.run_with_cache(clean, names_filter=names)
        _, theirs = model.run_with_cache(corrupted, names_filter=names)
        places, found = positions(clean, corrupted), []
        for layer in range(layers):
            x = theirs["resid_pre", layer].repeat(len(places), 1, 1)
            x[range(len(places)), places] = ours["resid_pre", layer][0, places]
            found.append(difference(model(x, start_at_layer=layer), good, bad))
        return torch.stack(found)

    return {"TransformerLens": usual, "TransformerLens, batched": best}


def sight(hf, tokenizer):
    from nnsight import LanguageModel

    model = LanguageModel(hf, tokenizer=tokenizer)
    layers = hf.config.num_hidden_layers
    first = lambda x: x[0] if isinstance(x, tuple) else x

    def states(text):
        with model.trace(text):
            kept = [block.input.clone() for block in model.model.layers].save()
        return kept

    def usual(clean, corrupted, good, bad):
        ours, found = states(clean), []
        for layer in range(layers):
            for at in range(clean.shape[1]):
                with model.trace(corrupted):
                    model.model.layers[layer].input[0, at] = ours[layer][0, at]
                    logits = model.output.logits.save()
                found.append(difference(logits, good, bad))
        return torch.stack(found).view(layers, -1)

    def best(clean, corrupted, good, bad):
        ours, found, places = states(clean), [], positions(clean, corrupted)
        for layer in range(layers):
            with model.trace(corrupted.repeat(len(places), 1)):
                x = model.model.layers[layer].input
                x[range(len(places)), places] = ours[layer][0, places]
                logits = model.output.logits.save()
            found.append(difference(logits, good, bad))
        return torch.stack(found)

    return {"nnsight": usual, "nnsight, batched": best}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mary")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--peer-pairs", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", help="peers whose name holds this")
    parser.add_argument("--changed", action="store_true")
    options = parser.parse_args()
    global CHANGED
    CHANGED = options.changed
    torch.set_num_threads(options.threads)
    torch.set_grad_enabled(False)
    tokenizer = tf.AutoTokenizer.from_pretrained(options.folder)
    load = lambda: tf.AutoModelForCausalLM.from_pretrained(options.folder, dtype=torch.float32).eval()
    hf = load()
    made = pairs(tokenizer, options.pairs)
    work = Path(tempfile.mkdtemp())
    with open(work / "pairs.csv", "w", newline="") as file:
        csv.writer(file).writerows([["clean", "corrupted", "good", "bad"], *made])
    words = [options.mary, "patch", str(work / "pairs.csv"), "-m", f"hf/{options.folder}", "--no-controls", "-q",
             "--out", str(work / "out"), "--threads", str(options.threads)]

    def ours():
        begun = time.monotonic()
        done = subprocess.run(words, capture_output=True, text=True, cwd=work)
        if done.returncode:
            sys.exit(done.stderr)
        return (time.monotonic() - begun) / options.pairs

    encode = lambda text: torch.tensor([tokenizer.encode(text, add_special_tokens=False)])
    token = lambda word: tokenizer.encode(" " + word, add_special_tokens=False)[0]
    peers = {**sight(hf, tokenizer), **lens(load(), tokenizer, options.folder)}
    print(f"{len(made)} pairs of {encode(made[0][0]).shape[1]} tokens, load {os.getloadavg()[0]:.1f}")
    first = None
    for name, run in peers.items():
        if options.only and options.only not in name:
            continue
        count = options.peer_pairs if "batched" in name else max(1, options.peer_pairs // 5)
        found = run(*map(encode, made[0][:2]), *map(token, made[0][2:]))
        first = found if first is None else first
        apart = (found.reshape(first.shape) - first).abs().max()
        before = ours()
        begun = time.monotonic()
        for clean, corrupted, good, bad in made[:count]:
            run(encode(clean), encode(corrupted), token(good), token(bad))
        theirs = (time.monotonic() - begun) / count
        mean = (before + ours()) / 2
        print(f"{name:26} {theirs:7.2f} s a pair, mary {mean:6.3f} s a pair, ratio {theirs / mean:6.1f}, {apart:.0e} from the first", flush=True)


if __name__ == "__main__":
    main()
