#!/bin/sh
# `mary fit` beside lme4 on ten thousand rows with two crossed factors, whole processes in one run, in turns; prints the ratio.
#
#     apt-get install r-base-core r-cran-lme4
#     tools/bench_mixed.sh target/release/mary
set -eu
mary=${1:?the program}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > draw.R <<'R'
set.seed(1)
d <- expand.grid(person = paste0("p", 1:100), item = paste0("i", 1:100))
d$a <- rep(c(-0.5, 0.5), length.out = nrow(d))
u <- rnorm(100, 0, 30); w <- rnorm(100, 0, 20)
d$y <- 400 + 25 * d$a + u[as.integer(d$person)] + w[as.integer(d$item)] + rnorm(nrow(d), 0, 50)
write.csv(d, "d.csv", row.names = FALSE, quote = FALSE)
R
cat > fit.R <<'R'
suppressMessages(library(lme4))
m <- lmer(y ~ a + (1 | person) + (1 | item), read.csv("d.csv"))
cat(sprintf("%.6f %.6f\n", fixef(m)[2], as.numeric(logLik(m))))
R
Rscript draw.R
mary=$(cd - > /dev/null; realpath "$mary")
python3 - "$mary" <<'P'
import json, subprocess, sys, time

def timed(command):
    begin = time.perf_counter()
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return time.perf_counter() - begin, said

ours = [sys.argv[1], "fit", "y ~ a + (1 | person) + (1 | item)", "d.csv", "--json"]
times = {"mary": [], "lme4": []}
for _ in range(7):
    seconds, said = timed(ours); times["mary"].append(seconds)
    fit = json.loads(said)["fit"]
    seconds, theirs = timed(["Rscript", "fit.R"]); times["lme4"].append(seconds)
print("effect and restricted log-likelihood: %.6f %.6f (mary), %s (lme4)" % (fit["estimates"][1], fit["log_likelihood"], theirs.strip()))
best = {name: min(seconds) for name, seconds in times.items()}
print("10,000 rows, best of 7: mary %.3f s, lme4 %.3f s, ratio %.1f" % (best["mary"], best["lme4"], best["lme4"] / best["mary"]))
P
