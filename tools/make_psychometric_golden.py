"""Makes crates/tasks/mary-psychometric/tests/golden/psychometric.json: the abilities on random data.

Vectors, norms and questions are drawn at random; every value is computed by scipy, scikit-learn or,
for the best order on a line, by trying all orders. Nothing here is shared with the Rust code. Run from
the repository root:

    python tools/make_psychometric_golden.py

Needs numpy, scipy, scikit-learn. The file is committed; tests never run Python.
"""

import itertools
import json
import pathlib
import warnings

import numpy as np
import scipy
import sklearn
from scipy import optimize, stats
from sklearn.manifold import smacof
from sklearn.metrics import r2_score
from sklearn.metrics.pairwise import cosine_similarity

warnings.simplefilter("ignore")
rng = np.random.default_rng(20261115)


def rounded(a):
    return np.round(np.asarray(a, dtype=float), 6).tolist()


def averaged(x, y):
    keys = sorted(set(np.round(x, 9)))
    return np.array(keys), np.array([y[np.isclose(x, k)].mean() for k in keys])


def linear_r2(x, y):
    fit = stats.linregress(x, y)
    return float(r2_score(y, fit.intercept + fit.slope * x)), float(fit.slope)


def exponential_r2(x, y):
    """Best of many starts of scipy's curve_fit, with a positive rate."""
    best = None
    for rate in np.geomspace(0.002, 60, 60):
        for height in (1.0, -1.0):
            try:
                p, _ = optimize.curve_fit(
                    lambda v, a, b, c: a * np.exp(-b * (v - x.min())) + c,
                    x, y, p0=(height, rate / np.ptp(x) * 8, 0.0),
                    bounds=([-np.inf, 0.001 / np.ptp(x), -np.inf], [np.inf, 500 / np.ptp(x), np.inf]),
                    maxfev=20000,
                )
            except RuntimeError:
                continue
            fitted = p[0] * np.exp(-p[1] * (x - x.min())) + p[2]
            score = r2_score(y, fitted)
            if best is None or score > best:
                best = float(score)
    return best


def best_line(d):
    """Raw stress and places of the best order on a line: for a given order the places are a formula
    (Defays), so that trying every order of so few points is exact. Half of the orders mirror the rest."""
    n = len(d)
    best = (-1.0, None)
    for order in itertools.permutations(range(n)):
        if order[0] > order[-1]:
            continue
        places = np.empty(n)
        for k, i in enumerate(order):
            before, after = list(order[:k]), list(order[k + 1:])
            places[i] = (d[i, before].sum() - d[i, after].sum()) / n
        value = float((places ** 2).sum())
        if value > best[0]:
            best = (value, places)
    return best[1]


def stress1(places, d):
    i, j = np.triu_indices(len(d), 1)
    gaps = np.abs(places[i] - places[j])
    return float(np.sqrt(((gaps - d[i, j]) ** 2).sum() / (gaps ** 2).sum()))


def numbers(vectors, pairs):
    n = len(vectors)
    c = cosine_similarity(vectors)
    x, y = zip(*[(i + 1, j + 1) for i in range(n) for j in range(i + 1, n)])
    x, y = np.array(x, float), np.array(y, float)
    cos = np.array([c[int(a) - 1, int(b) - 1] for a, b in zip(x, y)])
    group = averaged if pairs == "averaged" else (lambda u, v: (u, v))
    distance, slope = linear_r2(*group(y - x, cos))
    normal = (cos - cos.min()) / (cos.max() - cos.min())
    ratio = exponential_r2(*group(y / x, normal))
    less = cos.copy()
    keep = np.ones(len(cos), bool)
    for d in range(1, n):
        at = (y - x) == d
        less[at] -= cos[at].mean()
        keep[at] = at.sum() > 1
    size, size_slope = linear_r2(*group(x[keep], less[keep]))
    out = {
        "pairs": pairs, "distance": distance, "distance_slope": slope, "ratio": ratio,
        "size": size, "size_slope": size_slope, "range": float(np.ptp(cos)), "max": float(cos.max()),
    }
    if pairs == "averaged":
        d = 1 - c
        np.fill_diagonal(d, 0)
        places = best_line(d)
        out["mds_stress"] = stress1(places, d)
        out["mds_correlation"] = abs(float(np.corrcoef(places, np.log(np.arange(1, n + 1)))[0, 1]))
        # scikit-learn, started from the best order, stays there: no better place nearby.
        found, raw = smacof(d, n_components=1, init=places[:, None], n_init=1, metric=True, normalized_stress=False)
        i, j = np.triu_indices(n, 1)
        own = ((np.abs(places[i] - places[j]) - d[i, j]) ** 2).sum()
        assert raw >= own * (1 - 1e-6), (raw, own)
        out["sklearn_raw_stress"] = float(raw)
    return out


gold = {
    "made_by": {"numpy": np.__version__, "scipy": scipy.__version__, "sklearn": sklearn.__version__},
    "numbers": [], "spearman": [], "analogies": [],
}
for kind in ("random", "graded", "graded"):
    vectors = rng.normal(size=(8, 6))
    if kind == "graded":
        line = np.log(np.arange(1, 9))
        vectors = 0.4 * vectors + np.outer(line, rng.normal(size=6)) + rng.normal(size=6) * 2
    vectors = np.array(rounded(vectors))
    gold["numbers"].append({"vectors": vectors.tolist(), "effects": [numbers(vectors, p) for p in ("averaged", "each")]})

for ties in (False, True):
    typicality = rng.integers(1, 5, 14).astype(float) if ties else rng.normal(size=14)
    category, members = rng.normal(size=5), rng.normal(size=(14, 5))
    typicality, category, members = map(np.array, (rounded(typicality), rounded(category), rounded(members)))
    cos = cosine_similarity(members, category[None])[:, 0]
    gold["spearman"].append({
        "typicality": typicality.tolist(), "category": category.tolist(), "members": members.tolist(),
        "rho": float(stats.spearmanr(typicality, cos).statistic),
    })

for _ in range(6):
    a, b, c, d = np.array(rounded(rng.normal(size=(4, 5))))
    cos = lambda u, v: float(cosine_similarity(u[None], v[None])[0, 0])
    up = lambda v: (v + 1) / 2
    gold["analogies"].append({
        "quad": [a.tolist(), b.tolist(), c.tolist(), d.tolist()],
        "cos_add": cos(d, c - a + b),
        "cos_mul": cos(d, b) * cos(d, c) / (cos(d, a) + 1e-3),
        "cos_mul_shifted": up(cos(d, b)) * up(cos(d, c)) / (up(cos(d, a)) + 1e-3),
        "concat_cos": cos(np.concatenate([a, b]), np.concatenate([c, d])),
    })

out = pathlib.Path("crates/tasks/mary-psychometric/tests/golden/psychometric.json")
out.parent.mkdir(parents=True, exist_ok=True)
out.write_text(json.dumps(gold, indent=1) + "\n")
print(out, out.stat().st_size)
