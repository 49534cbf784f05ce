"""Makes crates/core/mary-stats/tests/golden/stats.json: reference values for every statistic.

Every value comes from another implementation (scipy, statsmodels, scikit-learn) or, where none
exists, from a brute-force computation written here independently of the Rust code; each block says
which. Run from the repository root:

    python tools/golden_stats.py

Needs numpy, scipy, statsmodels, scikit-learn. The file is committed; tests never run Python.
"""

import itertools
import json
import pathlib
import warnings

import numpy as np
import scipy
import sklearn
import statsmodels
import statsmodels.api as sm
from scipy import optimize, stats
from sklearn.manifold import smacof
from sklearn.linear_model import LogisticRegression
from statsmodels.stats import contingency_tables, inter_rater, multitest, proportion

warnings.simplefilter("ignore")
rng = np.random.default_rng(20261115)
gold = {
    "made_by": {
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "statsmodels": statsmodels.__version__,
        "sklearn": sklearn.__version__,
    }
}


def lst(a):
    return [float(round(v, 6)) for v in np.asarray(a, dtype=float).ravel()]


# distributions: scipy
gold["distributions"] = {
    "normal_cdf": [[x, stats.norm.cdf(x)] for x in (-8, -3.2, -1, 0, 0.5, 1.96, 6)],
    "normal_quantile": [[p, stats.norm.ppf(p)] for p in (1e-10, 0.025, 0.3, 0.5, 0.975, 0.999999)],
    "t_cdf": [[t, d, stats.t.cdf(t, d)] for t in (-4, -0.5, 0, 2.2) for d in (1, 2.5, 19, 1000)],
    "t_quantile": [
        [p, d, stats.t.ppf(p, d)] for p in (0.025, 0.9, 0.975, 0.9995) for d in (1, 3, 19, 200, 999999)
    ],
    "beta_cdf": [
        [x, a, b, stats.beta.cdf(x, a, b)]
        for x, a, b in (
            (0.1, 2, 3),
            (0.5, 0.5, 0.5),
            (0.99, 30, 1.5),
            (0.5, 5000, 5010),
            (0.3, 300000, 700000),
            (0.3005, 300000, 700000),
        )
    ],
    "beta_quantile": [
        [p, a, b, stats.beta.ppf(p, a, b)]
        for p, a, b in ((0.025, 1, 20), (0.975, 20, 1), (0.5, 3.3, 0.7), (0.025, 900001, 100000))
    ],
    "binomial_cdf": [[k, n, p, stats.binom.cdf(k, n, p)] for k, n, p in ((0, 5, 0.5), (3, 20, 0.1), (480, 1000, 0.5))],
    "chi_squared_upper": [[x, d, stats.chi2.sf(x, d)] for x, d in ((3.84, 1), (0.3, 4), (30, 10))],
}

# proportions: statsmodels
gold["proportions"] = []
for k, n in ((0, 20), (1, 20), (10, 20), (20, 20), (3, 7), (191, 200), (499876, 1000000)):
    for level in (0.9, 0.95):
        w = proportion.proportion_confint(k, n, 1 - level, "wilson")
        e = proportion.proportion_confint(k, n, 1 - level, "beta")
        gold["proportions"].append(
            {"k": k, "n": n, "level": level, "wilson": list(map(float, w)), "exact": list(map(float, e))}
        )

# means: scipy t; clustered: statsmodels OLS on a constant with cluster-robust covariance
x = np.round(rng.normal(3, 2, 25), 4)
t = stats.t.interval(0.95, len(x) - 1, x.mean(), stats.sem(x))
ids = rng.integers(0, 9, 60)
y = np.round(rng.normal(0, 1, 60) + rng.normal(0, 1, 9)[ids], 4)
fit = sm.OLS(y, np.ones(60)).fit(
    cov_type="cluster", cov_kwds={"groups": ids, "use_correction": False, "df_correction": True}, use_t=True
)
# CR1 with G/(G-1) only: statsmodels without correction, times that factor.
G = len(set(ids.tolist()))
se = float(fit.bse[0]) * np.sqrt(G / (G - 1))
half = stats.t.ppf(0.975, G - 1) * se
gold["means"] = {
    "values": lst(x),
    "t": list(map(float, t)),
    "clustered": {
        "values": lst(y),
        "clusters": ids.tolist(),
        "standard_error": se,
        "low": y.mean() - half,
        "high": y.mean() + half,
    },
}

# bootstrap: scipy.stats.bootstrap with many resamples (compared with a tolerance)
x = np.round(rng.exponential(1, 40), 4)
gold["bootstrap"] = {"values": lst(x)}
for kind in ("percentile", "BCa"):
    ci = stats.bootstrap((x,), np.mean, n_resamples=200000, method=kind, random_state=rng, batch=2000).confidence_interval
    gold["bootstrap"][kind.lower()] = [float(ci.low), float(ci.high)]

# McNemar: statsmodels exact; mid-p from the binomial (scipy)
gold["mcnemar"] = []
for b, c in ((0, 0), (1, 7), (10, 10), (25, 12), (3, 0), (140, 190)):
    exact = float(contingency_tables.mcnemar([[5, b], [c, 5]], exact=True).pvalue) if b + c else 1.0
    m, n = min(b, c), b + c
    mid = 2 * stats.binom.cdf(m, n, 0.5) - stats.binom.pmf(m, n, 0.5)
    gold["mcnemar"].append({"b": b, "c": c, "exact": min(exact, 1.0), "mid": float(min(mid, 1.0))})

# permutation of signs: scipy.stats.permutation_test (exact for few, compared loosely for many)
d = np.round(rng.normal(0.5, 1, 11), 3)
exact = stats.permutation_test((d, np.zeros(11)), lambda a, b, axis: np.mean(a - b, axis=axis), permutation_type="samples", vectorized=True, n_resamples=np.inf)
many = np.round(rng.normal(0.25, 1, 80), 3)
mc = stats.permutation_test((many, np.zeros(80)), lambda a, b, axis: np.mean(a - b, axis=axis), permutation_type="samples", vectorized=True, n_resamples=200000, random_state=rng, batch=5000)
gold["permutation"] = {"few": lst(d), "few_p": float(exact.pvalue), "many": lst(many), "many_p": float(mc.pvalue)}

# Welch: scipy
a, b = np.round(rng.normal(0, 1, 12), 4), np.round(rng.normal(1, 3, 20), 4)
w = stats.ttest_ind(a, b, equal_var=False)
ci = w.confidence_interval(0.95)
gold["welch"] = {"a": lst(a), "b": lst(b), "p": float(w.pvalue), "low": float(ci.low), "high": float(ci.high)}

# multiple testing: statsmodels
p = np.round(rng.uniform(0, 0.2, 9), 5).tolist() + [0.01, 0.01, 1.0]
gold["multiple"] = {
    "p": p,
    "holm": multitest.multipletests(p, method="holm")[1].tolist(),
    "bh": multitest.multipletests(p, method="fdr_bh")[1].tolist(),
}

# kappa: statsmodels
gold["kappa"] = []
for k, n, agree in ((2, 40, 0.8), (4, 100, 0.6), (3, 30, 0.0)):
    first = rng.integers(0, k, n)
    second = np.where(rng.uniform(size=n) < agree, first, rng.integers(0, k, n))
    table, _ = inter_rater.to_table(np.column_stack([first, second]), bins=k)
    r = inter_rater.cohens_kappa(table)
    gold["kappa"].append(
        {"first": first.tolist(), "second": second.tolist(), "kappa": float(r.kappa), "se": float(r.std_kappa)}
    )

# correlations: scipy
gold["correlation"] = []
for n, ties in ((10, True), (40, False), (27, True)):
    a = rng.normal(0, 1, n)
    b = a + rng.normal(0, 1, n)
    if ties:
        a, b = np.round(a * 2) / 2, np.round(b)
    a, b = np.round(a, 4), np.round(b, 4)
    pr, sr = stats.pearsonr(a, b), stats.spearmanr(a, b)
    kt = stats.kendalltau(a, b, method="asymptotic")
    ci = pr.confidence_interval(0.95)
    gold["correlation"].append(
        {
            "x": lst(a),
            "y": lst(b),
            "pearson": [float(pr.statistic), float(pr.pvalue), float(ci.low), float(ci.high)],
            "spearman": [float(sr.statistic), float(sr.pvalue)],
            "kendall": [float(kt.statistic), float(kt.pvalue)],
        }
    )

# Mann-Whitney: scipy (auto: exact for a small group without ties)
gold["mann_whitney"] = []
for n1, n2, ties in ((5, 7, False), (8, 30, False), (12, 15, True), (40, 55, False), (3, 3, True)):
    a, b = rng.normal(0, 1, n1), rng.normal(0.7, 1, n2)
    if ties:
        a, b = np.round(a), np.round(b)
    a, b = np.round(a, 4), np.round(b, 4)
    r = stats.mannwhitneyu(a, b, alternative="two-sided", method="auto")
    gold["mann_whitney"].append({"a": lst(a), "b": lst(b), "u": float(r.statistic), "p": float(r.pvalue)})

# line and least squares: scipy, statsmodels
x = np.round(rng.normal(0, 1, 20), 4)
y = np.round(2 - 0.7 * x + rng.normal(0, 0.5, 20), 4)
r = stats.linregress(x, y)
X = np.round(rng.normal(0, 1, (30, 3)), 4)
z = np.round(X @ [1, -2, 0.2] + rng.normal(0, 1, 30), 4)
o = sm.OLS(z, sm.add_constant(X)).fit()
gold["linear"] = {
    "x": lst(x),
    "y": lst(y),
    "line": [r.slope, r.intercept, r.rvalue**2, r.stderr, r.pvalue],
    "features": [lst(row) for row in X],
    "target": lst(z),
    "coefficients": o.params.tolist(),
    "errors": o.bse.tolist(),
    "p": o.pvalues.tolist(),
    "r_squared": float(o.rsquared),
}

# logistic: statsmodels Logit; with ridge: scikit-learn, C = 1/ridge, intercept not penalised
X = np.round(rng.normal(0, 1, (80, 3)), 4)
y = (rng.uniform(size=80) < 1 / (1 + np.exp(-(0.3 + X @ [1.2, -0.6, 0.0])))).astype(float)
fit = sm.Logit(y, sm.add_constant(X)).fit(disp=0, tol=1e-12)
ridge = LogisticRegression(C=0.5, tol=1e-12, max_iter=10000).fit(X, y)
gold["logistic"] = {
    "features": [lst(row) for row in X],
    "outcomes": lst(y),
    "coefficients": fit.params.tolist(),
    "errors": fit.bse.tolist(),
    "p": fit.pvalues.tolist(),
    "log_likelihood": float(fit.llf),
    "null_log_likelihood": float(fit.llnull),
    "ridge": 2.0,
    "ridge_coefficients": [float(ridge.intercept_[0]), *ridge.coef_[0].tolist()],
}

# exponential: scipy curve_fit from many starts, best kept
gold["exponential"] = []
for n, a, b, c, noise in ((36, 0.9, 0.8, 0.1, 0.02), (20, 2.0, 0.2, -1.0, 0.1), (30, -3.0, 0.8, 1.0, 0.05)):
    x = np.round(np.sort(rng.uniform(1, 9, n)), 4)
    y = np.round(a * np.exp(-b * x) + c + rng.normal(0, noise, n), 5)
    best = None
    for b0 in (0.01, 0.05, 0.2, 0.5, 1, 2, 4):
        try:
            q, _ = optimize.curve_fit(lambda x, a, b, c: a * np.exp(-b * x) + c, x, y, p0=[y[0] - y[-1], b0, y[-1]], maxfev=50000, ftol=1e-14, xtol=1e-14)
        except RuntimeError:
            continue
        ss = ((y - (q[0] * np.exp(-q[1] * x) + q[2])) ** 2).sum()
        if q[1] > 0 and (best is None or ss < best[0]):
            best = (ss, q)
    gold["exponential"].append(
        {"x": lst(x), "y": lst(y), "abc": best[1].tolist(), "r_squared": float(1 - best[0] / ((y - y.mean()) ** 2).sum())}
    )

# MDS: scikit-learn's smacof with many starts in two dimensions; all orders of seven on a line
pts = rng.normal(0, 1, (10, 4))
D = np.round(np.sqrt(((pts[:, None] - pts[None]) ** 2).sum(-1)), 5)
_, s2 = smacof(D, n_components=2, n_init=300, max_iter=3000, eps=1e-12, random_state=1, normalized_stress=False)
E = D[:7, :7]
best = None
for order in itertools.permutations(range(7)):
    if order[0] > order[-1]:
        continue
    pos = np.empty(7)
    for rank, i in enumerate(order):
        pos[i] = (E[i, list(order[:rank])].sum() - E[i, list(order[rank + 1 :])].sum()) / 7
    raw = sum((abs(pos[i] - pos[j]) - E[i, j]) ** 2 for i in range(7) for j in range(i))
    if best is None or raw < best:
        best = raw
gold["mds"] = {
    "dissimilarities": [lst(r) for r in D],
    "raw_2d": float(s2),
    "normalised_2d": float(np.sqrt(s2 / ((D**2).sum() / 2))),
    "raw_1d_of_first_seven": float(best),
}

# segmented regression: brute force over a fine grid with numpy, polished with Nelder-Mead
gold["segmented"] = []
for n, on, end, noise in ((24, 2.0, 4.0, 0.02), (40, 1.3, 2.2, 0.015), (30, 3.0, 5.5, 0.03)):
    lx = np.sort(rng.uniform(0, 6, n))
    x = np.array([float(f"{v:.6g}") for v in 10**lx])
    lx = np.log10(x)
    y = np.round(0.5 + 0.15 * (np.clip(lx, on, end) - on) + rng.normal(0, noise, n), 5)

    def sse(th):
        if th[0] >= th[1] or th[0] < lx[0] or th[1] > lx[-1]:
            return 1e9
        f = np.clip(lx, th[0], th[1]) - th[0]
        A = np.column_stack([np.ones(n), f])
        co, *_ = np.linalg.lstsq(A, y, rcond=None)
        return 1e9 if co[1] < 0 else ((y - A @ co) ** 2).sum()

    knots = np.linspace(lx[0], lx[-1], 121)
    grid = sorted((sse((a, b)), a, b) for a in knots for b in knots if b > a)[:5]
    res = min(
        (optimize.minimize(sse, g[1:], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14, "maxiter": 5000}) for g in grid),
        key=lambda r: r.fun,
    )
    gold["segmented"].append(
        {"x": x.tolist(), "y": lst(y), "onset_log10": float(res.x[0]), "end_log10": float(res.x[1]), "sse": float(res.fun), "r_squared": float(1 - res.fun / ((y - y.mean()) ** 2).sum())}
    )

# likelihood intervals of differences: the likelihood written out, nuisance share by scipy's bounded
# minimiser, ends by scipy's root finder
def loglik(ks, ps):
    return sum(0.0 if k == 0 else k * np.log(max(p, 1e-300)) for k, p in zip(ks, ps))


def likelihood_ends(value, best, cells, span):
    def excess(d):
        lo, hi = span(d)
        fit = optimize.minimize_scalar(lambda q: -cells(q, d), bounds=(lo, hi), method="bounded", options={"xatol": 1e-13})
        return 2 * (best + fit.fun) - stats.chi2.ppf(0.95, 1)

    ends = []
    for end in (-1 + 1e-9, 1 - 1e-9):
        ends.append(float(np.sign(end)) if excess(end) < 0 else float(optimize.brentq(excess, value, end, xtol=1e-12)))
    return ends


def likelihood_two(k1, n1, k2, n2):
    cells = lambda q, d: loglik((k1, n1 - k1, k2, n2 - k2), (q + d, 1 - q - d, q, 1 - q))
    best = loglik((k1, n1 - k1, k2, n2 - k2), (k1 / n1, 1 - k1 / n1, k2 / n2, 1 - k2 / n2))
    return likelihood_ends(k1 / n1 - k2 / n2, best, cells, lambda d: (max(0, -d), min(1, 1 - d)))


def likelihood_pairs(a, b, c, d_):
    n, e = a + b + c + d_, a + d_
    cells = lambda q, d: loglik((b, c, e), (q + d, q, 1 - 2 * q - d))
    best = loglik((b, c, e), (b / n, c / n, e / n))
    return likelihood_ends((b - c) / n, best, cells, lambda d: (max(0, -d), (1 - d) / 2))


gold["likelihood_two"] = [
    [*case, *likelihood_two(*case)] for case in ((56, 70, 48, 80), (9, 10, 3, 10), (1, 20, 3, 20), (19, 20, 190, 200), (5, 9, 4, 11))
]
gold["likelihood_pairs"] = [
    [*cell, *likelihood_pairs(*cell)] for cell in ((1, 1, 7, 12), (36, 12, 2, 1), (53, 3, 1, 2), (80, 10, 5, 105), (2, 5, 5, 3))
]

out = pathlib.Path("crates/core/mary-stats/tests/golden/stats.json")
out.parent.mkdir(parents=True, exist_ok=True)
out.write_text(json.dumps(gold, separators=(",", ":")) + "\n")
print(out, out.stat().st_size, "bytes")
