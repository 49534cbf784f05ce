#!/usr/bin/env python3
"""Makes the golden files of texts scored by minicons itself and by transformers.

    python tools/golden_minicons.py MODELS            # causal: builtin nano, and SmolLM2 from MODELS
    python tools/golden_minicons.py MODELS --masked   # masked: tiny BERT and RoBERTa, and AntiBERTy

Needs torch, transformers, gguf, minicons (0.3.39) and, for --masked, antiberty (0.1.3, its weights
alone). MODELS is the folder of tools/make_test_models.py. The 200 sentences are those of
crates/models/mary-local/tests/golden_real.json. Written files are small and committed.
"""

import argparse
import json
import shutil
import tempfile
from pathlib import Path

import torch
import transformers as tf
from minicons import scorer

torch.set_num_threads(1)
ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "crates" / "run" / "mary-lab" / "tests" / "texts" / "golden"
SENTENCES = json.loads((ROOT / "crates/models/mary-local/tests/golden_real.json").read_text())["sentences"]


def digits(xs):
    return [round(float(x), 5) for x in xs]


def nano(folder):
    """The built-in model as transformers reads it."""
    assets = ROOT / "crates/run/mary-lab/assets/nano"
    for name in ["config.json", "tokenizer.json", "tokenizer_config.json"]:
        shutil.copy(assets / name, folder / name)
    shutil.copy(assets / "step10000.safetensors", folder / "model.safetensors")
    return tf.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32), tf.AutoTokenizer.from_pretrained(folder)


def smollm2(models):
    name = dict(gguf_file="smollm2-135m.gguf")
    return tf.AutoModelForCausalLM.from_pretrained(models, dtype=torch.float32, **name), tf.AutoTokenizer.from_pretrained(models, **name)


def whole(sentence):
    """One call a piece: minicons splits at spaces itself and calls this on each part."""
    return sentence.split()


def causal(model, tokenizer):
    """What transformers says of tokens, and minicons of words under both rules."""
    model.eval()
    lm = scorer.IncrementalLMScorer(model, "cpu", tokenizer=tokenizer)
    tokens, entropy, ranks, plain, corrected = [], [], [], [], []
    for sentence in SENTENCES:
        ids = [tokenizer.bos_token_id] + tokenizer(sentence, add_special_tokens=False).input_ids
        with torch.no_grad():
            logits = model(torch.tensor([ids])).logits[0, :-1].double()
        logs = logits.log_softmax(-1)
        own = logs[torch.arange(len(ids) - 1), ids[1:]]
        tokens.append(digits(own))
        entropy.append(digits(-(logs.exp() * logs).sum(-1)))
        ranks.append([int((row > x).sum()) + 1 for row, x in zip(logs, own)])
    for at in range(0, len(SENTENCES), 20):
        for to, correct in [(plain, False), (corrected, True)]:
            for scored in lm.word_score_tokenized(SENTENCES[at:at + 20], whole, bow_correction=correct, bos_token=True, surprisal=True, base_two=True):
                to.append([[word, round(float(x), 5)] for word, x in scored])
    return dict(logprobs=tokens, entropy=entropy, ranks=ranks, plain=plain, corrected=corrected)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("models", type=Path)
    arguments.add_argument("--masked", action="store_true")
    given = arguments.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    if given.masked:
        import golden_masked

        return golden_masked.main(given.models, OUT)
    with tempfile.TemporaryDirectory() as folder:
        for name, made in [("nano", lambda: nano(Path(folder))), ("smollm2", lambda: smollm2(given.models))]:
            found = causal(*made())
            (OUT / f"minicons_{name}.json").write_text(json.dumps(found, ensure_ascii=False, separators=(",", ":")) + "\n")
            print(name, sum(map(len, found["logprobs"])), "tokens", flush=True)


if __name__ == "__main__":
    main()
