#!/usr/bin/env python3
"""Golden files of LTG-BERT and GPT-BERT, from the code that their makers published:

    python3 tools/golden_ltg.py MODELING_LTGBERT_PY MODEL_EXTRA_PY

The first is `modeling_ltgbert.py` of github.com/ltgoslo/ltg-bert (commit 06740d8), the second `model_extra.py` of GPT-BERT's
training code (as in github.com/suchirsalhan/gpt-bert, evaluation/blimp). Needs torch, transformers, safetensors. Tiny random
models under the names of the published checkpoints: LTG-BERT's, GPT-BERT's own (causal), and those of BabyLM's baselines, read
in both directions; for the last, also the log-probability of every token, masked, from the place before it.
"""
import importlib.util
import json
import sys
import types

import torch

import golden_local
import golden_published
from golden_local import HERE, TEXT, b64

torch.set_num_threads(1)
CONFIG = dict(vocab_size=64, hidden_size=32, num_hidden_layers=3, num_attention_heads=4, intermediate_size=48,
              max_position_embeddings=64, position_bucket_size=6, layer_norm_eps=1e-7)


def tokenizer():
    t = golden_local.tokenizer()
    t.add_special_tokens(["<mask>"])
    return t


def load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def randomise(model):
    g = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for name, p in sorted(model.named_parameters()):
            noise = torch.randn(p.shape, generator=g)
            if "alphas" in name:
                p.copy_(0.3 * noise)
                p[-1] += 1.0
            elif p.dim() == 1:
                p.copy_((0.0 if "bias" in name else 1.0) + 0.2 * noise)
            else:
                p.copy_(noise * (0.5 if "embedding" in name else 1.5 / p.shape[-1] ** 0.5))


def tensors(model):
    return {k: v for k, v in model.state_dict().items() if "position_indices" not in k and k != "classifier.nonlinearity.5.weight"}


def normed(x):
    return torch.nn.functional.layer_norm(x, (x.shape[-1],), eps=CONFIG["layer_norm_eps"])


def write(name, config, weights, ids, hidden, logits, path, more=None):
    golden_published.tokenizer = tokenizer
    golden_published.write(name, config, weights, ids, hidden, logits, golden_published.digest(path))
    if more:
        file = HERE / name / "golden.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), **more}))


def ltg_bert(path):
    stub = types.ModuleType("configuration_norbert")
    stub.NorbertConfig = golden_local.tf.PreTrainedConfig
    sys.modules["configuration_norbert"] = stub
    code = load(path, "modeling_ltgbert")
    config = types.SimpleNamespace(**CONFIG, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    model = torch.nn.Module()
    model.embedding, model.transformer = code.Embedding(config), code.Encoder(config)
    model.classifier = code.MaskClassifier(config, model.embedding.word_embedding.weight)
    randomise(model.eval())
    ids = tokenizer().encode(TEXT).ids
    with torch.no_grad():
        x, relative = model.embedding(torch.tensor([ids]).t())
        states, _ = model.transformer(x, torch.zeros(1, 1, 1, len(ids), dtype=torch.bool), relative)
        states = [s.transpose(0, 1) for s in states]
        logits = model.classifier(states[-1])
    states[-1] = normed(states[-1])
    config = dict(CONFIG, architectures=["LtgBertForMaskedLM"])
    write("ltgbert", config, tensors(model), ids, states, logits, path)


def gpt_bert(path):
    code = load(path, "model_extra")
    config = types.SimpleNamespace(**CONFIG, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    model = code.Bert(config)
    randomise(model.eval())
    ids = tokenizer().encode(TEXT).ids

    def run(ids, causal):
        length = len(ids)
        mask = torch.ones(length, length, dtype=torch.bool).triu(1) if causal else torch.zeros(length, length, dtype=torch.bool)
        states = []
        mlps = model.transformer.dwa_modules.register_forward_hook(lambda _, given, out: states.append(out.transpose(0, 1)))
        with torch.no_grad():
            first, _ = model.embedding(torch.tensor([ids]).t())
            last = model.get_contextualized(torch.tensor([ids]).t(), mask.unsqueeze(0)).transpose(0, 1)
            logits = model.classifier.nonlinearity(last)
        mlps.remove()
        # The average after each feed-forward part is a layer's output.
        states = [first.transpose(0, 1), *states[1::2]]
        states[-1] = normed(states[-1])
        return states, logits

    states, logits = run(ids, True)
    write("gpt_bert_ltg", dict(CONFIG, architectures=["LtgbertForCausalLM"], is_decoder=True), tensors(model), ids, states, logits, path)
    states, logits = run(ids, False)
    mask = tokenizer().token_to_id("<mask>")
    shifted = []
    for at in range(1, len(ids)):
        _, after = run(ids[:at] + [mask] + ids[at + 1:], False)
        shifted.append(round(after[0, at - 1].log_softmax(-1)[ids[at]].item(), 6))
    rename = {"embedding.": "model.embedding.", "transformer.": "model.", "classifier.": "lm_head."}
    named = {next(to + k[len(at):] for at, to in rename.items() if k.startswith(at)): v for k, v in tensors(model).items()}
    write("gpt_bert_babylm", dict(CONFIG, architectures=["GPTBERTForMaskedLM"]), named, ids, states, logits, path, {"masked": shifted})


if __name__ == "__main__":
    ltg_bert(sys.argv[1])
    gpt_bert(sys.argv[2])
