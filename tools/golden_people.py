"""Makes crates/core/mary-stats/tests/golden/people.json: agreement among several people and means over
people and items, from other implementations.

Krippendorff's alpha from the package `krippendorff`, Fleiss' kappa and the two-way clustered standard
error of a mean (Cameron, Gelbach and Miller) from statsmodels. Run from the repository root:

    python tools/golden_people.py

Needs numpy, statsmodels, krippendorff. The file is committed; tests never run Python.
"""

import json
import pathlib

import krippendorff
import numpy as np
import statsmodels
import statsmodels.api as sm
from statsmodels.stats import inter_rater
from statsmodels.stats.sandwich_covariance import cov_cluster_2groups

rng = np.random.default_rng(20261116)
gold = {
    "made_by": {
        "numpy": np.__version__,
        "statsmodels": statsmodels.__version__,
        "krippendorff": getattr(krippendorff, "__version__", "unknown"),
    },
    "alpha": [],
    "fleiss": [],
    "crossed": [],
}

for people, items, labels, missing in ((4, 12, 3, 0.3), (7, 40, 5, 0.6), (2, 30, 4, 0.0), (5, 25, 2, 0.2)):
    truth = rng.integers(0, labels, items)
    said = np.where(rng.uniform(size=(people, items)) < 0.6, truth, rng.integers(0, labels, (people, items)))
    said = said.astype(float)
    said[rng.uniform(size=said.shape) < missing] = np.nan
    case = {"items": [[float(v) for v in column if not np.isnan(v)] for column in said.T]}
    for level in ("nominal", "ordinal", "interval"):
        case[level] = float(krippendorff.alpha(reliability_data=said, level_of_measurement=level))
    gold["alpha"].append(case)

for people, items, labels in ((3, 20, 2), (6, 35, 4)):
    truth = rng.integers(0, labels, (items, 1))
    said = np.where(rng.uniform(size=(items, people)) < 0.7, truth, rng.integers(0, labels, (items, people)))
    table, _ = inter_rater.aggregate_raters(said)
    gold["fleiss"].append({"items": said.tolist(), "kappa": float(inter_rater.fleiss_kappa(table))})

for people, items in ((6, 9), (12, 20)):
    p, i = np.meshgrid(np.arange(people), np.arange(items), indexing="ij")
    keep = rng.uniform(size=p.shape) < 0.8
    p, i = p[keep], i[keep]
    ability, ease = rng.normal(0, 1, people), rng.normal(0.8, 1, items)
    score = (rng.uniform(size=p.size) < 1 / (1 + np.exp(-(ability[p] + ease[i])))).astype(float)
    fit = sm.OLS(score, np.ones((score.size, 1))).fit()
    # Only the correction for the number of clusters (n - 1 over n - 1 is one for a mean).
    _, by_person, by_item = cov_cluster_2groups(fit, p, group2=i)
    gold["crossed"].append(
        {
            "people": p.tolist(),
            "items": i.tolist(),
            "score": score.tolist(),
            "over_people": float(np.sqrt(by_person[0, 0])),
            "over_items": float(np.sqrt(by_item[0, 0])),
        }
    )

path = pathlib.Path("crates/core/mary-stats/tests/golden/people.json")
path.write_text(json.dumps(gold) + "\n")
print(path)
