"""What tasks of the golden folder do in Python."""


def process_docs(docs):
    kept = docs.filter(lambda row: row["kind"] != "left out")
    return kept.map(lambda row: {"question": row["question"].strip().upper()})


def doc_to_text(row):
    # A context that ends in a space, which the harness gives to the option.
    return f"{row['kind'].title()}: {row['question']} It is "


def which(row):
    return row["right"]


def filled(row):
    before = row["sentence"].split("_")[0]
    return [before + name for name in row["names"]]


def rest(row):
    return row["sentence"].split("_")[1].strip()
