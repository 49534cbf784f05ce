#!/usr/bin/env python3
"""Tables of answers for scales, from released data: SyntaxGym's models, PerceptualQA's models and people, BLiMP's people.

    tools/scale_tables.py FOLDER_OF_DATASETS OUT [RUN]

writes OUT/{syntaxgym,perceptualqa,blimp-people}.tsv with the columns subject, lineage, item, score, chance, group, text, kind,
which `mary scale` reads and the ignored test `leave_one_out_of_a_table` of mary-stats too. Nothing of the data is kept here.
OUT/blimp-pairs.csv holds BLiMP's pairs for `mary score`; with the folder of that run, OUT/blimp-models.tsv holds the models'
answers to them.
"""
import csv
import glob
import json
import os
import re
import sys
import tarfile


def write(path, rows):
    rows.sort(key=lambda row: (row[5], row[0], row[2]))
    with open(path, "w") as out:
        for row in [["subject", "lineage", "item", "score", "chance", "group", "text", "kind"]] + rows:
            print("\t".join(re.sub(r"\s", " ", str(cell)).replace('"', "'") for cell in row), file=out)
    print(path, len({row[0] for row in rows}), "subjects", len({row[2] for row in rows}), "items", len(rows), "answers")


def syntaxgym(folder):
    rows = []
    for file in glob.glob(f"{folder}/results/syntaxgym_results_*.csv"):
        for row in csv.DictReader(open(file)):
            # The lineage is the kind of model: sizes of its training set and seeds are not independent.
            kind = re.sub(r"syntaxgym_results_|\.csv", "", os.path.basename(file)).split("_")[0]
            correct = row["correct"].strip().lower() in ("true", "1", "1.0")
            item = f"{row['suite']}/{row['item']}"
            rows.append([row["model"], kind, item, int(correct), 0.0, "models", item, row["suite"]])
    return rows


def perceptualqa(folder):
    right, text = {}, {}
    for file in glob.glob(f"{folder}/dataset/*/*answer1_en.json"):
        for row in json.load(open(file)):
            right[row["index"]] = row["correct_option"]
            text[row["index"]] = row["question"] + " [" + " | ".join(row["options"].values()) + "]"
    rows, seen = [], set()

    def take(name, group, answers):
        for row in answers:
            index = row.get("new_index", row["index"]) if group == "people" else row["index"]
            if index not in right:
                index = row["index"]
            key = (name, index)
            answer = str(row.get("answer", "")).strip()
            if index in right and key not in seen and answer:
                seen.add(key)
                words = [w for w in re.split(r"[-_ ]", name.lower()) if not re.fullmatch(
                    r"\d{4,}|\d\d|002|\d+(\.\d+)?b|v[\d.]+|instruct|chat|it|mini|turbo|flash|pro|max|vl|mistral(?=-7b$)", w)]
                lineage = name if group == "people" else "-".join(sorted(words))
                rows.append([name, lineage, f"{index // 1000}/{index}", int(answer == right[index]), 0.25, group, text[index], index // 1000])

    with tarfile.open(f"{folder}/predictions.tar.gz") as tar:
        for member in tar.getmembers():
            found = re.search(r"predictions/([^/]+)/output(400_)?1_en\.json$", member.name)
            if found:
                take(found.group(1), "models", json.load(tar.extractfile(member)))
    for number in (1, 2):
        take(f"people {number}", "people", json.load(open(f"{folder}/human_questions1400_with_answer1_sampled350/combined{number}.json")))
    return rows


def blimp(folder):
    rows, counted = [], {}
    for row in csv.DictReader(open(f"{folder}/human_forced_choice.csv")):
        if row["paradigm"] == "attnchk" or not row["chosen"]:
            continue
        options = [row["option_1"], row["option_2"]]
        good = options[int(row["right"]) - 1]
        bad = options[2 - int(row["right"])]
        name = f"person {row['person']}"
        # A pair that a person saw twice counts once.
        key = (name, good, bad)
        if key in counted:
            continue
        counted[key] = True
        rows.append([name, name, f"{row['paradigm']}: {good}", int(row["right"] == row["chosen"]), 0.5, "people", f"{good} / *{bad}", row["paradigm"]])
    return rows


def pairs(path, rows):
    """BLiMP's pairs, in the order of their first answer, with what names them."""
    seen = {row[2]: row[6] for row in rows}
    with open(path, "w", newline="") as out:
        table = csv.writer(out)
        table.writerow(["id", "good", "bad"])
        for at, text in enumerate(seen.values()):
            table.writerow([at, *text.split(" / *")])
    return {text: item for item, text in seen.items()}


def blimp_models(run, names):
    rows = []
    for line in open(f"{run}/samples.jsonl"):
        sample = json.loads(line)
        pair, model = sample["item"]["target"]["pair"], sample["id"]["model"]
        score = sample["judgement"]["outcome"].get("scored")
        text = f"{pair['good']} / *{pair['bad']}"
        if score in (0, 1):
            name = re.sub(r"\.gguf$", "", model.split("/", 1)[1].split("/")[-1]) if model.startswith("gguf/") else model
            lineage = name.split("@")[0]
            rows.append([name, lineage, names[text], int(score), 0.5, "models", text, names[text].split(":")[0]])
    return rows


def main():
    datasets, out = sys.argv[1:3]
    os.makedirs(out, exist_ok=True)
    write(f"{out}/syntaxgym.tsv", syntaxgym(f"{datasets}/syntaxgym"))
    write(f"{out}/perceptualqa.tsv", perceptualqa(f"{datasets}/embodied/PerceptualQA"))
    people = blimp(f"{datasets}/blimp")
    names = pairs(f"{out}/blimp-pairs.csv", people)
    write(f"{out}/blimp-people.tsv", people)
    if len(sys.argv) > 3:
        write(f"{out}/blimp-models.tsv", blimp_models(sys.argv[3], names))


main()
