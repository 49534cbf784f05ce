"""Makes crates/core/mary-stats/tests/golden/clusters.json: means of clustered differences with CR2.

CR2 (Bell and McCaffrey 2002) and Satterthwaite's degrees of freedom by their general matrix formulas
(Pustejovsky and Tipton 2018, working covariance the identity), where the Rust code has the closed form
for a mean; interval and p-value by scipy's t. Run from the repository root:

    python tools/golden_clusters.py

Needs numpy and scipy. The file is committed; tests never run Python.
"""

import json
import pathlib

import numpy as np
from scipy import linalg, stats

rng = np.random.default_rng(20261117)


def cr2(y, ids):
    x = np.ones((len(y), 1))
    bread = np.linalg.inv(x.T @ x)
    hat = x @ bread @ x.T
    rest = np.eye(len(y)) - hat
    coefficient = (bread @ x.T @ y)[0]
    residuals = rest @ y
    variance, vectors = 0.0, []
    for g in np.unique(ids):
        of = ids == g
        adjust = linalg.fractional_matrix_power(rest[np.ix_(of, of)], -0.5).real
        score = bread @ x[of].T @ adjust
        variance += (score @ residuals[of])[0] ** 2
        # The variance is a sum of squares of p'y, whose covariance gives the degrees of freedom.
        vectors.append((score @ rest[of])[0])
    gram = np.array(vectors) @ np.array(vectors).T
    freedom = np.trace(gram) ** 2 / np.sum(gram**2)
    half = stats.t.ppf(0.975, freedom) * np.sqrt(variance)
    p = 2 * stats.t.sf(abs(coefficient) / np.sqrt(variance), freedom)
    return coefficient, variance, freedom, coefficient - half, coefficient + half, p


cases = []
for sizes in ([3, 3, 3, 3, 3, 3], [1, 2, 3, 4, 9, 15], [2] * 21 + [30], [1, 1, 1, 1, 1, 1, 12], list(range(1, 23))):
    ids = np.repeat(np.arange(len(sizes)), sizes)
    common = rng.normal(0.1, 0.2, len(sizes))[ids]
    y = np.clip(np.round(common + rng.normal(0, 0.4, len(ids)), 2), -1, 1)
    value, variance, freedom, low, high, p = map(float, cr2(y, ids))
    cases.append(
        dict(ids=ids.tolist(), values=y.tolist(), value=value, variance=variance, freedom=freedom, low=low, high=high, p=p)
    )
path = pathlib.Path("crates/core/mary-stats/tests/golden/clusters.json")
path.write_text(json.dumps({"made_by": {"numpy": np.__version__}, "cases": cases}) + "\n")
