#!/usr/bin/env python3
"""Open exported files with the readers of the tools they are meant for.

    tools/check_exports.py FOLDER

Checks every Inspect log (*.eval, *.json with a field "eval") in FOLDER with inspect_ai's own reader,
every results_*.json / samples_*.jsonl with lm-evaluation-harness' own table maker and file naming,
and every *.parquet with pyarrow (and pandas and polars where they are installed). A tool that is not
installed is skipped and said so; --require makes that an error. Install with:

    pip install inspect_ai lm_eval
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
    # Other exports may lie in the same folder; those of one run share its time.
    time = os.path.basename(path)[len("results_") : -len(".json")]
    files = glob.glob(os.path.join(os.path.dirname(path), f"samples_*_{time}.jsonl"))
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


def check_parquet(path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    kinds = {f.name: f.type for f in table.schema}
    for name in ("model", "task", "item", "outcome", "prompt", "answer", "tags"):
        assert pa.types.is_string(kinds[name]) or pa.types.is_large_string(kinds[name]), (name, kinds[name])
    assert pa.types.is_float64(kinds["score"]) and pa.types.is_int64(kinds["prompt_tokens"]), kinds
    assert b"mary_run" in (pq.read_schema(path).metadata or {}), "no word about the run"
    rows = table.to_pylist()
    for row in rows:
        json.loads(row["tags"]), json.loads(row["measures"])
        assert (row["score"] is None) == (row["outcome"] != "scored"), row
    scores = [r["score"] for r in rows if r["score"] is not None]
    told = [f"pyarrow {pa.__version__}"]
    for name in ("pandas", "polars"):
        try:
            reader = __import__(name)
        except ImportError:
            continue
        frame = reader.read_parquet(path)
        assert len(frame) == len(rows) and list(frame.columns) == list(kinds)
        assert math.isclose(frame["score"].mean(), sum(scores) / len(scores), abs_tol=1e-12)
        told.append(f"{name} {reader.__version__}")
    return f"{len(rows)} rows, {len(kinds)} columns, by {', '.join(told)}"


def main(folder, require):
    checked = 0
    for path in sorted(glob.glob(os.path.join(folder, "**", "*"), recursive=True)):
        name = os.path.basename(path)
        if name.endswith(".eval") or (name.endswith(".json") and not name.startswith("results_") and '"eval"' in open(path).read(4096)):
            check, tool = check_inspect, "inspect_ai"
        elif name.startswith("results_") and name.endswith(".json"):
            check, tool = check_lm_eval, "lm_eval"
        elif name.endswith(".parquet"):
            check, tool = check_parquet, "pyarrow"
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
