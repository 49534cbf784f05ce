#!/usr/bin/env python3
"""Makes the golden files of encoder-decoders: tiny random T5s, and what Hugging Face transformers computes with them.

    python tools/golden_pairs.py    # -> crates/models/mary-local/tests/golden_pairs/

Needs torch, transformers, safetensors and tokenizers. Written files are small and committed; nothing is downloaded.
"""

import json
import shutil

import torch
import transformers as tf
from golden_local import HERE, TEXT, WORDS, b64, prune, randomise

HERE = HERE.parent / "golden_pairs"
ANSWER = "the bird sleeps near the stone and sings"
SIZES = dict(d_model=32, d_kv=12, d_ff=48, num_layers=2, num_decoder_layers=3, num_heads=4,
             relative_attention_num_buckets=8, relative_attention_max_distance=12)


def tokenizer():
    """A unigram vocabulary as T5 has it: words with their space, letters, the end added to a text."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    letters = "\u2581abcdefghijklmnopqrstuvwxyz"
    vocab = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
    vocab += [("\u2581" + word, -3.0 - i / 10) for i, word in enumerate(WORDS)] + [(c, -10.0 - i / 10) for i, c in enumerate(letters)]
    t = Tokenizer(models.Unigram(vocab, unk_id=2, byte_fallback=False))
    t.normalizer = normalizers.NFKC()
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")])
    t.decoder = decoders.Metaspace(prepend_scheme="always")
    t.add_special_tokens(["<pad>", "</s>", "<unk>"])
    t.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return t


def cases(vocabulary):
    """Name, configuration, class, whether it has a head of its own."""
    plain = dict(SIZES, vocab_size=vocabulary, decoder_start_token_id=0)
    full, gated = tf.T5ForConditionalGeneration, dict(plain, feed_forward_proj="gated-gelu")
    yield "t5", tf.T5Config(**plain), full, False
    yield "t5_gated", tf.T5Config(**dict(gated, decoder_start_token_id=2), tie_word_embeddings=False), full, True
    yield "t5_encoder", tf.T5Config(**gated), tf.T5EncoderModel, False
    yield "mt5", tf.MT5Config(**gated), tf.MT5ForConditionalGeneration, False
    yield "umt5", tf.UMT5Config(**gated), tf.UMT5ForConditionalGeneration, False


def main():
    t = tokenizer()
    source, answer = t.encode(TEXT).ids, t.encode(ANSWER, add_special_tokens=False).ids
    for name, config, kind, own_head in cases(t.get_vocab_size()):
        target = [config.decoder_start_token_id, *answer]
        torch.manual_seed(1)
        model = kind._from_config(config, attn_implementation="eager").float().eval()
        if own_head:
            config.tie_word_embeddings = model.config.tie_word_embeddings = False
            model.lm_head.weight = torch.nn.Parameter(torch.empty_like(model.shared.weight))
        randomise(model)
        with torch.no_grad():
            for p in (p for n, p in model.named_parameters() if n.endswith("relative_attention_bias.weight")):
                p.mul_(4.0)  # distances that matter
            ids = torch.tensor([source])
            encoder = model.encoder(input_ids=ids, output_hidden_states=True)
            golden = {
                "made_with": f"transformers {tf.__version__}, torch {torch.__version__}, eager attention, f32",
                "source": source,
                "hidden": [b64(h[0].numpy()) for h in (*encoder.hidden_states[:-1], encoder.last_hidden_state)],
            }
            if kind is not tf.T5EncoderModel:
                logits = model(input_ids=ids, decoder_input_ids=torch.tensor([target])).logits[0]
                written = model.generate(ids, do_sample=False, num_beams=1, max_new_tokens=12, use_cache=False)[0, 1:].tolist()
                golden.update(target=target, logits=b64(logits.numpy()), written=written)
        folder = HERE / name
        shutil.rmtree(folder, ignore_errors=True)
        model.save_pretrained(folder, safe_serialization=True)
        prune(folder)
        if own_head:  # as the published files say it
            path = folder / "config.json"
            said = json.loads(path.read_text())
            said.pop("scale_decoder_outputs", None)
            path.write_text(json.dumps(dict(said, tie_word_embeddings=False), indent=2) + "\n")
        t.save(str(folder / "tokenizer.json"))
        (folder / "golden.json").write_text(json.dumps(golden))
        print(name, sum(f.stat().st_size for f in folder.iterdir()), golden.get("written"))


if __name__ == "__main__":
    main()
