#!/usr/bin/env python3
"""lm-evaluation-harness through `mary serve`, item by item beside `mary run`, and through llama.cpp's server.

    target/peers/bin/python tools/compare_serve.py MARY MODEL [--pairs PAIRS.jsonl] [--llama FOLDER] [--items 60]

Five tasks, whose items are drawn here: pairs of sentences (or those of a file: `sentence_good`, `sentence_bad`),
questions with four answers, last words of a story, sums and lists to be written on. MODEL is a GGUF file or a folder of
Hugging Face's. For each task the largest difference of a log-probability (1e-4 is allowed) or the answers that
differ (none is), and the score of both. With --llama the first task is asked of llama.cpp's server by the same command,
with the tokenizer of a folder of Hugging Face's (and transformers installed). A model whose tokenizer puts a token before
every text wants --args ,add_bos_token=True.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from bench_serve import LLAMA, start

KINDS = {
    "animal": "horse cow sheep goat dog cat pig duck hen mouse lion tiger bear wolf fox".split(),
    "fruit": "apple pear plum cherry grape lemon peach melon banana orange".split(),
    "tool": "hammer saw drill spade rake knife axe chisel screwdriver".split(),
    "colour": "red blue green yellow black white brown purple".split(),
    "metal": "iron gold silver copper tin lead steel".split(),
}
NAMES = "Anna Ben Clara David Emma Frank Grace Henry Ida Jack".split()
THINGS = "book letter lamp key basket ladder coat clock chair bottle".split()
PLURAL = [("keys", "cabinet"), ("roses", "vase"), ("doors", "house"), ("pictures", "wall"), ("books", "shelf"), ("coins", "box")]


def pairs(draw):
    (many, one), adjective = draw.choice(PLURAL), draw.choice("old new small broken heavy".split())
    which = draw.choice(["to", "near", "of", "beside"])
    right, wrong = f"The {many} {which} the {one} are {adjective}.", f"The {many} {which} the {one} is {adjective}."
    return {"sentence_good": right, "sentence_bad": wrong}


def arc(draw):
    kind = draw.choice(list(KINDS))
    options = [draw.choice(KINDS[k]) for k in draw.sample([k for k in KINDS if k != kind], 3)]
    place = draw.randrange(4)
    options.insert(place, draw.choice(KINDS[kind]))
    return {"question": f"Which of these is {'an' if kind == 'animal' else 'a'} {kind}?", "options": options, "answer": place}


def last_word(draw):
    (a, b), thing, other = draw.sample(NAMES, 2), *draw.sample(THINGS, 2)
    text = f"{a} lost the {thing} in the garden. {b} found the {other} in the kitchen, but nobody had seen the {thing}. At last {a} gave up looking for the"
    return {"text": text, "word": thing}


def sums(draw):
    a, b, c, d = (draw.randrange(1, 10) for _ in range(4))
    return {"question": f"Q: What is {c} plus {d}?\nA: {c + d}\n\nQ: What is {a} plus {b}?\nA:", "answer": str(a + b)}


def lists(draw):
    kind = draw.choice(list(KINDS))
    words = draw.sample(KINDS[kind], 4)
    return {"question": f"Some words of one kind, separated by commas:\n{', '.join(words)},", "answer": kind}


CHOICE = {"output_type": "multiple_choice", "metric_list": [{"metric": "acc"}]}
WRITE = {"output_type": "generate_until", "doc_to_text": "{{question}}", "doc_to_target": " {{answer}}",
         "generation_kwargs": {"until": ["\n"], "max_gen_toks": 24, "do_sample": False, "temperature": 0.0}, "metric_list": [{"metric": "exact_match"}]}
TASKS = {
    "pairs": (pairs, {**CHOICE, "doc_to_text": "", "doc_to_target": 0, "doc_to_choice": "{{[sentence_good, sentence_bad]}}"}),
    "arc_like": (arc, {**CHOICE, "doc_to_text": "Question: {{question}}\nAnswer:", "doc_to_target": "{{answer}}", "doc_to_choice": "{{options}}"}),
    "lambada_like": (last_word, {"output_type": "loglikelihood", "doc_to_text": "{{text}}", "doc_to_target": " {{word}}", "metric_list": [{"metric": "perplexity"}, {"metric": "acc"}]}),
    "sums": (sums, WRITE),
    "lists": (lists, WRITE),
}


def write_tasks(home, count, file):
    for name, (make, task) in TASKS.items():
        rows = home / f"{name}.jsonl"
        draw = random.Random(name)
        drawn = [json.dumps(make(draw)) for _ in range(count)]
        if name == "pairs" and file:
            drawn = Path(file).read_text().splitlines()
        rows.write_text("\n".join(drawn) + "\n")
        whole = {"task": name, "dataset_path": "json", "dataset_kwargs": {"data_files": {"test": str(rows)}}, "test_split": "test", **task}
        # JSON is YAML.
        (home / f"{name}.yaml").write_text(json.dumps(whole, indent=1))


def harness(home, url, tasks, out, args):
    words = [Path(sys.executable).parent / "lm_eval", "--model", "local-completions", "--tasks", ",".join(tasks), "--include_path", home, "--log_samples", "--output_path", out,
             "--model_args", f"model=small,base_url={url}/v1/completions,num_concurrent=16,max_retries=1{args}"]
    return subprocess.run(words, capture_output=True, text=True, cwd=home, env={**os.environ, "HF_HOME": str(home / "hf"), "HF_HUB_OFFLINE": "1"})


def theirs(out, task):
    """By number of the item: numbers or a text, and whether it was right."""
    (file,) = out.rglob(f"samples_{task}_*.jsonl")
    found = {}
    for line in file.read_text().splitlines():
        sample = json.loads(line)
        said = [r[0] for r in sample["resps"]]
        said = said[0] if isinstance(said[0], str) else [float(r[0]) for r in said]
        found[sample["doc_id"]] = (said, sample.get("acc", sample.get("exact_match")))
    return found


def ours(program, model, home, task):
    runs, own = home / f"runs-{task}", home / f"own-{task}"
    words = [program, "tasks", "import", home / f"{task}.yaml", "--to", own, "--python", sys.executable]
    said = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "HF_HOME": str(home / "hf"), "HF_HUB_OFFLINE": "1"})
    if said.returncode != 0:
        sys.exit(said.stderr)
    (file,) = own.glob("*.toml")
    words = [program, "run", "-m", model, "-t", file, "--output-path", runs, "--cache-dir", home / "cache", "--quiet", "--no-report"]
    said = subprocess.run(words, capture_output=True, text=True)
    if said.returncode != 0:
        sys.exit(said.stderr)
    found = {}
    for file in runs.glob("*/samples.jsonl"):
        for line in file.read_text().splitlines():
            sample = json.loads(line)
            answer = sample["exchanges"][0]["reply"]["Ok"]["answer"]
            said = answer["generated"]["text"] if "generated" in answer else [sum(c["logprobs"]) for c in answer["scored"]["continuations"]]
            found[int(sample["item"]["id"])] = (said, sample["judgement"]["outcome"].get("scored"))
    return found


def compare(name, a, b):
    assert a.keys() == b.keys() and a, (name, len(a), len(b))
    score = [sum(x[1] for x in found.values() if x[1] is not None) / len(found) for found in (a, b)]
    if isinstance(next(iter(a.values()))[0], str):
        other = [i for i in a if a[i][0] != b[i][0]]
        print(f"{name:13} {len(a):4} items, {len(other)} answers differ, score {score[0]:.3f} and {score[1]:.3f}", flush=True)
        for i in other[:3]:
            print("   ", repr(a[i][0]), repr(b[i][0]))
        return not other
    far = max(abs(x - y) for i in a for x, y in zip(a[i][0], b[i][0], strict=True))
    print(f"{name:13} {len(a):4} items, log-probabilities within {far:.1e}, score {score[0]:.3f} and {score[1]:.3f}", flush=True)
    return far <= 1e-4


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mary")
    parser.add_argument("model")
    parser.add_argument("--pairs")
    parser.add_argument("--llama", metavar="FOLDER")
    parser.add_argument("--args", default="", help="more for --model_args, with a comma before it")
    parser.add_argument("--items", type=int, default=60)
    options = parser.parse_args()
    model = options.model
    if Path(model).exists():
        model = f"{'hf' if Path(model).is_dir() else 'gguf'}/{Path(model).resolve()}"
    fine = True
    with tempfile.TemporaryDirectory() as home:
        home = Path(home)
        write_tasks(home, options.items, options.pairs)
        process, url = start([options.mary, "serve", "-q", "-m", f"small={model}", "--port", "0"], r"(http://[^/\s]+)/v1")
        try:
            said = harness(home, url, list(TASKS), home / "out", options.args)
            if said.returncode != 0:
                sys.exit(said.stderr[-2000:])
        finally:
            process.kill()
        for task in TASKS:
            fine &= compare(task, theirs(home / "out", task), ours(options.mary, model, home, task))
        if options.llama:
            process, url = start([sys.executable, "-c", LLAMA, options.model, "16"], r"listening (http\S+)")
            try:
                # It tells no tokenizer; that of the folder is the same.
                said = harness(home, url, ["pairs"], home / "llama", f",tokenizer_backend=huggingface,tokenizer={options.llama}")
            finally:
                process.kill()
            shown = [line for line in (said.stdout + said.stderr).splitlines() if "Error" in line or line.startswith("|pairs") or line.startswith("|     ")]
            print(f"llama.cpp's server, the same pairs: lm_eval ended with {said.returncode}:", *shown[-3:], sep="\n    ")
    sys.exit(not fine)


if __name__ == "__main__":
    main()
