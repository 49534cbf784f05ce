#!/usr/bin/env python3
"""Write the files and folders of the datasets into the catalogue.

    tools/catalogue_files.py DATASETS MIRRORS

DATASETS holds one folder per dataset in the layout described in docs/data.md; MIRRORS holds git
directories named OWNER+NAME/repo. For every file the table states its SHA-256, its size, and the
path it has in its upstream repository at the pinned commit, found by content (git's own blob id),
so that a wrong path cannot be written down. Files that exist in no upstream repository were made
from it (docs/data.md says how) and get no address. Folders with very many files get one digest: the
SHA-256 of the lines "<sha256>  <path>\\n", sorted by path.
"""
import gzip, hashlib, json, os, subprocess, sys

CATALOGUE = "crates/models/mary-fetch/src/datasets/catalogue.json"

REPOS = {
    "htest": [("brucewlee/h-test", "4787987031d0a6db3a2c8f965dfb2a8b3ebe0fae")],
    "blimp": [("alexwarstadt/blimp", "3e56b06fcabca9b30822fc66435fca6b1aa40bb1")],
    "raven": [("hxiaoyang/lm-raven", "500e6f7077771240b0f374b5de3a9ae070d8af76")],
    "arc": [("fchollet/ARC-AGI", "399030444e0ab0cc8b4e199870fb20b863846f34")],
    "concept-arc": [("victorvikram/ConceptARC", "b22ef526b4656679816b7811e78f55cc24d736d7")],
    "rosch-typicality": [("kanishkamisra/typicalityprobing", "d7c523b2f914fa3f6d118d994f53c3c24be677b6")],
    "webb-digit-matrices": [("taylorwwebb/emergent_analogies_LLM", "145e72b5be6b845dfdc69450075f88930e9a661f")],
    "embodied": [("ererdewubudesi/embodied_knowledge_2025", "050b0604f1d7b316734c2ad91b5d8b63645adbdd")],
    "norms": [
        ("dem1995/things-acquisition-age", "32d32ab0e5fce087b0b8f23bcb78a950590fd509"),
        ("bodowinter/sensory_linguistics", "ac2f8550ad6ae754fbe96940be7d6c1d5088320d"),
    ],
    "cmudict": [("cmusphinx/cmudict", "0f8072f814306c5ee4fbf992ed853601b12c01f9")],
    "wordfreq": [("rspeer/wordfreq", "912caf64b657478d1dff1138efdc078947d54bb1")],
    "pythia-v0-blimp": [],
}
FOLDERS = {"arc": ["data/training", "data/evaluation"], "concept-arc": ["corpus", "MinimalTasks"]}


def blob_id(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def upstream(mirrors, repos):
    found = {}
    for repo, commit in repos:
        git = os.path.join(mirrors, repo.replace("/", "+"), "repo")
        tree = subprocess.run(["git", "-C", git, "ls-tree", "-r", "-z", commit], capture_output=True)
        if tree.returncode:
            sys.exit(f"{repo}: commit {commit} is not in the mirror: {tree.stderr.decode().strip()}")
        for line in filter(None, tree.stdout.decode().split("\0")):
            meta, path = line.split("\t", 1)
            found.setdefault(meta.split()[2], (repo, commit, path))
    return found


def rows(root):
    for folder, _, names in sorted(os.walk(root)):
        for name in sorted(names):
            path = os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/")
            if path != "ORIGIN.md":
                yield path, open(os.path.join(root, path), "rb").read()


def described(datasets, mirrors, name, repos):
    """The files and the folders of a dataset."""
    known = upstream(mirrors, repos)
    whole = FOLDERS.get(name, [])
    grouped = {f: [] for f in whole}
    files, folders = [], []
    for path, data in rows(os.path.join(datasets, name)):
        folder = next((f for f in whole if path.startswith(f + "/")), None)
        if folder:
            grouped[folder].append((path, data, known.get(blob_id(data))))
            continue
        source, content = known.get(blob_id(data)), data
        if source is None and path.endswith(".gz"):
            plain = gzip.decompress(data)
            if blob_id(plain) in known:
                source, content = known[blob_id(plain)], plain
        if source is None:
            origin = "derived"
        else:
            upstream_file = dict(zip(("repository", "commit", "path"), source))
            origin = {"raw" if content is data else "gzipped": upstream_file}
        digest = hashlib.sha256(content).hexdigest()
        files.append({"path": path, "bytes": len(content), "sha256": digest, "source": origin})
    for folder, members in grouped.items():
        members.sort(key=lambda m: m[0].encode())
        lines = "".join(f"{hashlib.sha256(d).hexdigest()}  {p}\n" for p, d, _ in members)
        digest = hashlib.sha256(lines.encode()).hexdigest()
        repo, commit = repos[0]
        if any(s is None or s[2] != p for p, _, s in members):
            # Equal files share a blob id; compare by path instead.
            git = os.path.join(mirrors, repo.replace("/", "+"), "repo")
            for p, d, _ in members:
                have = subprocess.run(["git", "-C", git, "rev-parse", f"{commit}:{p}"], capture_output=True, text=True).stdout.strip()
                if have != blob_id(d):
                    sys.exit(f"{name}: {p} is not upstream")
        total = sum(len(d) for _, d, _ in members)
        folders.append({"path": folder, "files": len(members), "bytes": total, "sha256": digest, "repository": repo, "commit": commit})
    return files, folders


def written(cards):
    """One line for each field, file and folder."""
    one = lambda value: json.dumps(value, ensure_ascii=False)
    rows = lambda values: "[\n" + ",\n".join(f"      {one(v)}" for v in values) + "\n    ]"
    field = lambda k, v: f'    "{k}": ' + (rows(v) if k in ("files", "folders") and v else one(v))
    blocks = ["  {\n" + ",\n".join(field(k, v) for k, v in card.items()) + "\n  }" for card in cards]
    return "[\n" + ",\n".join(blocks) + "\n]\n"


def main(datasets, mirrors):
    with open(CATALOGUE) as file:
        cards = json.load(file)
    for card in cards:
        if card["id"] in REPOS:
            card["files"], card["folders"] = described(datasets, mirrors, card["id"], REPOS[card["id"]])
    with open(CATALOGUE, "w") as file:
        file.write(written(cards))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
