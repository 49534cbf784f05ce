#!/usr/bin/env python3
"""Times a model that sees beside Hugging Face transformers, on the same random weights of middle size.

    cargo build --release -p mary-local --example vision_encoder
    python tools/bench_vision.py target/release/examples/vision_encoder [--threads 2] [--pictures 24]

Prints pictures per second (decoding, processor, tower, language model, one question each), twenty questions
about one picture, peak memory, and how far the scores are apart. Each side runs in its own process, by turns. Ratios are
by the clock and by processor time: on a machine that does other work too, the second says more.
"""

import argparse
import copy
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from figures import Figures, versions

QUESTION_WORDS = ["old", "young", "small", "great", "red", "blue"]


def question(i):
    def word(n):
        return QUESTION_WORDS[n % 6]
    return f"the {word(i)} cat sleeps under the {word(i // 6)} and {word(i // 2)}"


def make(folder, count):
    import torch
    import transformers as tf
    from PIL import Image
    from golden_pictures import drawn
    from golden_vision import DEC, tokenizer

    t = tokenizer(["<image>"])
    text = dict(DEC, model_type="llama", vocab_size=4096, hidden_size=512, num_hidden_layers=8, num_attention_heads=8,
                num_key_value_heads=8, intermediate_size=1408)
    vision = dict(model_type="clip_vision_model", hidden_size=512, intermediate_size=2048, num_hidden_layers=9,
                  num_attention_heads=8, image_size=224, patch_size=16)
    config = tf.LlavaConfig(text_config=text, vision_config=vision, image_token_index=t.token_to_id("<image>"))
    torch.manual_seed(1)
    model = tf.LlavaForConditionalGeneration._from_config(config).float()
    model.save_pretrained(folder)
    t.save(str(folder / "tokenizer.json"))
    (folder / "preprocessor_config.json").write_text(tf.CLIPImageProcessorPil().to_json_string())
    for i in range(count + 1):
        out = io.BytesIO()
        Image.fromarray(drawn(320 + 3 * i, 240 + 5 * i, 3, i)).save(out, "PNG")
        (folder / f"picture-{i:03}.png").write_bytes(out.getvalue())


def theirs(folder, threads):
    """One process of transformers: the same questions, one forward pass each."""
    import torch
    import transformers as tf
    from PIL import Image

    torch.set_num_threads(threads)
    t = tf.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"), bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token="<unk>")
    t.image_token = "<image>"
    processor = tf.LlavaProcessor(image_processor=tf.CLIPImageProcessorPil(), tokenizer=t, patch_size=16,
                                  vision_feature_select_strategy="default", num_additional_image_tokens=1)
    model = tf.LlavaForConditionalGeneration.from_pretrained(folder, dtype=torch.float32).eval()

    def score(file, text):
        inputs = processor(text=[f"<image> {text} red stone"], images=[Image.open(file)], return_tensors="pt")
        with torch.no_grad():
            logits = model(**inputs).logits[0].log_softmax(-1)
        ids = inputs["input_ids"][0]
        return sum(logits[i - 1, ids[i]].item() for i in (len(ids) - 2, len(ids) - 1))

    files = sorted(folder.glob("picture-*.png"))
    def now():
        return time.perf_counter(), time.process_time()

    start = now()
    scores = [score(file, question(0)) for file in files[:-1]]
    middle = now()
    answers = [score(files[-1], question(i)) for i in range(20)]
    end = now()
    # The best loop for many questions about one picture: its keys and values are kept, and every question
    # goes on from a copy of them.
    inputs = processor(text=["<image>"], images=[Image.open(files[-1])], return_tensors="pt")
    with torch.no_grad():
        kept = model(**inputs, use_cache=True).past_key_values
    kept_answers = []
    for i in range(20):
        ids = t([f"{question(i)} red stone"], return_tensors="pt", add_special_tokens=False)["input_ids"]
        with torch.no_grad():
            logits = model(input_ids=ids, past_key_values=copy.deepcopy(kept)).logits[0].log_softmax(-1)
        ids = ids[0]
        kept_answers.append(sum(logits[i - 1, ids[i]].item() for i in (len(ids) - 2, len(ids) - 1)))
    last = now()
    print(json.dumps({"kept_seconds": last[0] - end[0], "kept_processor": last[1] - end[1], "kept_answers": kept_answers, "pictures": len(files) - 1, "seconds": middle[0] - start[0], "processor": middle[1] - start[1],
                      "scores": scores, "questions": 20, "question_seconds": end[0] - middle[0],
                      "question_processor": end[1] - middle[1], "answers": answers}))


def child(command):
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, command
    told = json.loads(out.strip().splitlines()[-1])
    told["peak_mb"] = usage.ru_maxrss / 1024
    return told


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--pictures", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", help="where the best round's figures go, with machine and commit")
    parser.add_argument("--theirs", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.theirs:
        return theirs(Path(args.theirs), args.threads)
    figures = Figures(threads=args.threads, **versions("torch", "transformers"))
    best = {}
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        make(folder, args.pictures)
        files = [str(f) for f in sorted(folder.glob("picture-*.png"))]
        for number in range(args.rounds):
            ours = child([args.program, str(folder), str(args.threads), *files])
            other = child([sys.executable, __file__, args.program, "--threads", str(args.threads), "--theirs", str(folder)])
            apart = max(abs(a - b) for k in ("scores", "answers") for a, b in zip(ours[k], other[k]))
            rate = [r["pictures"] / r["seconds"] for r in (ours, other)]
            many = [r["question_seconds"] for r in (ours, other)]
            kept = other["kept_seconds"] / many[0], other["kept_processor"] / ours["question_processor"]
            apart = max(apart, max(abs(a - b) for a, b in zip(ours["answers"], other["kept_answers"])))
            work = [other[k] / ours[k] for k in ("processor", "question_processor")]
            for name, pair, better in (("rate", rate, max), ("many", many, min), ("kept", [many[0], other["kept_seconds"]], min),
                                       ("peak", [ours["peak_mb"], other["peak_mb"]], min)):
                best[name] = [better(pair[i], best.get(name, pair)[i]) for i in (0, 1)]
            print(f"round {number + 1}: pictures/s {rate[0]:.2f} against {rate[1]:.2f} ({rate[0] / rate[1]:.2f} x, {work[0]:.2f} x by "
                  f"processor time); twenty questions {many[0]:.2f} s against {many[1]:.2f} s ({many[1] / many[0]:.1f} x, "
                  f"{work[1]:.1f} x; against a loop that keeps the picture's keys {kept[0]:.1f} x, {kept[1]:.1f} x); peak {ours['peak_mb']:.0f} MB against "
                  f"{other['peak_mb']:.0f} MB; scores apart by at most {apart:.1e} nats", flush=True)
    figures.add("pictures, one question each", "transformers", *best["rate"], "pictures/s", 1.0)
    figures.add("twenty questions on one picture", "transformers, the picture read for each", *best["many"], "s", 5.0)
    figures.add("twenty questions on one picture", "transformers, the picture's keys kept", *best["kept"], "s", 5.0)
    figures.add("peak memory", "transformers", *best["peak"], "MB")
    figures.save(args.json)


if __name__ == "__main__":
    main()
