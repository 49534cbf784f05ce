//! Analogies by vectors: three formulas on the vectors of four words, each read alone.

use std::sync::LazyLock;

use mary_contract::{Judgement, Needs, Scoring, Ties, best};

use super::AnalogyTask;
use super::formulas::{FORMULAS, Formula, Quad};
use crate::cards::{card, stated};
use crate::observed::{Layer, layers, look, mean, pooling};

pub static VECTORS: AnalogyTask = AnalogyTask {
    card: LazyLock::new(|| card("psychometric/analogies-vectors")),
    needs: Needs::OBSERVE,
    scoring: Scoring::share(Ties::Shared),
    told: false,
    asks: |card, settings| {
        let (pooling, read_layers) = pooling(card, settings)?;
        Ok(Box::new(move |question| {
            let choices = question.choices.iter().flatten();
            let words = question.stem.iter().chain(choices);
            let asks = words.map(|word| look(word, pooling, read_layers.clone()));
            asks.collect()
        }))
    },
    judge: |options, correct, answers| match layers(answers) {
        Ok(layers) => judge_layers(options, correct, &layers),
        Err(message) => Judgement::fault(message),
    },
    conventions: |card, settings| stated(pooling(card, settings), card, settings),
};

fn judge_layers(options: &[String], correct: usize, layers: &[Layer]) -> Judgement {
    let Some(last) = layers.last() else {
        return Judgement::not_applicable("none of the words has a vector");
    };
    if last.vectors.len() != 2 + 2 * options.len() {
        return Judgement::fault("expected a vector for each word of the stem and of every choice");
    }
    let Some((said, score)) = by(&FORMULAS[0], last, correct) else {
        return Judgement::not_applicable("a word of the question has no vector");
    };
    let mut judgement = Judgement::scored(score);
    if let Some(option) = options.get(said) {
        judgement = judgement.read_as(option.clone());
    }
    for formula in &FORMULAS {
        if let Some((_, score)) = by(formula, last, correct) {
            judgement = judgement.measured(formula.0, score);
        }
    }
    if layers.len() > 1 {
        for formula in &FORMULAS {
            let score = |l: &Layer| Some((l.number, by(formula, l, correct)?.1));
            let each = || layers.iter().filter_map(score);
            for (layer, score) in each() {
                judgement = judgement.measured(&format!("{}.layer_{layer:02}", formula.0), score);
            }
            if let Some(value) = mean(each().map(|(_, score)| score)) {
                judgement = judgement.measured(&format!("{}.mean_over_layers", formula.0), value);
            }
        }
    }
    judgement
}

fn by(formula: &Formula, layer: &Layer, correct: usize) -> Option<(usize, f64)> {
    let vectors = layer.vectors.iter();
    let known: Vec<&Vec<f64>> = vectors.map(Option::as_ref).collect::<Option<_>>()?;
    let (stem, rest) = known.split_at_checked(2)?;
    let value = |pair: &[&Vec<f64>]| match (stem, pair) {
        ([a, b], [c, d]) => (formula.1)(&Quad { a, b, c, d }),
        _ => None,
    };
    let values: Vec<f64> = rest.chunks(2).map(value).collect::<Option<_>>()?;
    best(&values, correct)
}
