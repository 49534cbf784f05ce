#!/usr/bin/env python3
"""Open exported files with the readers of the tools they are meant for.

    tools/check_exports.py FOLDER

Checks every Inspect log (*.eval, *.json with a field "eval") in FOLDER with inspect_ai's own reader,
and every results_*.json / samples_*.jsonl with lm-evaluation-harness' own table maker and file
naming. A tool that is not installed is skipped and said so; --require makes that an error. Install
with: pip install inspect_ai lm_eval
"""
import glob, json, math, os, sys


def check_inspect(path):
    from inspect_ai.log import read_eval_log, read_eval_log_sample, read_eval_log_sample_summaries

    head = read_eval_log(path, header_only=True)
    log = read_eval_log(path)
    assert log.status == "success", log.status
    assert log.samples, "no samples"
    assert log.results.total_samples == len(log.samples), (log.results.total_samples, len(log.samples))
    assert head.eval.model == log.eval.model
    summaries = read_eval_log_sample_summaries(path)
    assert len(summaries) == len(log.samples), (len(summaries), len(log.samples))
    first = log.samples[0]
    again = read_eval_log_sample(path, id=first.id, epoch=first.epoch)
    assert again.id == first.id and again.output.completion == first.output.completion
    scored = [s.scores["score"].as_float() for s in log.samples if "score" in (s.scores or {})]
    score = next(s for s in log.results.scores if s.name == "score")
    assert score.scored_samples == len(scored)
    if scored:
        mean = sum(scored) / len(scored)
        assert math.isclose(score.metrics["mean"].value, mean, abs_tol=1e-9), (score.metrics, mean)
    return f"{len(log.samples)} samples, {len(scored)} scored"


def check_lm_eval(path):
    from lm_eval.utils import get_results_filenames, get_sample_results_filenames, make_table, sanitize_model_name

    results = json.load(open(path))
    assert get_results_filenames([path]) == [path], "not a name lm-eval looks for"
    table = make_table(results)
    for task, row in results["results"].items():
        assert task in table or row["alias"] in table, table
        for part in ("configs", "versions", "n-shot", "n-samples", "higher_is_better"):
            assert task in results[part], (task, part)
    assert results["model_name_sanitized"] == sanitize_model_name(results["model_name"])
    assert os.path.basename(os.path.dirname(path)) == results["model_name_sanitized"]
    files = glob.glob(os.path.join(os.path.dirname(path), "samples_*.jsonl"))
    assert get_sample_results_filenames(files) == files
    lines = 0
    for file in files:
        task = next(t for t in results["results"] if f"samples_{t}_" in file)
        scores = []
        for text in open(file, encoding="utf-8"):
            sample = json.loads(text)
            for field in ("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash"):
                assert field in sample, field
            scores += [sample["acc"]] if "acc" in sample["metrics"] else []
            lines += 1
        if scores:
            assert math.isclose(results["results"][task]["acc,none"], sum(scores) / len(scores), abs_tol=1e-9)
    return f"{len(results['results'])} tasks, {lines} samples\n{table}"


def main(folder, require):
    checked = 0
    for path in sorted(glob.glob(os.path.join(folder, "**", "*"), recursive=True)):
        name = os.path.basename(path)
        if name.endswith(".eval") or (name.endswith(".json") and not name.startswith("results_") and '"eval"' in open(path).read(4096)):
            check, tool = check_inspect, "inspect_ai"
        elif name.startswith("results_") and name.endswith(".json"):
            check, tool = check_lm_eval, "lm_eval"
        else:
            continue
        try:
            __import__(tool)
        except ImportError:
            if require:
                sys.exit(f"{tool} is not installed")
            print(f"skipped: {path}: {tool} is not installed")
            continue
        print(f"ok: {path}: {check(path)}")
        checked += 1
    if not checked:
        sys.exit("nothing was checked")


if __name__ == "__main__":
    args = [a for a in sys.argv[1:] if a != "--require"]
    if len(args) != 1:
        sys.exit(__doc__)
    main(args[0], "--require" in sys.argv)
