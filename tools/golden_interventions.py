#!/usr/bin/env python3
"""Makes the golden files of interventions: values changed inside tiny models, by nnsight and by TransformerLens.

    python tools/golden_interventions.py            -> crates/models/mary-local/tests/golden_interventions/
    python tools/golden_interventions.py --lens      by TransformerLens, with the attention patterns
    python tools/golden_interventions.py --tuned     a tuned lens of one tiny model -> crates/run/mary-lab/tests/tuned_lens/
    python tools/golden_interventions.py --real DIR  SmolLM2 alone, a Hugging Face folder in 32 bits; with --lens its file is compared, none written

Needs torch, transformers and nnsight, or transformer_lens, or tuned-lens. The tiny models are those of tools/golden_local.py. For every family: each site
(stream, attention, feed-forward, single heads), each layer, three tokens, replaced by zero and by what the other text
has in the same place; the log-probabilities of two words after the text. And the logit lens: what the head makes of
every layer's last token.
"""

import argparse
import json
from pathlib import Path

import torch
import transformers as tf

torch.set_num_threads(1)
torch.set_grad_enabled(False)

CRATE = Path(__file__).resolve().parent.parent / "crates" / "models" / "mary-local" / "tests"
TINY = ("the old cat that sleeps near the river", "the red dog that runs over the stone", ["is", "sings"])
REAL = ("The keys to the old wooden cabinet", "The key to the old wooden cabinet", ["are", "is"])

# Where each family keeps its blocks, what a block's attention and feed-forward layers add, what mixes the heads, and
# the norm before the head.
FAMILIES = {
    "llama": ("model.layers", "self_attn", "mlp", "self_attn.o_proj", "model.norm"),
    "qwen2": ("model.layers", "self_attn", "mlp", "self_attn.o_proj", "model.norm"),
    "gemma2": ("model.layers", "post_attention_layernorm", "post_feedforward_layernorm", "self_attn.o_proj", "model.norm"),
    "gpt2": ("transformer.h", "attn", "mlp", "attn.c_proj", "transformer.ln_f"),
    "gpt_neox": ("gpt_neox.layers", "attention", "mlp", "attention.dense", "gpt_neox.final_layer_norm"),
    "opt": ("model.decoder.layers", "self_attn", "fc2", "self_attn.out_proj", "model.decoder.final_layer_norm"),
    "mixtral": ("model.layers", "self_attn", "mlp", "self_attn.o_proj", "model.norm"),
}


def part(module, path):
    for name in path.split("."):
        module = module[int(name)] if name.isdigit() else getattr(module, name)
    return module


def tensor(value):
    return value[0] if isinstance(value, tuple) else value


class Sites:
    """The value of a site inside a trace."""

    def __init__(self, model, family):
        self.model, (self.layers, self.attention, self.mlp, self.mix, self.norm) = model, family

    def value(self, site, layer):
        blocks = part(self.model, self.layers)
        if site == "stream":
            return blocks[0].input if layer == 0 else tensor(blocks[layer - 1].output)
        block = blocks[layer]
        if site == "attention":
            return tensor(part(block, self.attention).output)
        if site == "feed-forward":
            return tensor(part(block, self.mlp).output)
        return part(block, self.mix).input


def cases(layers, heads, tokens):
    for layer in range(layers + 1):
        yield from (("stream", layer, None, token) for token in tokens)
    for layer in range(layers):
        for site in ["attention", "feed-forward"]:
            yield from ((site, layer, None, token) for token in tokens)
        yield from (("head", layer, head, tokens[0]) for head in heads)


def flat(x):
    """Rows of a text, however the module keeps the batch (OPT's feed-forward layers have none)."""
    return x if x.dim() == 2 else x[0]


def make(hf, tokenizer, family, heads, words, layers=None):
    from nnsight import LanguageModel

    TEXT, OTHER, WORDS = words
    model = LanguageModel(hf, tokenizer=tokenizer)
    sites = Sites(model, family)
    config = hf.config
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    ids = {text: torch.tensor([tokenizer.encode(text, add_special_tokens=False)]) for text in [TEXT, OTHER]}
    words = [tokenizer.encode(" " + word, add_special_tokens=False) for word in WORDS]
    assert all(len(w) == 1 for w in words) and ids[TEXT].shape == ids[OTHER].shape, "texts do not align"
    columns = lambda head: slice(None) if head is None else slice(head * width, (head + 1) * width)
    last = ids[TEXT].shape[1] - 1
    found = []
    for site, layer, head, token in cases(config.num_hidden_layers, heads, [1, last - 2, last]):
        if layers and layer not in layers:
            continue
        with model.trace(ids[OTHER]):
            kept = flat(sites.value(site, layer))[token, columns(head)].clone().save()
        for operation in ["zero", "from"]:
            with model.trace(ids[TEXT]):
                value = flat(sites.value(site, layer))
                value[token, columns(head)] = 0.0 if operation == "zero" else kept
                logits = model.output.logits[0, -1].clone().save()
            chances = torch.log_softmax(logits.double(), -1)
            found.append(dict(site=site, layer=layer, head=head, token=token, operation=operation,
                              logprobs=[round(float(chances[w[0]]), 7) for w in words]))
    for layer in range(config.num_hidden_layers + 1):
        if layers and layer not in layers:
            continue
        with model.trace(ids[TEXT]):
            kept = flat(sites.value("stream", layer))[last].clone().save()
        with model.trace(ids[TEXT]):
            value = flat(part(model, sites.norm).input)
            value[last] = kept
            logits = model.output.logits[0, -1].clone().save()
        chances = torch.log_softmax(logits.double(), -1)
        found.append(dict(site="stream", layer=layer, head=None, token=last, operation="lens",
                          logprobs=[round(float(chances[w[0]]), 7) for w in words]))
    return dict(text=TEXT, other=OTHER, continuations=[" " + w for w in WORDS], cases=found)


def make_lens(hf, tokenizer, folder, heads, words, chosen=None):
    """The same cases by hooks of TransformerLens, and what every head attends to; of `chosen` layers, without the latter."""
    from transformer_lens.model_bridge import TransformerBridge

    TEXT, OTHER, WORDS = words
    layers = hf.config.num_hidden_layers
    ids = {text: torch.tensor([tokenizer.encode(text, add_special_tokens=False)]) for text in [TEXT, OTHER]}
    # What is wrapped gives no attention back.
    patterns = [] if chosen else hf(ids[TEXT], output_attentions=True).attentions
    patterns = [[[[round(float(x), 7) for x in row[: at + 1]] for at, row in enumerate(head)] for head in layer[0]]
                for layer in patterns]
    model = TransformerBridge.boot_transformers(str(folder), hf_model=hf, tokenizer=tokenizer)
    words = [tokenizer.encode(" " + word, add_special_tokens=False)[0] for word in WORDS]
    last = ids[TEXT].shape[1] - 1

    def hook(site, layer):
        if site == "stream":
            return f"blocks.{layer}.hook_resid_pre" if layer < layers else f"blocks.{layers - 1}.hook_resid_post"
        return f"blocks.{layer}." + {"attention": "hook_attn_out", "feed-forward": "hook_mlp_out", "head": "attn.hook_z"}[site]

    def chances(hooks):
        logits = model.run_with_hooks(ids[TEXT], fwd_hooks=hooks)[0, -1]
        return [round(float(x), 7) for x in torch.log_softmax(logits.double(), -1)[words]]

    found, (_, other), (_, own) = [], model.run_with_cache(ids[OTHER]), model.run_with_cache(ids[TEXT])
    for site, layer, head, token in cases(layers, heads, [1, last - 2, last]):
        if chosen and layer not in chosen:
            continue
        name = hook(site, layer)
        for operation in ["zero", "from"]:
            def change(value, hook):
                value, theirs = value.clone(), other[name]
                at = (0, token) if head is None else (0, token, head)
                value[at] = 0.0 if operation == "zero" else theirs[at]
                return value
            found.append(dict(site=site, layer=layer, head=head, token=token, operation=operation,
                              logprobs=chances([(name, change)])))
    for layer in chosen or range(layers + 1):
        def change(value, hook):
            value = value.clone()
            value[0, last] = own[f"blocks.{layer}.hook_resid_pre" if layer < layers else hook.name][0, last]
            return value
        found.append(dict(site="stream", layer=layer, head=None, token=last, operation="lens",
                          logprobs=chances([(f"blocks.{layers - 1}.hook_resid_post", change)])))
    return dict(text=TEXT, other=OTHER, continuations=[" " + w for w in WORDS], cases=found, patterns=patterns)


def tuned(folder, steps=200):
    """A tuned lens as its package saves it, trained for a moment, and what it predicts after every layer."""
    from tuned_lens.nn.lenses import TunedLens

    out = CRATE.parent.parent.parent / "run" / "mary-lab" / "tests" / "tuned_lens"
    hf = tf.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = tf.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    hf.config._name_or_path = "tiny"
    hf.name_or_path = "tiny"
    lens = TunedLens.from_model(hf)
    torch.manual_seed(1)
    adam = torch.optim.Adam(lens.layer_translators.parameters(), lr=1e-2)
    with torch.enable_grad():
        for _ in range(steps):
            ids = torch.randint(0, hf.config.vocab_size, (4, 16))
            with torch.no_grad():
                seen = hf(ids, output_hidden_states=True)
            goal = torch.log_softmax(seen.logits, -1)
            loss = 0.0
            for layer in range(len(lens)):
                ours = torch.log_softmax(lens(seen.hidden_states[layer], layer), -1)
                loss = loss + torch.nn.functional.kl_div(ours, goal, log_target=True, reduction="batchmean")
            adam.zero_grad()
            loss.backward()
            adam.step()
    lens.save(out)
    TEXT, _, WORDS = TINY
    # A lens reads texts from the start token on.
    ids = torch.tensor([[hf.config.bos_token_id, *tokenizer.encode(TEXT, add_special_tokens=False)]])
    words = [tokenizer.encode(" " + word, add_special_tokens=False)[0] for word in WORDS]
    seen, rows = hf(ids, output_hidden_states=True), []
    for layer in range(len(lens)):
        logits = lens(seen.hidden_states[layer][0, -1], layer).double()
        rows.append([round(float(x), 7) for x in torch.log_softmax(logits, -1)[words]])
    rows.append([round(float(x), 7) for x in torch.log_softmax(seen.logits[0, -1].double(), -1)[words]])
    (out / "golden.json").write_text(json.dumps(dict(text=TEXT, words=WORDS, layers=rows)) + "\n")
    print(out, rows)


def write(name, made):
    folder = CRATE / "golden_interventions"
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(made, separators=(",", ":")) + "\n")
    print(name, len(made["cases"]), "cases")


def compare(name, made):
    """How far TransformerLens is from nnsight's file. Both change values in the same modules of transformers: equality says that
    the places are the same, not that two programs did the arithmetic."""
    key = lambda case: tuple(value for name, value in case.items() if name != "logprobs")
    theirs = {key(case): case["logprobs"] for case in json.loads((CRATE / "golden_interventions" / f"{name}.json").read_text())["cases"]}
    apart = [abs(a - b) for case in made["cases"] for a, b in zip(case["logprobs"], theirs[key(case)])]
    print(f"{name}: {len(made['cases'])} of {len(theirs)} cases, at most {max(apart):.1e} apart")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--real", type=Path)
    parser.add_argument("--lens", action="store_true")
    parser.add_argument("--tuned", action="store_true")
    options = parser.parse_args()
    load = lambda folder: tf.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    if options.real:
        tokenizer = tf.AutoTokenizer.from_pretrained(options.real)
        model, heads, layers, name = load(options.real), [0, 4], [0, 7, 15, 29, 30], "real-smollm2-135m.gguf"
        if options.lens:
            return compare(name, make_lens(model, tokenizer, options.real, heads, REAL, layers))
        return write(name, make(model, tokenizer, FAMILIES["llama"], heads, REAL, layers=layers))
    if options.tuned:
        return tuned(CRATE / "golden" / "gpt2")
    for name, family in FAMILIES.items():
        folder = CRATE / "golden" / name
        tokenizer = tf.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
        if options.lens:
            write(f"transformer_lens-{name}", make_lens(load(folder), tokenizer, folder, [0, 3], TINY))
        else:
            write(name, make(load(folder), tokenizer, family, [0, 3], TINY))


if __name__ == "__main__":
    main()
