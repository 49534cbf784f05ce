//! Mixed models beside lme4 (`tools/golden_mixed.R`); with `MARY_MIXED` on another file of the same form.

use mary_stats::StatsError;
use mary_stats::mixed::{Criterion, Formula, Mixed, Table, linear, logistic, redrawn};
use serde_json::Value;

fn numbers(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|x| x.as_f64().unwrap())
        .collect()
}

fn word(value: &Value) -> &str {
    value[0].as_str().unwrap()
}

fn table(columns: &Value) -> Table {
    let mut table = Table::new();
    for (name, values) in columns.as_object().unwrap() {
        let values = values.as_array().unwrap();
        if values[0].is_number() {
            table
                .numbers(name, values.iter().map(|x| x.as_f64().unwrap()))
                .unwrap();
        } else {
            table
                .words(name, values.iter().map(|x| x.as_str().unwrap()))
                .unwrap();
        }
    }
    table
}

fn fit(case: &Value) -> Result<Mixed, StatsError> {
    let design = Formula::parse(word(&case["formula"]))?.design(&table(&case["columns"]))?;
    match word(&case["family"]) {
        "linear" if case["reml"][0] == true => linear(&design, Criterion::Reml),
        "linear" => linear(&design, Criterion::Ml),
        _ => logistic(&design),
    }
}

/// The largest difference, relative to the size of theirs.
fn off(ours: &[f64], theirs: &[f64]) -> f64 {
    assert_eq!(ours.len(), theirs.len());
    ours.iter()
        .zip(theirs)
        .map(|(a, b)| (a - b).abs() / b.abs().max(1e-2))
        .fold(0.0, f64::max)
}

#[test]
fn fits_are_those_of_lme4() {
    let text = std::env::var("MARY_MIXED").map(|path| std::fs::read_to_string(path).unwrap());
    let cases: Value =
        serde_json::from_str(text.as_deref().unwrap_or(include_str!("golden_mixed.json"))).unwrap();
    for case in cases.as_array().unwrap() {
        let name = word(&case["name"]);
        let found = fit(case).unwrap();
        let estimates = off(&found.estimates, &numbers(&case["estimates"]));
        let errors = off(&found.errors, &numbers(&case["errors"]));
        // lme4 lists terms by the number of their levels; ours are in the formula's order.
        let mut own: Vec<f64> = found
            .spreads
            .iter()
            .flat_map(|s| s.deviations.clone())
            .collect();
        let mut theirs: Vec<f64> = case["deviations"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(numbers)
            .collect();
        own.sort_by(f64::total_cmp);
        theirs.sort_by(f64::total_cmp);
        let spreads = off(&own, &theirs);
        let likelihood = (found.log_likelihood - case["loglik"][0].as_f64().unwrap()).abs();
        println!(
            "{name}: fixed {estimates:.1e} errors {errors:.1e} spreads {spreads:.1e} logLik {likelihood:.1e} singular {} {} converged {}",
            found.singular, case["singular"][0], found.converged
        );
        assert!(estimates < 1e-4 && likelihood < 1e-4, "{name}");
        assert!(
            spreads < 1e-3 || found.singular,
            "{name}: {own:?} {theirs:?}"
        );
        assert!(
            errors < 1e-3,
            "{name}: {:?} {}",
            found.errors,
            case["errors"]
        );
        assert!(
            found.converged && found.singular == (case["singular"][0] == true),
            "{name}"
        );
    }
}

/// Two bootstraps of 2,000 and 500 draws differ by chance: by less than a seventh of an interval's width.
#[test]
fn intervals_of_refitted_draws_are_those_of_lme4() {
    let cases: Value = serde_json::from_str(include_str!("golden_mixed.json")).unwrap();
    let cases = cases.as_array().unwrap().iter();
    let cases: Vec<&Value> = cases.filter(|case| case["redrawn"].is_array()).collect();
    assert_eq!(cases.len(), 1);
    for case in cases {
        let formula = Formula::parse(word(&case["formula"])).unwrap();
        let design = formula.design(&table(&case["columns"])).unwrap();
        let fitted = fit(case).unwrap();
        let found = redrawn(&design, &fitted, Criterion::Reml, 500, 1).unwrap();
        assert_eq!(found.draws, 500);
        let groups = case["groups"].as_array().unwrap();
        let ours: Vec<(f64, f64)> = groups
            .iter()
            .map(|name| {
                let term = fitted.spreads.iter().position(|s| *name == *s.group);
                found.deviations[term.unwrap()][0]
            })
            .chain(found.residual)
            .chain(found.fixed.iter().copied())
            .collect();
        let theirs = case["redrawn"].as_array().unwrap();
        assert_eq!(ours.len(), theirs.len());
        for ((low, high), row) in ours.iter().zip(theirs) {
            let row = numbers(row);
            let width = row[1] - row[0];
            let off = (low - row[0]).abs().max((high - row[1]).abs()) / width;
            assert!(off < 1.0 / 7.0, "[{low}, {high}] and {row:?}: {off}");
        }
        assert!(redrawn(&design, &fitted, Criterion::Reml, 50, 1).is_err());
    }
}

#[test]
fn what_cannot_be_fitted_says_why() {
    let mut table = Table::new();
    table.numbers("y", [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]).unwrap();
    table.numbers("x", [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]).unwrap();
    table.words("g", ["a", "b", "c", "a", "b", "c"]).unwrap();
    let said = |formula: &str| {
        let design = Formula::parse(formula).and_then(|formula| formula.design(&table));
        design
            .and_then(|design| logistic(&design))
            .unwrap_err()
            .to_string()
    };
    let separated = said("y ~ x + (1 | g)");
    assert!(separated.contains("separate the classes"), "{separated}");
    assert!(said("y").contains("outcome ~ terms"));
    assert!(said("y ~ x + (1 g)").contains("(effects | group)"));
    assert!(said("y ~ z + (1 | g)").contains("there are: g, x, y"));
    assert!(said("y ~ x x + (1 | g)").contains("`x x`"));
    assert!(said("y ~ x").contains("no random term"));
    table.gap("z", 3);
    let gap = Formula::parse("y ~ z + (1 | g)").and_then(|formula| formula.design(&table));
    assert!(
        gap.unwrap_err()
            .to_string()
            .contains("none in row 3 of `z`")
    );
}

/// Two thousand drawn designs with crossed persons and items: the interval of a within-item effect holds the truth as often as it
/// says, and the test of an effect that is not there is significant as often as it says.
#[test]
#[ignore = "some minutes: a simulation"]
fn intervals_cover_as_often_as_they_say() {
    let mut state = 20_261_118u64;
    let mut uniform = move || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        ((state >> 33) as f64 + 0.5) / f64::from(1u32 << 31)
    };
    let mut normal =
        move || (-2.0 * uniform().ln()).sqrt() * (2.0 * std::f64::consts::PI * uniform()).cos();
    let (persons, items, draws) = (24, 20, 2000);
    let (mut covered, mut claimed) = (0, 0);
    for _ in 0..draws {
        let mut table = Table::new();
        let u: Vec<f64> = (0..persons).map(|_| 30.0 * normal()).collect();
        let w: Vec<f64> = (0..items).map(|_| 20.0 * normal()).collect();
        let (mut y, mut a, mut b, mut person, mut item) = (vec![], vec![], vec![], vec![], vec![]);
        for (p, u) in u.iter().enumerate() {
            for (i, w) in w.iter().enumerate() {
                let (x, z) = (((p + i) % 2) as f64 - 0.5, ((p + i / 2) % 2) as f64 - 0.5);
                y.push(400.0 + 10.0 * x + u + w + 50.0 * normal());
                a.push(x);
                b.push(z);
                person.push(p.to_string());
                item.push(i.to_string());
            }
        }
        table.numbers("y", y).unwrap();
        table.numbers("a", a).unwrap();
        table.numbers("b", b).unwrap();
        table.words("person", person).unwrap();
        table.words("item", item).unwrap();
        let formula = Formula::parse("y ~ a + b + (1 | person) + (1 | item)").unwrap();
        let found = linear(&formula.design(&table).unwrap(), Criterion::Reml).unwrap();
        let (low, high) = found.interval(1, 0.95).unwrap();
        covered += u32::from(low <= 10.0 && 10.0 <= high);
        claimed += u32::from(found.p(2).unwrap() < 0.05);
    }
    println!("covered {covered}, claimed {claimed} of {draws}");
    assert!((1870..=1930).contains(&covered), "{covered}");
    assert!((70..=130).contains(&claimed), "{claimed}");
}
