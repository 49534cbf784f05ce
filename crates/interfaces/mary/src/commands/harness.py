"""Has lm-evaluation-harness build a task and writes it as task files of Mary's own: `mary tasks import` runs this under
the user's Python. What a task file cannot express is refused by name. The only argument is JSON; what was made or refused goes
to report.json in its folder.
"""

import json
import logging
import re
import sys
import traceback
from pathlib import Path

SEED = 1234  # of shots, as `lm_eval` itself has it
LENGTHS = {"acc": "none", "acc_norm": "character", "acc_bytes": "byte"}
PUNCTUATION, DIGITS = r"[!-/:-@\[-`{-~]", "[0-9]"  # Python's string.punctuation and string.digits
STRIPPED, NUMBER = r"(?s)^\s*(.*?)\s*$", r"#### (\-?[0-9\.\,]+)"  # the second is the filter's default


class Refused(Exception):
    """Says what a task needs and a task file cannot express."""


def toml(value):
    """JSON's escapes are TOML's but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def written(title, about, rows_file, request, judge):
    lines = [f"{key} = {toml(value)}" for key, value in (("name", f"lm-eval/{title}"), ("title", title), ("about", about))]
    # Shots stand in the prompts already; more of them would be built of whole prompts.
    tables = {"data": {"path": rows_file, "id": "id"}, "request": request, "judge": judge, "shots": {"where": "{{ false }}"}}
    for name, keys in tables.items():
        lines += ["", f"[{name}]", *(f"{key} = {toml(value)}" for key, value in keys.items())]
    return "\n".join(lines) + "\n"


def split(context, continuation):
    """Spaces at the end of a context belong to what follows, as the harness has it."""
    bare = context.rstrip()
    return bare, context[len(bare):] + continuation


def start_of(contexts):
    """Before a context stands what the tokenizer adds, before none a begin-of-sequence token."""
    if any(contexts) and not all(contexts):
        raise Refused("some of its contexts are empty and some are not, and one rule of start tokens holds for a task")
    return "model" if any(contexts) else "harness"


def metrics_of(task):
    own = {m["metric"].__name__ for m in task.config.metric_list or [] if callable(m["metric"])}
    return [f"{name} in Python" if name in own else name for name in task._metric_fn_list]


def not_computed(names, known):
    rest = [name for name in names if name not in known]
    return f"; not computed: {', '.join(rest)}" if rest else ""


def choice(task, docs):
    names = metrics_of(task)
    first = next((LENGTHS[name] for name in names if name in LENGTHS), None)
    if first is None:
        raise Refused(f"its metrics ({', '.join(names)}) are not computed for multiple choice")
    rows, contexts, own = [], [], task.multiple_input
    for number, doc, asked in docs:
        options = list(task.doc_to_choice(doc))
        gold = task.doc_to_text(doc) if own else task.doc_to_target(doc)
        if isinstance(gold, str) and gold in options:
            gold = options.index(gold)
        if not isinstance(gold, int) or not 0 <= gold < len(options):
            raise Refused(f"row {number} has {gold!r} as the right option; a task file has one of its options")
        pairs = [split(*one.args[:2]) for one in asked[: len(options)]]
        # Contexts of its own for each option, or one for all; what is scored ends in the option.
        scored = {text if own else text.removesuffix(option) for (_, text), option in zip(pairs, options)}
        if len(scored) > 1:
            raise Refused(f"row {number} has options or contexts with different spaces around them")
        before = {"contexts": [context for context, _ in pairs]} if own else {"context": pairs[0][0]}
        contexts += [context for context, _ in pairs]
        rows.append({"id": str(number), **before, "choices": options, "follows": scored.pop(), "answer": int(gold)})
    prompt = "{{ contexts[choices.index(choice)] }}" if own else "{{ context }}"
    follows = "{{ follows }}" if own else "{{ follows }}{{ choice }}"
    request = {"kind": "score", "prompt": prompt, "choices": "{{ choices }}", "continuation": follows, "normalisation": first, "start": start_of(contexts)}
    judge = {"kind": "choice", "answer": "{{ answer }}", "answer_is": "index", "ties": "first"}
    return rows, [("", request, judge)], not_computed(names, LENGTHS)


def continuation(task, docs):
    pairs = [(number, *split(*asked[0].args[:2])) for number, _, asked in docs]
    rows = [{"id": str(number), "context": context, "text": text} for number, context, text in pairs]
    start = start_of([row["context"] for row in rows])
    request = {"kind": "score", "prompt": "{{ context }}", "continuation": "{{ text }}", "start": start}
    return rows, [("", request, {"kind": "greedy"})], not_computed(metrics_of(task), ("acc", "perplexity"))


def rolling(task, docs):
    rows = [{"id": str(number), "text": asked[0].args[0]} for number, _, asked in docs]
    request = {"kind": "score", "continuation": "{{ text }}", "start": "harness"}
    return rows, [("", request, {"kind": "perplexity"})], not_computed(metrics_of(task), ("word_perplexity", "byte_perplexity", "bits_per_byte"))


def generation(kwargs):
    kwargs = dict(kwargs)
    until = kwargs.pop("until", None) or []
    until = [until] if isinstance(until, str) else list(until)
    lengths = [kwargs.pop(name, None) for name in ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")]
    longest = int(next((n for n in lengths if n), 256))
    temperature, top_p = float(kwargs.pop("temperature", None) or 0.0), kwargs.pop("top_p", None)
    sampled = kwargs.pop("do_sample", temperature > 0)
    request = {"kind": "generate", "prompt": "{{ context }}", "stop": until, "max_tokens": longest, "temperature": temperature if sampled else 0.0}
    if sampled and top_p is not None:
        request["top_p"] = float(top_p)
    if kwargs:
        raise Refused(f"its answers are generated with {', '.join(kwargs)}")
    return request


def reading(functions):
    """How the filters of a pipeline read an answer: a pattern and which match of it, or nothing for the whole."""
    judge = {}
    for function in functions:
        given, name = dict(function), function["function"]
        if name in ("take_first", "majority_vote"):
            continue  # of one answer
        if judge or name not in ("regex", "remove_whitespace"):
            raise Refused(f"it reads answers by the filters {', '.join(f['function'] for f in functions)}")
        given = {"regex_pattern": STRIPPED} if name == "remove_whitespace" else given
        select = given.get("group_select", 0)
        if select not in (0, -1) or given.get("fallback", "[invalid]") != "[invalid]":
            raise Refused("its filter `regex` has a `group_select` other than 0 and -1, or a `fallback`")
        judge = {"pattern": given.get("regex_pattern", NUMBER), "take": "last" if select == -1 else "first"}
    return judge


def answer(task, docs):
    names = metrics_of(task)
    if "exact_match" not in names:
        raise Refused(f"its metrics ({', '.join(names)}) are not computed for answers in words, only exact_match")
    compared = dict(task._metric_fn_kwargs.get("exact_match") or {})
    removed = list(compared.pop("regexes_to_ignore", None) or [])
    removed += [PUNCTUATION] if compared.pop("ignore_punctuation", False) else []
    removed += [DIGITS] if compared.pop("ignore_numbers", False) else []
    ignored = ["case"] if compared.pop("ignore_case", False) else []
    if compared:
        raise Refused(f"exact_match has {', '.join(compared)}")
    rows, blank = [], 0
    for number, doc, asked in docs:
        gold = task.doc_to_target(doc)
        if task.config.doc_to_choice is not None:
            gold = task.doc_to_choice(doc)[gold]
        gold = [str(one) for one in gold] if isinstance(gold, list) and task.multiple_target else [str(gold)]
        right = [one for one in gold if one.strip()]
        blank += len(gold) - len(right)
        rows.append({"id": str(number), "context": asked[0].args[0], "answers": right})
    requests = [generation(asked[0].args[1]) for _, _, asked in docs]
    if any(one != requests[0] for one in requests):
        raise Refused("its rows differ in how answers are generated")
    about = not_computed(names, ["exact_match"]) + (f"; {blank} empty right answers left out" if blank else "")
    files = []
    for pipeline in task.config.filter_list or [{"name": "", "filter": []}]:
        judge = {"answer": "{{ answers }}", "ignore": ignored, "remove": removed, "keep_spaces": True, "unread": "wrong"}
        read = reading(pipeline["filter"])
        judge = {"kind": "regex" if read else "exact", **judge, **read}
        # The first pipeline is the task; another's answers come from the cache.
        files.append((f"-{pipeline['name']}" if files else "", requests[0], judge))
    return rows, files, about


MAKERS = {"multiple_choice": choice, "loglikelihood": continuation, "loglikelihood_rolling": rolling, "generate_until": answer}


def refuse(task):
    from lm_eval.api.task import ConfigurableTask

    config = task.config
    if config.process_results is not None or type(task).process_results is not ConfigurableTask.process_results:
        raise Refused("it judges answers in Python (`process_results`)")
    if task.OUTPUT_TYPE not in MAKERS:
        raise Refused(f"its output type is {task.OUTPUT_TYPE}")
    for key in ("doc_to_image", "doc_to_audio", "unsafe_code"):
        if getattr(config, key, None):
            raise Refused(f"it has `{key}`")
    if config.repeats > 1:
        raise Refused(f"it asks every question {config.repeats} times (`repeats`)")


def make(task, wanted, folder, version):
    refuse(task)
    shots = task.config.num_fewshot
    if wanted["shots"] is not None and shots != 0:
        shots = wanted["shots"]
    task.set_config(key="num_fewshot", value=shots or 0)
    task.set_fewshot_seed(seed=SEED)
    task.build_all_requests(limit=wanted["limit"], rank=0, world_size=1)
    docs = {}
    for one in task.instances:
        docs.setdefault(one.doc_id, (one.doc_id, one.doc, []))[2].append(one)
    rows, files, note = MAKERS[task.OUTPUT_TYPE](task, list(docs.values()))
    title = re.sub(r"[^\w.-]", "_", task.config.task)
    names = [re.sub(r"[^\w.-]", "_", title + ending) for ending, _, _ in files]
    about = f"{task.config.task} as lm-evaluation-harness {version} builds it: {task.OUTPUT_TYPE}, {shots or 0} shots{note}"
    with open(folder / f"{title}.jsonl", "x", encoding="utf-8") as out:
        out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    for name, (_, request, judge) in zip(names, files):
        (folder / f"{name}.toml").write_text(written(name, about, f"{title}.jsonl", request, judge), encoding="utf-8")
    return {"files": names, "data": title, "about": about}


def tasks_of(wanted):
    from lm_eval.tasks import TaskManager

    name, include = wanted["task"], [wanted["include"]] if wanted["include"] else []
    if Path(name).is_file():
        # The harness loads groups by their name only.
        if group := re.search(r"""^group:\s*["']?([^\s"'#]+)""", Path(name).read_text(), re.M):
            name, include = group[1], [*include, str(Path(name).resolve().parent)]
        try:
            # Without the thousands of tasks that the package has, which take half a minute to list.
            return TaskManager(include_path=include, include_defaults=False).load([name])["tasks"].values()
        except (KeyError, ValueError):
            pass  # it names some of them
    return TaskManager(include_path=include).load([name])["tasks"].values()


def main():
    wanted = json.loads(sys.argv[1])
    folder = Path(wanted["to"])
    report = {}
    try:
        import lm_eval

        logging.getLogger("lm_eval").setLevel(logging.ERROR)
        report["tasks"] = []
        for task in tasks_of(wanted):
            said = {"task": task.config.task}
            try:
                said.update(make(task, wanted, folder, getattr(lm_eval, "__version__", "")))
            except Refused as error:
                said["refused"] = str(error)
            report["tasks"].append(said)
    except ImportError as error:
        report["missing" if "tasks" not in report else "error"] = str(error)
    except Exception as error:
        traceback.print_exc()
        report["error"] = f"{type(error).__name__}: {error}"
    (folder / "report.json").write_text(json.dumps(report), encoding="utf-8")


if __name__ == "__main__":
    main()
