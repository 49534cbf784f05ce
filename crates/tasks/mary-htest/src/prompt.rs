//! The prompts. [`published`] is the paper's, byte for byte (Lee & Lim 2024, Appendix G, and the
//! authors' released code): every string a model must see for a published number to be comparable
//! stands here. The others begin like it and end otherwise, and say so.

use std::sync::LazyLock;

use mary_contract::{LabelledExample, Texts};

use super::dataset::Example;

/// What judges are asked, and what names the rule, by name.
pub static TEXTS: LazyLock<Texts> = LazyLock::new(|| Texts::read(include_str!("prompts.json")));

/// What the model is told after the options.
const INSTRUCTION: &str = "(Respond in one letter and nothing else)";
/// The chain-of-thought tail, in our words: the paper describes it and does not print it; its code's is
/// [`released_chain_of_thought`].
const THINK: &str =
    "(Think out loud step by step, then assign the label: end with \"Label: A\" or \"Label: B\")";

/// The released code's chain of thought (github.com/brucewlee/h-test, 4787987, `utils.py`, `prompter`): its
/// line stands before the item, and no line says how to answer.
const RELEASED_THINK: &str = "Now, think out loud step by step and assign label. \n";

/// The shots, one per line: the beginning that every item of a task shares.
fn shot_lines(shots: &[Example]) -> String {
    let line = |s: &Example| format!("Input: \"{}\" Label: {}\n", s.text, s.label.letter());
    let end = if shots.is_empty() { "" } else { "\n" };
    shots.iter().map(line).collect::<String>() + end
}

/// The shots of a prompt again, as text and label: what a person is shown.
pub fn shown_examples(prompt: &str) -> Vec<LabelledExample> {
    let lines = prompt.split_once("\n\n").map_or("", |(shots, _)| shots);
    let example = |line: &str| {
        let (text, label) = line.strip_prefix("Input: \"")?.rsplit_once("\" Label: ")?;
        let [text, label] = [text, label].map(str::to_owned);
        Some(LabelledExample { text, label })
    };
    lines.lines().filter_map(example).collect()
}

/// The published prompt. The blanks at the ends of its lines are part of it.
pub fn published(shots: &[Example], text: &str) -> String {
    let shots = shot_lines(shots);
    format!("{shots}Input: \"{text}\" Label: \nA \nB {INSTRUCTION}")
}

/// The shots and the item, up to the place where a shot has its label. The label follows with its
/// blank (`" A"`), as it does in every shot, so that a byte-pair tokenizer reads the same token.
pub fn up_to_label(shots: &[Example], text: &str) -> String {
    format!("{}Input: \"{text}\" Label:", shot_lines(shots))
}

pub fn chain_of_thought(shots: &[Example], text: &str) -> String {
    format!("{}Input: \"{text}\" Label: \n{THINK}", shot_lines(shots))
}

/// The same as the released code has it.
pub fn released_chain_of_thought(shots: &[Example], text: &str) -> String {
    let shots = shot_lines(shots);
    format!("{shots}{RELEASED_THINK}Input: \"{text}\" Label: \nA \nB")
}

/// What the released code asks the second model (`utils.py`, `determine_binary_answers`); its parser reads
/// the reply.
pub fn released_reading(answer: &str) -> String {
    TEXTS.say("released_reading", &[("answer", answer)])
}

/// What a model is asked that is to name the rule, in our words after what the paper told its people.
pub fn rule_question(shots: &[Example], told: &str) -> String {
    let shots = shot_lines(shots);
    TEXTS.say("rule_question", &[("shots", &shots), ("told", told)])
}

/// What the judge is asked about a rule that somebody named, in our words.
pub fn is_the_rule(rule: &str, said: &str) -> String {
    TEXTS.say("is_the_rule", &[("rule", rule), ("said", said.trim())])
}

/// What the second model is asked about a chain of thought.
pub fn reading(text: &str, answer: &str) -> String {
    TEXTS.say("reading", &[("text", text), ("answer", answer.trim())])
}

/// The letter-geometry prompt: the question, then the options as the A/B prompt lists its own.
pub fn geometry(question: &str, options: &[String]) -> String {
    format!("{question}\n{} {INSTRUCTION}", options.join(" \n"))
}

/// The released code's letter-geometry prompt (`utils.py`, `challenge_prompter`): nothing stands between the
/// last option and the instruction.
pub fn released_geometry(question: &str, options: &[String]) -> String {
    format!("{question}\n{}{INSTRUCTION}", options.join("\n"))
}

/// Letter geometry, thinking out loud, in our words: the paper and its code have no such prompt.
pub fn geometry_thinking(question: &str, options: &[String]) -> String {
    format!(
        "{question}\n{} (Think out loud step by step, then name one of the four)",
        options.join(" \n")
    )
}

pub fn geometry_reading(question: &str, options: &[String], answer: &str) -> String {
    let (options, answer) = (options.join(" "), answer.trim());
    let places = [
        ("options", &*options),
        ("question", question),
        ("answer", answer),
    ];
    TEXTS.say("geometry_reading", &places)
}

/// The same as [`geometry`], up to the place where the symbol follows.
pub fn geometry_up_to_answer(question: &str, options: &[String]) -> String {
    format!("{question}\nOptions: {}\nAnswer:", options.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Label;

    fn example(text: &str, label: Label) -> Example {
        Example {
            text: text.into(),
            label,
            pair: None,
        }
    }

    #[test]
    fn the_prompt_is_the_published_one_byte_for_byte() {
        // Assembled by hand from Appendix G's form; the texts are ours.
        let by_hand = concat!(
            "Input: \"moon tune\" Label: A\n",
            "Input: \"bear doubt\" Label: B\n",
            "\n",
            "Input: \"shoe blue\" Label: \n",
            "A \n",
            "B (Respond in one letter and nothing else)",
        );
        let shots = [
            example("moon tune", Label::A),
            example("bear doubt", Label::B),
        ];
        assert_eq!(published(&shots, "shoe blue"), by_hand);
    }

    /// Held against what the released functions return for the same texts (Python 3, run by hand).
    #[test]
    fn released_wordings_are_the_released_codes_byte_for_byte() {
        let shots = [
            example("moon tune", Label::A),
            example("bear doubt", Label::B),
        ];
        assert_eq!(
            released_chain_of_thought(&shots, "shoe blue"),
            "Input: \"moon tune\" Label: A\nInput: \"bear doubt\" Label: B\n\nNow, think out loud step by step and \
             assign label. \nInput: \"shoe blue\" Label: \nA \nB"
        );
        assert_eq!(
            released_reading("It rhymes, so A."),
            "Assistant: It rhymes, so A. \n\n What does the Assistant think the sentence belongs to?\nA\nB\nNone \
             (Respond in one word and nothing else)"
        );
        let options = ["Ɛ", "E", "O", "N"].map(String::from);
        assert_eq!(
            released_geometry("What is it?", &options),
            "What is it?\nƐ\nE\nO\nN(Respond in one letter and nothing else)"
        );
    }

    #[test]
    fn a_person_is_shown_the_same_examples() {
        let shots = [
            example("a \"quoted\" moon", Label::A),
            example("bear doubt", Label::B),
        ];
        let seen = shown_examples(&published(&shots, "shoe blue"));
        let seen: Vec<(&str, &str)> = seen.iter().map(|e| (&*e.text, &*e.label)).collect();
        assert_eq!(seen, [("a \"quoted\" moon", "A"), ("bear doubt", "B")]);
        assert_eq!(shown_examples(&up_to_label(&shots, "x")).len(), 2);
        assert!(shown_examples(&published(&[], "x")).is_empty());
    }

    #[test]
    fn every_item_of_a_task_shares_the_shots() {
        let shots = [example("x", Label::A), example("y", Label::B)];
        let shared = "Input: \"x\" Label: A\nInput: \"y\" Label: B\n\nInput: \"";
        for text in ["one", "two"] {
            assert!(published(&shots, text).starts_with(shared));
            assert!(up_to_label(&shots, text).starts_with(shared));
            assert!(chain_of_thought(&shots, text).starts_with(shared));
        }
        assert_eq!(up_to_label(&[], "one"), "Input: \"one\" Label:");
    }
}
