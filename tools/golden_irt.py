#!/usr/bin/env python3
"""Golden files for item response theory: answers drawn here or published, parameters by eRm and psychotools (R), girth,
py-irt, statsmodels and catsim (Python).

    apt-get install r-base-core r-cran-erm r-cran-lme4 r-cran-psychotools
    pip install girth catsim py-irt statsmodels
    tools/golden_irt.py crates/core/mary-stats/tests/golden_irt.json

The answers of lme4's VerbAgg and of psychotools' MathExam14W stand in the file as right answers by item and persons by
score alone, which is all that conditional likelihood uses. LSAT is section 6 of the test as Bock and Lieberman (1970)
print it: answers to five items, and how many of 1,000 gave them.
"""
import json
import subprocess
import sys
from concurrent.futures import Future, ProcessPoolExecutor

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
}
"""
PSYCHOTOOLS = r"""
suppressMessages(library(psychotools))
x <- as.matrix(read.csv(file("stdin"), header = FALSE))
cat(itempar(raschmodel(x, reltol = 1e-14, hessian = FALSE), vcov = FALSE), "\n")
"""
EXAM = r"""
suppressMessages(library(psychotools)); data("MathExam14W")
x <- as.matrix(MathExam14W$solved); x <- x[rowSums(is.na(x)) == 0, ]
write.table(x, sep = ",", row.names = FALSE, col.names = FALSE)
"""
LSAT = """00000:3 00001:6 00010:2 00011:11 00100:1 00101:1 00110:3 00111:4 01000:1 01001:8 01011:16 01101:3 01110:2 01111:15
10000:10 10001:29 10010:14 10011:81 10100:3 10101:28 10110:15 10111:80 11000:16 11001:56 11010:21 11011:173 11100:11
11101:61 11110:28 11111:298"""
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


def conditional(answers):
    """Rasch difficulties by three programs."""
    rows = "\n".join(",".join("NA" if a < 0 else str(a) for a in row) for row in answers) + "\n"
    found = {}
    for line in r(ERM, rows).splitlines():
        name, *values = line.split()
        found[name] = [None if v in ("NA", "NaN") else float(v) for v in values]
    found["psychotools"] = [float(v) for v in r(PSYCHOTOOLS, rows).split()]
    # Minutes each: only for tables that are not large.
    if np.size(answers) <= 7000:
        found["statsmodels"] = conditional_logit(answers)
    return found


def conditional_logit(answers):
    """The same by statsmodels' regression conditional on the persons; the last item is its zero."""
    from statsmodels.discrete.conditional_models import ConditionalLogit
    answers = np.array(answers)
    persons, items = np.nonzero(answers >= 0)
    dummies = (items[:, None] == np.arange(answers.shape[1] - 1)).astype(float)
    fit = ConditionalLogit(answers[persons, items], dummies, groups=persons).fit(method="newton", disp=False, maxiter=20)
    difficulties = -np.append(fit.params, 0.0)
    return (difficulties - difficulties.mean()).tolist()


def by_likelihood(answers, guessing):
    """2PL with a known share of guesses by statsmodels' general maximum likelihood on the grid that we use: slopes,
    intercepts, and their errors by the observed information."""
    from statsmodels.base.model import GenericLikelihoodModel
    patterns, counts = np.unique(answers, axis=0, return_counts=True)
    nodes = np.linspace(-6, 6, 61)
    prior = np.exp(-nodes**2 / 2) / np.exp(-nodes**2 / 2).sum()
    items = answers.shape[1]

    class Marginal(GenericLikelihoodModel):
        def loglike(self, params):
            slopes, intercepts = params[:items], params[items:]
            right = guessing + (1 - guessing) / (1 + np.exp(-(slopes * nodes[:, None] + intercepts)))
            logs = patterns @ np.log(right.T) + (1 - patterns) @ np.log1p(-right.T)
            return float(counts @ np.log(np.exp(logs) @ prior))

    model = Marginal(patterns[:, 0], np.zeros((len(patterns), 2 * items)))
    fit = model.fit(np.append(np.ones(items), np.zeros(items)), method="bfgs", maxiter=2000, gtol=1e-6, disp=False)
    return {"slope": fit.params[:items].tolist(), "intercept": fit.params[items:].tolist(), "loglik": model.loglike(fit.params),
            "error": np.sqrt(np.diag(np.linalg.inv(-model.hessian(fit.params)))).tolist()}


def variational(answers):
    """2PL by py-irt, with priors on everything and an approximate posterior: what somebody of average ability has as a
    logit on each item. It has no unit of its own for slopes: its abilities are shrunk by an amount that it does not say."""
    import torch
    from py_irt.config import IrtConfig
    from py_irt.dataset import Dataset
    from py_irt.training import IrtModelTrainer
    import pandas
    torch.set_num_threads(1)
    table = pandas.DataFrame(answers, columns=[f"i{at}" for at in range(answers.shape[1])])
    table.insert(0, "user", [f"p{at}" for at in range(len(answers))])
    data = Dataset.from_pandas(table, subject_column="user", item_columns=list(table.columns[1:]))
    config = IrtConfig(model_type="2pl", epochs=2000, priors="hierarchical", seed=1, log_every=10000)
    trainer = IrtModelTrainer(data_path=None, config=config, dataset=data, verbose=False)
    trainer.train(device="cpu")
    found = trainer.best_params
    place = {name: at for at, name in found["item_ids"].items()}
    order = [place[f"i{at}"] for at in range(answers.shape[1])]
    ability, slope, difficulty = (np.array(found[name]).ravel() for name in ("ability", "disc", "diff"))
    return (slope * (ability.mean() - difficulty))[order].tolist()


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
    golden = {"rasch": [], "margins": [], "marginal": [], "guessed": []}
    # The programs of others take minutes: all at once.
    later = ProcessPoolExecutor(8)
    for persons, items, asked in [(300, 12, 12), (60, 30, 30), (400, 16, 9)]:
        b, theta = random.normal(0, 1.2, items), random.normal(0, 1, persons)
        answers = np.full((persons, items), -1)
        for person in range(persons):
            for item in random.permutation(items)[:asked]:
                answers[person, item] = draw(random, theta[person], 1.0, [-b[item]])
        golden["rasch"].append({"answers": text(answers)} | {"all": later.submit(conditional, answers)})
    for name, script in [("VerbAgg", VERBAGG), ("MathExam14W", EXAM)]:
        answers = np.array([[int(c) for c in line.split(",")] for line in r(script).split()])
        scores = np.bincount(answers.sum(1), minlength=answers.shape[1] + 1).tolist()
        golden["margins"].append({"name": name, "right": answers.sum(0).tolist(), "scores": scores,
                                  "all": later.submit(conditional, answers)})
    lsat = [line.split(":") for line in LSAT.split()]
    lsat = np.array([[int(c) for c in answers] for answers, count in lsat for _ in range(int(count))])
    golden["rasch"].append({"answers": text(lsat), "all": later.submit(conditional, lsat)})
    tables = []
    for persons, items in [(1000, 15), (500, 30)]:
        a, b, theta = np.exp(random.normal(0, 0.3, items)), random.normal(0, 1, items), random.normal(0, 1, persons)
        tables.append(np.array([[draw(random, t, a[i], [-a[i] * b[i]]) for i in range(items)] for t in theta]))
    for answers in tables + [lsat]:
        one, two = onepl_mml(answers.T), twopl_mml(answers.T)
        golden["marginal"].append({"answers": text(answers), "rasch": rasch_mml(answers.T)["Difficulty"].tolist(),
            "one": [float(one["Discrimination"]), one["Difficulty"].tolist()],
            "two": [two["Discrimination"].tolist(), two["Difficulty"].tolist()],
            "statsmodels": later.submit(by_likelihood, answers, 0.0)})
    golden["marginal"][-1]["py-irt"] = later.submit(variational, lsat)
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
    for persons, items, guessing in [(2000, 8, 0.25), (1500, 10, 0.5)]:
        a, b, theta = np.exp(random.normal(0.2, 0.2, items)), random.normal(0, 0.8, items), random.normal(0, 1, persons)
        right = guessing + (1 - guessing) / (1 + np.exp(-a * (theta[:, None] - b)))
        answers = (random.random(right.shape) < right).astype(int)
        golden["guessed"].append({"answers": text(answers), "guessing": guessing,
                                  "statsmodels": later.submit(by_likelihood, answers, guessing)})
    for entry in golden["rasch"] + golden["margins"] + golden["marginal"] + golden["guessed"]:
        for name, value in [(name, value) for name, value in entry.items() if isinstance(value, Future)]:
            entry[name] = value.result()
        entry.update(entry.pop("all", {}))
    for entry in golden["margins"]:
        for name in ("theta", "outfit", "infit"):
            entry.pop(name, None)
    with open(sys.argv[1], "w") as out:
        json.dump(golden, out, separators=(",", ":"))
        out.write("\n")


if __name__ == "__main__":
    main()
