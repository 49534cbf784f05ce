//! Spelled math: the operator is written in words, not as a symbol.

use crate::ab_task::{AbTask, card};
use crate::dataset::{Rule, Twins, same_letters};
use crate::draw::{of_same_size, word};
use crate::words::{OPERATORS, QUANTITIES, REMARKS};
use mary_items::{Stream, below};

/// The task.
pub static TASK: AbTask = AbTask {
    card: &card(
        "htest/spelled-math",
        "Spelled Math",
        "A items spell the operator out (plus), B items write its symbol (+), as in the published \
         data (the paper's Table 1 states it the other way round). The twins share the operator and \
         are of the same length in characters and words. Here the words are the rule: a bag of words \
         that knows the operators solves it.",
    ),
    rule: Rule {
        name: "spelled-math",
        draw,
        key: same_letters,
    },
    upstream: "spelled_math",
};

fn draw(rng: &mut Stream) -> Vec<Twins> {
    let Some(&(spelled, symbol)) = OPERATORS.get(below(rng, OPERATORS.len())) else {
        return vec![];
    };
    // The twins share how they end: what makes up for the longer operator stands in the middle.
    let remark = word(rng, REMARKS);
    let a = calculation(rng, spelled, remark);
    match of_same_size(&a, || calculation(rng, symbol, remark)) {
        Some(b) => vec![Twins { a, b }],
        None => vec![],
    }
}

fn calculation(rng: &mut Stream, operator: &str, remark: &str) -> String {
    let quantity = word(rng, QUANTITIES);
    // One to six digits, each count as likely.
    let digits = 1 + below(rng, 6) as u32;
    let number = below(rng, 9 * 10_usize.pow(digits - 1)) + 10_usize.pow(digits - 1);
    format!("The {quantity} {operator} {number} {remark}.")
}
