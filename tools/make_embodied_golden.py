"""SensoryVec by another implementation, on the same weights: transformers for an encoder and a decoder,
numpy for static vectors. Writes the cosines that crates/interfaces/mary/tests/sensoryvec.rs holds ours against.

    python tools/make_embodied_golden.py --encoder DIR --decoder DIR --vectors glove.6B.50d.txt \
        [--upstream SensoryVec_Dataset_with_Predictions.csv] [--out FILE]

Only numbers are written, in the order of the triples; words of the released file are not.
"""

import argparse
import csv
import json
import pathlib
import re

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
OWN = ROOT / "crates/tasks/mary-embodied/src/own/triples.txt"
OUT = ROOT / "crates/interfaces/mary/tests/golden/sensoryvec.json"


def own():
    for line in OWN.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            cells = [c.strip() for c in line.split("|")]
            yield cells[1:4], cells[4:7]


def upstream(path):
    with open(path, encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file))[1:]
    for row in rows:
        sentences = [re.sub("___+", "{}", s.strip()) for s in row[5:8]]
        yield [w.strip() for w in row[2:5]], sentences


def cosines(vectors):
    """From the vectors of word, synonym, antonym."""
    if any(v is None for v in vectors):  # outside the vocabulary
        return None
    word, synonym, antonym = vectors
    cos = lambda a, b: float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))
    return [round(cos(word, synonym), 6), round(cos(word, antonym), 6)]


class Contextual:
    def __init__(self, folder):
        import torch
        from transformers import AutoModel, AutoTokenizer

        self.torch = torch
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.tokenizer.padding_side = "right"
        if self.tokenizer.pad_token is None:
            self.tokenizer.pad_token = self.tokenizer.eos_token
        self.model = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()

    def triple(self, words, sentences, pool):
        """The vectors of three words, nine texts in one padded batch."""
        texts = [s.replace("{}", w, 1) for w in words for s in sentences]
        spans = [(s.index("{}"), s.index("{}") + len(w)) for w in words for s in sentences]
        encoded = self.tokenizer(
            texts,
            padding=True,
            return_offsets_mapping=True,
            return_special_tokens_mask=True,
            return_tensors="pt",
        )
        offsets = encoded.pop("offset_mapping").tolist()
        special = encoded.pop("special_tokens_mask").tolist()
        mask = encoded["attention_mask"].tolist()
        with self.torch.no_grad():
            hidden = self.model(**encoded).last_hidden_state.double().numpy()
        means = []
        for row, (start, end) in enumerate(spans):
            kept = [
                i
                for i, (a, b) in enumerate(offsets[row])
                if mask[row][i]
                and not special[row][i]
                and (pool == "sentence" or (a < end and b > start))
            ]
            means.append(hidden[row, kept].mean(axis=0))
        return np.array(means).reshape(3, 3, -1).mean(axis=1)


class Static:
    def __init__(self, path):
        self.vectors = {}
        with open(path, encoding="utf-8") as file:
            for line in file:
                word, *numbers = line.rstrip().split(" ")
                self.vectors[word] = np.array(numbers, dtype=np.float64)

    def triple(self, words, sentences, pool):
        return [self.word(w) for w in words]

    def word(self, word):
        bare = word.strip(".,;:!?-")
        return next((self.vectors[w] for w in (word, bare, bare.lower()) if w in self.vectors), None)


def main():
    arguments = argparse.ArgumentParser()
    for name in ("encoder", "decoder", "vectors"):
        arguments.add_argument(f"--{name}", required=True)
    arguments.add_argument("--upstream")
    arguments.add_argument("--out", default=OUT)
    given = arguments.parse_args()
    sets = {"own": list(own())}
    if given.upstream:
        sets["upstream"] = list(upstream(given.upstream))
    models = {
        "encoder": Contextual(given.encoder),
        "decoder": Contextual(given.decoder),
        "vectors": Static(given.vectors),
    }
    golden = {}
    for name, model in models.items():
        for source, triples in sets.items():
            for pool in ("target", "sentence"):
                if pool == "sentence" and (source == "upstream" or name == "vectors"):
                    continue
                pairs = [cosines(model.triple(words, sentences, pool)) for words, sentences in triples]
                golden[f"{name}/{source}/{pool}"] = pairs
                known = [p for p in pairs if p]
                right = sum(s > a for s, a in known) / len(known)
                print(f"{name} {source} {pool}: {100 * right:.2f} % of {len(known)} ({len(pairs)})", flush=True)
    out = pathlib.Path(given.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"  {json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k, v in golden.items()]
    out.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
