"""Makes crates/core/mary-stats/tests/golden/permutations.json: label-permutation nulls by scipy.

Random vectors stand for numbers; the statistic is R² of a line of their cosine on the distance of the
labels, pairs of equal distance averaged, with the sign of the effect in people (similarity falls with
distance). scipy.stats.permutation_test with pairings enumerates all orders of the labels.

    python -m venv target/venv && target/venv/bin/pip install numpy scipy
    target/venv/bin/python tools/golden_permutations.py
"""

import json
from pathlib import Path

import numpy as np
import scipy
from scipy import stats


def signed(cosines, order):
    n = len(order)
    by_distance = {}
    for i in range(n):
        for j in range(i + 1, n):
            by_distance.setdefault(j - i, []).append(cosines[order[i]][order[j]])
    x = sorted(by_distance)
    fit = stats.linregress(x, [np.mean(by_distance[d]) for d in x])
    return -np.sign(fit.slope) * fit.rvalue**2


def case(rng, n, dimensions, pull):
    vectors = rng.normal(size=(n, dimensions))
    vectors[:, 0] += pull * np.arange(n)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = unit @ unit.T
    found = stats.permutation_test(
        (np.arange(n),),
        lambda order: signed(cosines, np.asarray(order, dtype=int)),
        permutation_type="pairings",
        vectorized=False,
        n_resamples=np.inf,
        alternative="greater",
    )
    return {
        "cosines": cosines.tolist(),
        "observed": float(found.statistic),
        "expected": float(np.mean(found.null_distribution)),
        "p": float(found.pvalue),
        "orders": len(found.null_distribution),
    }


rng = np.random.default_rng(20)
cases = [case(rng, n, d, pull) for n in (5, 6) for d, pull in ((4, 0.0), (16, 0.0), (8, 0.7))]
out = Path(__file__).parent.parent / "crates/core/mary-stats/tests/golden/permutations.json"
out.write_text(json.dumps({"scipy": scipy.__version__, "cases": cases}, indent=1) + "\n")
for c in cases:
    print(c["orders"], round(c["observed"], 4), round(c["expected"], 4), round(c["p"], 4))
