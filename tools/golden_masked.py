"""The masked half of tools/golden_minicons.py: tiny random BERT and RoBERTa models, and AntiBERTy, scored by
minicons under the original pseudo-log-likelihood and the within-word left-to-right form."""

import json
import random
import shutil
from pathlib import Path

import torch
import transformers as tf
from minicons import scorer

WORDS = "the a cat dog bird river stone sleeps runs sings falls old young red small near under is not and".split()
PIECES = "un re play ing ed er s ly ness".split()


def sentences():
    draw = random.Random(22)
    affixed = lambda: draw.choice(["un", "re", ""]) + draw.choice(["play", "do", "run"]) + draw.choice(["ing", "ed", "er", "ness"])
    for _ in range(30):
        words = [draw.choice(WORDS) if draw.random() < 0.6 else affixed() for _ in range(draw.randint(3, 9))]
        yield " ".join(words) + draw.choice([".", "!", ""])


def bert(folder):
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    letters = "abcdefghijklmnopqrstuvwxyz"
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", "!", *WORDS, "un", "re", "play", "do", "run",
              *letters, *("##" + p for p in PIECES + ["play", "do", "run"]), *("##" + c for c in letters)]
    vocab = {t: i for i, t in enumerate(dict.fromkeys(tokens))}
    t = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(lowercase=True)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece()
    t.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", vocab["[CLS]"]), ("[SEP]", vocab["[SEP]"])])
    fast = tf.PreTrainedTokenizerFast(tokenizer_object=t, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]")
    config = tf.BertConfig(vocab_size=len(vocab), hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, max_position_embeddings=64)
    return made(tf.BertForMaskedLM(config), fast, folder)


def roberta(folder):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    t = Tokenizer(models.BPE(unk_token="<unk>"))
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    t.train_from_iterator(list(sentences()), trainers.BpeTrainer(vocab_size=90, special_tokens=special, show_progress=False))
    t.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    fast = tf.PreTrainedTokenizerFast(tokenizer_object=t, bos_token="<s>", eos_token="</s>", pad_token="<pad>", unk_token="<unk>", cls_token="<s>", sep_token="</s>", mask_token="<mask>")
    config = tf.RobertaConfig(vocab_size=t.get_vocab_size(), hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, max_position_embeddings=66, pad_token_id=1, bos_token_id=0, eos_token_id=2)
    return made(tf.RobertaForMaskedLM(config), fast, folder)


def made(model, tokenizer, folder):
    torch.manual_seed(22)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    folder.mkdir(parents=True, exist_ok=True)
    model.eval()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model, tokenizer


def antiberty(models):
    """The weights of the package, as a folder that Mary and transformers read."""
    import importlib.util

    package = Path(importlib.util.find_spec("antiberty").origin).parent / "trained_models"
    folder = models / "antiberty"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ["config.json", "pytorch_model.bin"]:
        shutil.copy(package / "AntiBERTy_md_smooth" / name, folder / name)
    shutil.copy(package / "vocab.txt", folder / "vocab.txt")
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "BertTokenizer", "do_lower_case": false}\n')
    return tf.BertForMaskedLM.from_pretrained(folder).eval(), tf.BertTokenizerFast.from_pretrained(folder)


def antibodies():
    draw = random.Random(7)
    return [" ".join(draw.choices("ACDEFGHIKLMNPQRSTVWY", k=draw.randint(20, 40))) for _ in range(6)]


def scored(model, tokenizer, texts):
    # minicons 0.3.39 calls a method that transformers 5 has given up for the call itself.
    if not hasattr(tokenizer, "batch_encode_plus"):
        type(tokenizer).batch_encode_plus = lambda self, *words, **how: self(*words, **how)
    lm = scorer.MaskedLMScorer(model, "cpu", tokenizer=tokenizer)
    found = {"sentences": texts}
    for name, metric in [("original", "original"), ("within-word", "within_word_l2r")]:
        found[name] = [[round(float(x), 5) for _, x in lm.token_score([t], PLL_metric=metric)[0]] for t in texts]
    return found


def main(models, out):
    found = {
        "bert": scored(*bert(out / "bert"), list(sentences())),
        "roberta": scored(*roberta(out / "roberta"), list(sentences())),
        "antiberty": scored(*antiberty(models), antibodies()),
    }
    (out / "masked.json").write_text(json.dumps(found, separators=(",", ":")) + "\n")
    print({k: sum(map(len, v["original"])) for k, v in found.items()}, "tokens")
