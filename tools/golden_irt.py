#!/usr/bin/env python3
"""Golden files for item response theory: answers drawn here, parameters by eRm (R), girth and catsim (Python).

    apt-get install r-base-core r-cran-erm r-cran-lme4
    pip install girth catsim numpy scipy
    tools/golden_irt.py crates/core/mary-stats/tests/golden_irt.json

The answers of lme4's VerbAgg stand in the file as right answers by item and persons by score alone, which is all that
conditional likelihood uses.
"""
import json
import subprocess
import sys

import numpy as np

ERM = r"""
suppressMessages(library(eRm))
x <- as.matrix(read.csv(file("stdin"), header = FALSE))
fit <- RM(x, sum0 = TRUE)
cat("beta", -fit$betapar, "\n"); cat("se", fit$se.beta, "\n"); cat("loglik", fit$loglik, "\n")
if (!any(is.na(x))) {
  persons <- person.parameter(fit); fitted <- itemfit(persons)
  cat("outfit", fitted$i.outfitMSQ, "\n"); cat("infit", fitted$i.infitMSQ, "\n")
  theta <- persons$theta.table[, 1]; theta[persons$theta.table[, 3]] <- NA
  cat("theta", theta, "\n")
  groups <- rep(1:2, length.out = nrow(x))
  lr <- LRtest(fit, splitcr = groups); cat("andersen", lr$LR, lr$df, lr$pvalue, "\n")
}
"""
VERBAGG = r"""
suppressMessages(library(lme4))
x <- xtabs(I(r2 == "Y") ~ id + item, VerbAgg)
write.table(matrix(as.integer(x), nrow(x)), sep = ",", row.names = FALSE, col.names = FALSE)
"""


def r(script, stdin=""):
    done = subprocess.run(["Rscript", "-e", script], input=stdin, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout


def erm(answers):
    rows = "\n".join(",".join("NA" if a < 0 else str(a) for a in row) for row in answers)
    found = {}
    for line in r(ERM, rows + "\n").splitlines():
        name, *values = line.split()
        found[name] = [None if v in ("NA", "NaN") else float(v) for v in values]
    return found


def text(answers):
    return ["".join("." if a < 0 else str(a) for a in row) for row in answers]


def draw(random, theta, slope, intercepts):
    """Scores with probability proportional to exp(k·a·θ + d1 + … + dk)."""
    logits = np.cumsum(np.concatenate([[0.0], slope * theta + np.array(intercepts)]))
    p = np.exp(logits - logits.max())
    return int(random.choice(len(p), p=p / p.sum()))


def main():
    from catsim.item_bank import ItemBank
    from catsim.selection import MaxInfoSelector
    from girth import pcm_mml, onepl_mml, rasch_mml, twopl_mml
    random = np.random.default_rng(20261117)
    golden = {"rasch": [], "marginal": []}
    for persons, items, asked in [(300, 12, 12), (60, 30, 30), (400, 16, 9)]:
        b, theta = random.normal(0, 1.2, items), random.normal(0, 1, persons)
        answers = np.full((persons, items), -1)
        for person in range(persons):
            for item in random.permutation(items)[:asked]:
                answers[person, item] = draw(random, theta[person], 1.0, [-b[item]])
        golden["rasch"].append({"answers": text(answers)} | erm(answers))
    verbagg = np.array([[int(c) for c in line.split(",")] for line in r(VERBAGG).split()])
    scores = np.bincount(verbagg.sum(1), minlength=verbagg.shape[1] + 1)
    found = {name: value for name, value in erm(verbagg).items() if name in ("beta", "se", "loglik")}
    golden["verbagg"] = {"right": verbagg.sum(0).tolist(), "scores": scores.tolist()} | found
    for persons, items in [(1000, 15), (500, 30)]:
        a, b, theta = np.exp(random.normal(0, 0.3, items)), random.normal(0, 1, items), random.normal(0, 1, persons)
        answers = np.array([[draw(random, t, a[i], [-a[i] * b[i]]) for i in range(items)] for t in theta])
        one, two = onepl_mml(answers.T), twopl_mml(answers.T)
        rasch = rasch_mml(answers.T)
        golden["marginal"].append({"answers": text(answers), "rasch": rasch["Difficulty"].tolist(),
            "one": [float(one["Discrimination"]), one["Difficulty"].tolist()],
            "two": [two["Discrimination"].tolist(), two["Difficulty"].tolist()]})
    items, theta = 10, random.normal(0, 1, 1200)
    a = np.exp(random.normal(0, 0.2, items))
    thresholds = np.sort(random.normal(0, 1, (items, 3)), axis=1)
    answers = np.array([[draw(random, t, a[i], -a[i] * thresholds[i]) for i in range(items)] for t in theta])
    graded = pcm_mml(answers.T)
    golden["partial"] = {"answers": text(answers), "slope": graded["Discrimination"].tolist(),
                         "thresholds": graded["Difficulty"].tolist()}
    bank = np.column_stack([np.exp(random.normal(0, 0.3, 60)), random.normal(0, 1.3, 60),
                            random.choice([0.0, 0.25], 60), np.ones(60)])
    golden["adaptive"] = {"bank": bank.tolist(), "chosen": []}
    for theta in [-2.0, -0.7, 0.0, 0.4, 1.9]:
        asked = []
        for _ in range(25):
            asked.append(int(MaxInfoSelector().select(item_bank=ItemBank(bank), administered_items=asked, est_theta=theta)))
        golden["adaptive"]["chosen"].append([theta, asked])
    with open(sys.argv[1], "w") as out:
        json.dump(golden, out, separators=(",", ":"))
        out.write("\n")


main()
