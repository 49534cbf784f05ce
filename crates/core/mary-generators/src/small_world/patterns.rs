//! Sequences, small matrices, labelled examples with a rule chosen afresh, and copying.
//!
//! These give a small model something to read from its context. The rules of the labelled
//! examples are about meaning (category, size, number), never about how a word is written or
//! sounds: those are the questions of the laboratory's own tests.

use super::dice::Dice;
use super::numbers;
use super::world::WORLD;

pub(super) fn document(dice: &mut Dice) -> String {
    match dice.between(0, 9) {
        0..=3 => labelled(dice),
        4 => copying(dice),
        5 => letters(dice),
        6 | 7 => matrix(dice),
        8 => tuples(dice),
        _ => analogy(dice),
    }
}

/// A rule that sorts words into two piles.
type Piles = (Vec<String>, Vec<String>);

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|w| (*w).to_owned()).collect()
}

fn piles(dice: &mut Dice) -> Piles {
    match dice.between(0, 4) {
        0 | 1 => {
            let (one, other) = dice.two(&WORLD.categories);
            (owned(&one.members), owned(&other.members))
        }
        2 => {
            let noun = *dice.pick(&[&WORLD.people, &WORLD.beasts, &WORLD.things, &WORLD.foods]);
            (
                noun.iter().map(|n| n.one.to_owned()).collect(),
                noun.iter().map(|n| n.many.to_owned()).collect(),
            )
        }
        3 => {
            let quality = dice.pick(&WORLD.qualities);
            (owned(&quality.have), owned(&quality.lack))
        }
        _ => {
            let low: Vec<String> = (1..=5).map(|i| numbers::word(i).to_owned()).collect();
            let high: Vec<String> = (6..=10).map(|i| numbers::word(i).to_owned()).collect();
            (low, high)
        }
    }
}

fn labelled(dice: &mut Dice) -> String {
    let (mut first, mut second) = piles(dice);
    if dice.one_in(2) {
        std::mem::swap(&mut first, &mut second);
    }
    let shots = dice.between(4, 14);
    let frame = dice.between(0, 3);
    let mut lines = Vec::with_capacity(shots);
    for shot in 0..shots {
        let is_first = if frame == 0 {
            shot % 2 == 0
        } else {
            dice.one_in(2)
        };
        let word = dice.pick(if is_first { &first } else { &second });
        let (label, answer) = if is_first { ("A", "yes") } else { ("B", "no") };
        lines.push(match frame {
            0 | 1 => format!("Input: \"{word}\" Label: {label}"),
            2 => format!("{word} -> {label}"),
            _ => format!("Q: {word}? A: {answer}"),
        });
    }
    lines.join("\n")
}

fn some_words(dice: &mut Dice, count: usize) -> Vec<&'static str> {
    let words = (0..count).map(|_| match dice.between(0, 4) {
        0 => dice.pick(&WORLD.names).name,
        1 => dice.pick(&WORLD.beasts).one,
        2 => dice.pick(&WORLD.foods).many,
        3 => numbers::word(dice.between(1, 20)),
        _ => dice.pick(&WORLD.things).one,
    });
    words.collect()
}

fn copying(dice: &mut Dice) -> String {
    let count = dice.between(3, 9);
    let words = some_words(dice, count).join(" ");
    match dice.between(0, 2) {
        0 => format!("Say: {words}. Again: {words}."),
        1 => format!("{words}\n{words}\n{words}"),
        _ => format!("List: {words}\nCopy: {words}"),
    }
}

fn letters(dice: &mut Dice) -> String {
    let alphabet: Vec<char> = ('a'..='z').collect();
    let step = dice.between(1, 2);
    let length = dice.between(3, 7);
    let from = dice.between(0, alphabet.len() - 1 - step * (length + 1));
    let run = |start: usize| -> String {
        let letters = (0..length).filter_map(|i| alphabet.get(start + i * step));
        letters.map(char::to_string).collect::<Vec<_>>().join(" ")
    };
    if dice.one_in(2) {
        run(from)
    } else {
        let second = dice.between(0, alphabet.len() - 1 - step * (length + 1));
        format!(
            "[{}] [{}]\n[{}] [{}]",
            run(from),
            run(from + 1),
            run(second),
            run(second + 1)
        )
    }
}

/// The rule a row of a matrix follows.
fn row(rule: usize, start: usize, step: usize, width: usize) -> Vec<usize> {
    let numbers = (0..width).map(|i| match rule {
        0 => start,
        1 => start + i * step,
        _ => (start + step * (width - 1)).saturating_sub(i * step),
    });
    numbers.collect()
}

fn matrix(dice: &mut Dice) -> String {
    let (rule, step) = (dice.between(0, 3), dice.between(1, 2));
    if rule == 3 {
        return rotation(dice);
    }
    let rows = dice.between(2, 4);
    let bracket = dice.one_in(2);
    let mut lines = Vec::with_capacity(rows);
    for _ in 0..rows {
        let start = dice.between(0, 9 - 2 * step);
        let cell = |n: &usize| {
            if bracket {
                format!("[{n}]")
            } else {
                n.to_string()
            }
        };
        let cells: Vec<String> = row(rule, start, step, 3).iter().map(cell).collect();
        lines.push(cells.join(" "));
    }
    lines.join("\n")
}

/// Three symbols, each once in every row: a distribution of three.
fn rotation(dice: &mut Dice) -> String {
    let digits: Vec<usize> = (0..=9).collect();
    let mut three = dice.shuffled(&digits);
    three.truncate(3);
    let mut lines = Vec::with_capacity(3);
    for turn in 0..3 {
        let cell = |i: usize| format!("[{}]", three[(i + turn) % 3]);
        let cells: Vec<String> = (0..3).map(cell).collect();
        lines.push(cells.join(" "));
    }
    lines.join("\n")
}

fn tuples(dice: &mut Dice) -> String {
    let rules = [dice.between(0, 2), dice.between(0, 2), dice.between(0, 2)];
    let rows = dice.between(2, 3);
    let mut lines = Vec::with_capacity(rows);
    for number in 1..=rows {
        let columns = rules
            .iter()
            .map(|&rule| row(rule, dice.between(1, 6), 1, 3));
        let columns: Vec<Vec<usize>> = columns.collect();
        let cell = |i: usize| format!("({},0.{},{}0)", columns[0][i], columns[1][i], columns[2][i]);
        let cells: Vec<String> = (0..3).map(cell).collect();
        lines.push(format!("row {number}: {}", cells.join(", ")));
    }
    lines.join("; ")
}

fn analogy(dice: &mut Dice) -> String {
    let mut lines = Vec::new();
    for _ in 0..dice.between(1, 4) {
        if dice.one_in(2) {
            let (one, other) = dice.two(&WORLD.qualities);
            lines.push(format!(
                "{} is to {} as {} is to {}",
                one.words[0], one.opposites[0], other.words[0], other.opposites[0]
            ));
        } else {
            let (one, other) = dice.two(&WORLD.beasts);
            lines.push(format!(
                "{} is to {} as {} is to {}",
                one.one, one.many, other.one, other.many
            ));
        }
    }
    lines.join("\n")
}
