//! The prompts. What the paper prints (Yang et al. 2025, Appendix C.2 and D.1) stands here as
//! printed; what it does not print (the Chinese instruction, the prompt under which letters are
//! scored) is ours and says so in the run's conventions.

use std::sync::LazyLock;

use mary_contract::{PromptForm, Texts};
use serde_json::json;

use super::{LETTERS, ShownQuestion};

/// The prompts by name and language; `tuning` is the instruction of the tuning sets, up to the example's
/// answer (Appendix D.1).
static TEXTS: LazyLock<Texts> = LazyLock::new(|| Texts::read(include_str!("prompts.json")));

pub fn published(shown: &ShownQuestion<'_>) -> String {
    let name = format!("published_{}", shown.language.code());
    TEXTS.say(&name, &[("question", &question_json(shown))])
}

fn quoted(text: &str) -> String {
    json!(text).to_string()
}

/// The question as JSON, spaced as the paper prints it.
fn question_json(shown: &ShownQuestion<'_>) -> String {
    let (index, question) = (shown.index, quoted(shown.question));
    let options = options_json(shown.options);
    format!(r#"{{ "index": {index}, "question": {question}, "options": {{ {options} }} }}"#)
}

fn options_json(options: &[String]) -> String {
    lettered(options, ", ", |letter, option| {
        format!(r#""{letter}": {}"#, quoted(option))
    })
}

fn lettered(options: &[String], between: &str, written: impl Fn(&str, &str) -> String) -> String {
    let pairs = LETTERS.iter().zip(options);
    let pairs = pairs.map(|(letter, option)| written(letter, option));
    let all: Vec<String> = pairs.collect();
    all.join(between)
}

pub fn up_to_letter(shown: &ShownQuestion<'_>, form: PromptForm) -> String {
    let options = lettered(shown.options, "\n", |letter, option| {
        format!("{letter}. {option}")
    });
    let name = format!("letter_{}_{}", form.name(), shown.language.code());
    let places = [("question", shown.question), ("options", &options)];
    TEXTS.say(&name, &places)
}

/// The system message of the chat tuning set: its example answers with letter and option.
pub fn tuning_system() -> String {
    TEXTS.get("tuning").to_owned() + r#"{"answer": "C.Red"}###Question"#
}

pub fn tuning_user(question: &str, options: &[String]) -> String {
    tuning_question(question, options) + "Return only the JSON."
}

/// The instruction of the Alpaca tuning set: its example answers with the letter alone.
pub fn tuning_instruction(question: &str, options: &[String]) -> String {
    let question = tuning_user(question, options);
    let tuning = TEXTS.get("tuning");
    format!(r#"{tuning}{{"answer": "C"}}###Question{question}"#)
}

fn tuning_question(question: &str, options: &[String]) -> String {
    let (question, options) = (quoted(question), options_json(options));
    format!(r#"{{"question": {question}, "options": {{{options}}}}}"#)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Language;

    fn options() -> Vec<String> {
        ["one", "\"two\"", "three", "four"]
            .map(String::from)
            .to_vec()
    }

    fn shown(options: &[String], language: Language) -> ShownQuestion<'_> {
        ShownQuestion {
            index: 3007,
            question: "How many corners does a coin have?",
            options,
            language,
            picture: None,
        }
    }

    #[test]
    fn the_published_prompt_ends_with_the_question_as_json() {
        let options = options();
        let text = published(&shown(&options, Language::En));
        let json = text
            .split_once("###Question: ")
            .and_then(|(_, rest)| rest.strip_suffix("\nReturn only the JSON."))
            .unwrap();
        let value: serde_json::Value = serde_json::from_str(json).unwrap();
        assert_eq!(value["index"], 3007);
        assert_eq!(value["options"]["B"], "\"two\"");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn the_chinese_prompt_has_the_same_form() {
        let options = options();
        insta::assert_snapshot!(published(&shown(&options, Language::Zh)));
    }

    #[test]
    fn a_scored_letter_follows_the_options() {
        let options = options();
        let text = up_to_letter(&shown(&options, Language::En), PromptForm::Plain);
        assert!(text.ends_with("C. three\nD. four\nAnswer:"), "{text}");
    }

    #[test]
    fn both_tuning_shapes_are_the_papers() {
        let options = ["2", "3", "0", "1"].map(String::from);
        assert_eq!(
            tuning_user("How many?", &options),
            r#"{"question": "How many?", "options": {"A": "2", "B": "3", "C": "0", "D": "1"}}Return only the JSON."#
        );
        assert!(tuning_system().ends_with(r#"###Example Output{"answer": "C.Red"}###Question"#));
        assert!(
            tuning_instruction("How many?", &options)
                .contains(r#"###Example Output{"answer": "C"}###Question{"question": "How many?""#)
        );
    }
}
