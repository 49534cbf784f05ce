//! Counting, comparing and adding small numbers, in words, capitalised words and digits.
//!
//! Some pairs of numbers are never compared in the corpus, in any form; they are the held-out
//! comparisons (see [`pair_is_held_out`]).

use super::dice::Dice;
use super::world::{Noun, WORLD};
use super::{Comparison, stable_hash};
use crate::sentences::capital;

/// The largest number that is compared.
pub const LARGEST: usize = 20;

/// True for pairs of numbers whose comparison never appears in the corpus.
pub fn pair_is_held_out(a: usize, b: usize) -> bool {
    let (low, high) = (a.min(b), a.max(b));
    low != high && stable_hash(&format!("numbers {low} {high}")).is_multiple_of(6)
}

fn allowed_pair(dice: &mut Dice, largest: usize) -> (usize, usize) {
    loop {
        let (a, b) = (dice.between(1, largest), dice.between(1, largest));
        if a != b && !pair_is_held_out(a, b) {
            return (a, b);
        }
    }
}

fn size(dice: &mut Dice) -> usize {
    if dice.one_in(3) { LARGEST } else { 10 }
}

/// A way of writing numbers, kept through one sentence.
#[derive(Clone, Copy)]
enum Form {
    Word,
    Digit,
}

fn form(dice: &mut Dice) -> Form {
    if dice.one_in(2) {
        Form::Word
    } else {
        Form::Digit
    }
}

fn write(number: usize, form: Form) -> String {
    match (form, WORLD.numbers.get(number)) {
        (Form::Word, Some(word)) => (*word).to_owned(),
        _ => number.to_string(),
    }
}

pub(super) fn line(dice: &mut Dice) -> String {
    match dice.between(0, 11) {
        0 => count(dice, 1),
        1 => count(dice, -1),
        2..=4 => compare(dice),
        5 => neighbours(dice),
        6 => about(dice),
        7 => add(dice),
        8 => possessions(dice),
        9 => order(dice),
        10 => near_far(dice),
        _ => between(dice),
    }
}

fn run(from: usize, step: isize, length: usize, form: Form) -> Vec<String> {
    let numbers = (0..length).filter_map(|i| from.checked_add_signed(step * i as isize));
    numbers.map(|number| write(number, form)).collect()
}

fn count(dice: &mut Dice, step: isize) -> String {
    let form = form(dice);
    let length = dice.between(3, 9);
    let from = if step > 0 {
        dice.between(0, LARGEST - length)
    } else {
        dice.between(length, LARGEST)
    };
    let numbers = run(from, step, length, form);
    let text = numbers.join(if dice.one_in(2) { ", " } else { " " });
    match dice.between(0, 3) {
        0 => format!("Count {}: {text}.", if step > 0 { "up" } else { "down" }),
        1 => capital(&text),
        _ => text,
    }
}

fn compare(dice: &mut Dice) -> String {
    let largest = size(dice);
    let (a, b) = allowed_pair(dice, largest);
    let form = form(dice);
    let (x, y) = (write(a, form), write(b, form));
    let more = a > b;
    match dice.between(0, 6) {
        0 | 1 => {
            let word = if more { "more" } else { "less" };
            let line = format!("{x} is {word} than {y}.");
            if dice.one_in(2) { capital(&line) } else { line }
        }
        2 => format!(
            "{} is {} than {y}.",
            capital(&x),
            if more { "bigger" } else { "smaller" }
        ),
        3 => format!("{a} {} {b}", if more { ">" } else { "<" }),
        4 => format!(
            "Which is bigger, {x} or {y}? {}.",
            capital(if more { &x } else { &y })
        ),
        5 => format!(
            "Which is smaller, {x} or {y}? {}.",
            capital(if more { &y } else { &x })
        ),
        _ => format!(
            "{} is a {} number than {y}.",
            capital(&x),
            if more { "larger" } else { "smaller" }
        ),
    }
}

fn neighbours(dice: &mut Dice) -> String {
    let form = form(dice);
    let a = dice.between(1, LARGEST - 1);
    let (x, y) = (write(a, form), write(a + 1, form));
    match dice.between(0, 2) {
        0 => format!("{} comes after {x}.", capital(&y)),
        1 => format!("{} comes before {y}.", capital(&x)),
        _ => format!("The next number after {x} is {y}."),
    }
}

fn about(dice: &mut Dice) -> String {
    let form = form(dice);
    let largest = if dice.one_in(3) { LARGEST - 2 } else { 9 };
    let a = dice.between(1, largest);
    let b = a + if dice.one_in(4) { 2 } else { 1 };
    let noun = noun(dice);
    let name = dice.pick(&WORLD.names).name;
    format!(
        "{name} has {} or {} {}.",
        write(a, form),
        write(b, form),
        noun.many
    )
}

fn noun(dice: &mut Dice) -> &'static Noun {
    let foods = dice.one_in(2);
    dice.pick(if foods { &WORLD.foods } else { &WORLD.things })
}

fn near_far(dice: &mut Dice) -> String {
    let form = form(dice);
    loop {
        let (a, b) = allowed_pair(dice, 10);
        let gap = a.abs_diff(b);
        let (x, y) = (write(a, form), write(b, form));
        if gap <= 2 {
            return format!("{} is close to {y}.", capital(&x));
        }
        if gap >= 5 {
            return format!("{} is far from {y}.", capital(&x));
        }
    }
}

fn add(dice: &mut Dice) -> String {
    let form = form(dice);
    let (a, b) = (dice.between(0, 10), dice.between(0, 9));
    let (x, y, sum) = (write(a, form), write(b, form), write(a + b, form));
    match dice.between(0, 3) {
        0 => format!("{a} + {b} = {}", a + b),
        1 => format!("{} - {b} = {a}", a + b),
        2 => format!("{} and {y} make {sum}.", capital(&x)),
        _ => format!("{} take away {y} is {x}.", capital(&sum)),
    }
}

fn possessions(dice: &mut Dice) -> String {
    let form = form(dice);
    let (a, b) = allowed_pair(dice, 10);
    let (one, other) = dice.two(&WORLD.names);
    let noun = noun(dice);
    let things = |n: usize| if n == 1 { noun.one } else { noun.many };
    let (winner, loser) = if a > b { (one, other) } else { (other, one) };
    format!(
        "{} has {} {}. {} has {} {}. {} has more {} than {}.",
        one.name,
        write(a, form),
        things(a),
        other.name,
        write(b, form),
        things(b),
        winner.name,
        noun.many,
        loser.name
    )
}

fn order(dice: &mut Dice) -> String {
    let form = form(dice);
    let mut numbers: Vec<usize> = Vec::new();
    while numbers.len() < 3 {
        let next = dice.between(1, 10);
        if numbers
            .iter()
            .all(|&old| old != next && !pair_is_held_out(old, next))
        {
            numbers.push(next);
        } else if dice.one_in(20) {
            numbers.clear();
        }
    }
    let mixed: Vec<String> = numbers.iter().map(|&i| write(i, form)).collect();
    numbers.sort_unstable();
    let sorted: Vec<String> = numbers.iter().map(|&i| write(i, form)).collect();
    format!(
        "Put in order: {}. Answer: {}.",
        mixed.join(" "),
        sorted.join(" ")
    )
}

fn between(dice: &mut Dice) -> String {
    let form = form(dice);
    let a = dice.between(1, LARGEST - 2);
    format!(
        "{} is between {} and {}.",
        capital(&write(a + 1, form)),
        write(a, form),
        write(a + 2, form)
    )
}

/// Every held-out comparison, in words and in digits: the true sentence and the false one.
pub(super) fn held_out() -> Vec<Comparison> {
    let mut out = Vec::new();
    for a in 1..=LARGEST {
        for b in 1..=LARGEST {
            if a == b || !pair_is_held_out(a, b) {
                continue;
            }
            for form in [Form::Word, Form::Digit] {
                let (x, y) = (capital(&write(a, form)), write(b, form));
                let (right, wrong) = if a > b {
                    ("more", "less")
                } else {
                    ("less", "more")
                };
                out.push(Comparison {
                    a,
                    b,
                    good: format!("{x} is {right} than {y}."),
                    bad: format!("{x} is {wrong} than {y}."),
                });
            }
        }
    }
    out
}

pub fn word(number: usize) -> &'static str {
    WORLD.numbers.get(number).copied().unwrap_or("many")
}
