"""Files that the how-to pages name without showing them, for `try_book.py`: small, and made up here."""

import json

NOUNS = [("girl", "girls"), ("boy", "boys"), ("bird", "birds"), ("dog", "dogs"), ("cat", "cats"), ("tree", "trees")]
SENTENCES = ["The girl sees the bird.", "The dogs run to the house.", "A boy gives the cat some milk.", "The trees are tall and green.",
             "The cat sleeps on the bed.", "The girls like the red ball.", "The bird sings in the tree.", "The boy reads a long book."]


def table(head, rows):
    return "\n".join([head, *(",".join(map(str, row)) for row in rows)]) + "\n"


def pairs():
    for one, many in NOUNS:
        for near, others in NOUNS:
            if near != one:
                yield (f"The {many} near the {near}", f"The {one} near the {near}", "are", "is", many, "near", near, one, "agreement", one, many)
                yield (f"The {one} near the {others}", f"The {many} near the {others}", "is", "are", one, "near", others, many, "agreement", one, many)


def times():
    for reader in range(4):
        for number, sentence in enumerate(SENTENCES):
            for place, word in enumerate(sentence.split()):
                yield number, place, word, f"r{reader}", 250 + 12 * len(word) + 20 * reader + (37 * number + 61 * place + 17 * reader) % 90, len(word), 3 + len(word) % 4


FILES = {
    "sentences.txt": "\n".join(SENTENCES) + "\n",
    "texts.txt": "\n".join(f"The {noun} near the house" for pair in NOUNS for noun in pair) + "\n",
    "blanks.txt": "The girl sees the ___.\nThe dogs ___ to the house.\n",
    "stimuli.csv": table("sentence,story,condition,item", ((s, "It was a warm day.", "ab"[n % 2], n // 2) for n, s in enumerate(SENTENCES))),
    "pairs.csv": table("clean,corrupted,good,bad,subject,link,distractor,subject_corrupted,phenomenon,left,right", pairs()),
    "marked.csv": table("text", ((s.replace(" the ", " [[the]] ").replace(" a ", " [[a]] ").replace(" and ", " [[and]] "),) for s in SENTENCES)),
    "reading.jsonl": "".join(json.dumps({"text": f"The {one} [[{verb}]] here."}) + "\n" for one, _ in NOUNS for verb in ("is", "are")),
    "times.csv": table("sentence,position,word,reader,rt,length,frequency", times()),
    "sentences.csv": table("item,match,sentence", ((n, m, f"The {a} [[{v}]] near the house.") for n, (a, _) in enumerate(NOUNS) for m, v in (("good", "is"), ("bad", "are")))),
    "critical.csv": table("participant,item,match,rt", ((f"p{p}", i, m, 300 + 15 * p + 9 * i + 40 * (m == "bad") + (31 * p + 17 * i) % 50)
                                                       for p in range(6) for i in range(6) for m in ("good", "bad"))),
    "nouns.csv": table("text,number,noun", ((f"{a} {noun}", k, one) for one, many in NOUNS for a in ("The", "We see the", "Look at the") for k, noun in (("one", one), ("many", many)))),
    "texts.csv": table("text,good,bad", ((f"The {one} near the house", "are", "is") for one, _ in NOUNS)),
    "plural.csv": table("positive,negative", ((f"We see the {many}", f"We see the {one}") for one, many in NOUNS)),
}
