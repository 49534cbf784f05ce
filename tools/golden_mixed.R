# Golden file for mixed models: data drawn here, fits by lme4.
#
#     apt-get install r-base-core r-cran-lme4 r-cran-jsonlite
#     Rscript tools/golden_mixed.R crates/core/mary-stats/tests/golden_mixed.json
#     Rscript tools/golden_mixed.R own.json own     # lme4's own data sets instead; MARY_MIXED=own.json runs the test on them
suppressMessages({library(lme4); library(jsonlite)})
# At its usual tolerance (1e-7) the inner loop ends before the deviance has four digits.
set.seed(20261117)
cases <- list()
fit <- function(name, formula, data, family = "linear", reml = TRUE) {
  # Refitting looks for it outside.
  control <<- if (family == "linear") lmerControl(optimizer = "bobyqa", optCtrl = list(maxfun = 1e5))
             else glmerControl(optimizer = "bobyqa", tolPwrss = 1e-12, optCtrl = list(maxfun = 1e5))
  model <- suppressMessages(suppressWarnings(
    if (family == "linear") lmer(formula, data, REML = reml, control = control)
    else glmer(formula, data, family = binomial, nAGQ = 1, control = control)))
  columns <- lapply(data[all.vars(formula)], function(x) if (is.factor(x)) as.character(x) else x)
  cases[[length(cases) + 1]] <<- list(
    name = name, formula = gsub("\\s+", " ", paste(deparse(formula), collapse = " ")), family = family, reml = reml,
    columns = columns, estimates = unname(fixef(model)), errors = unname(sqrt(diag(as.matrix(vcov(model))))),
    deviations = unname(lapply(VarCorr(model), function(v) unname(attr(v, "stddev")))),
    groups = names(VarCorr(model)), residual = if (family == "linear") sigma(model) else NULL,
    loglik = as.numeric(logLik(model)), singular = isSingular(model))
  invisible(model)
}
# Bootstrap intervals: standard deviations of the groups, the residual's, fixed effects.
redraw <- function(model) {
  cases[[length(cases)]]$redrawn <<- unname(suppressMessages(suppressWarnings(
    confint(model, method = "boot", nsim = 2000, boot.type = "perc", seed = 1))))
}
design <- function(persons, items, slope_sd) {
  d <- expand.grid(person = paste0("p", 1:persons), item = paste0("i", 1:items))
  person <- as.integer(factor(d$person)); item <- as.integer(factor(d$item))
  d$a <- (item %% 2) - 0.5
  d$b <- ((item %/% 2 + person) %% 2) - 0.5
  u <- rnorm(persons, 0, 30); s <- rnorm(persons, 0, slope_sd); w <- rnorm(items, 0, 20)
  d$y <- round(400 + 25 * d$a + 10 * d$b + 15 * d$a * d$b + u[person] + s[person] * d$a + w[item] + rnorm(nrow(d), 0, 50), 3)
  d$right <- as.integer(runif(nrow(d)) < plogis(0.8 + 0.6 * d$a + u[person] / 30 + w[item] / 25))
  d
}
if (length(commandArgs(TRUE)) > 1) {
  fit("sleepstudy", Reaction ~ Days + (Days | Subject), sleepstudy)
  fit("sleepstudy, uncorrelated", Reaction ~ Days + (Days || Subject), sleepstudy, reml = FALSE)
  fit("Penicillin", diameter ~ 1 + (1 | plate) + (1 | sample), Penicillin)
  Pastes$cask <- factor(Pastes$cask)
  fit("Pastes", strength ~ 1 + (1 | batch) + (1 | sample), Pastes)
  Dyestuff2$Batch <- factor(Dyestuff2$Batch)
  fit("Dyestuff2", Yield ~ 1 + (1 | Batch), Dyestuff2)
  long <- cbpp[rep(seq_len(nrow(cbpp)), cbpp$size), ]
  long$sick <- unlist(mapply(function(i, s) rep(1:0, c(i, s - i)), cbpp$incidence, cbpp$size))
  fit("cbpp", sick ~ period + (1 | herd), long, "logistic")
  VerbAgg$yes <- as.integer(VerbAgg$r2 == "Y")
  fit("VerbAgg", yes ~ Anger + btype + situ + (1 | id) + (1 | item), VerbAgg, "logistic")
} else {
  d <- design(24, 16, 15)
  fit("crossed intercepts", y ~ a * b + (1 | person) + (1 | item), d)
  fit("crossed, ML", y ~ a * b + (1 | person) + (1 | item), d, reml = FALSE)
  fit("slopes", y ~ a + b + (1 + a | person) + (1 | item), d)
  fit("slopes of both, apart", y ~ a + b + (1 + a || person) + (1 + b || item), d)
  e <- design(30, 12, 0)
  fit("singular", y ~ a + (1 + a | person) + (1 | item), e)
  e$condition <- ifelse(e$a > 0, "match", "mismatch")
  fit("words", y ~ condition + (1 | person) + (1 | item), e)
  fit("logistic crossed", right ~ a + (1 | person) + (1 | item), d, "logistic")
  fit("logistic slopes", right ~ a + b + (1 + a | person) + (1 | item), design(40, 20, 15), "logistic")
  redraw(fit("redrawn", y ~ a * b + (1 | person) + (1 | item), d))
}
write(toJSON(cases, digits = 10, auto_unbox = FALSE), commandArgs(TRUE)[1])
