//! Tuning sets in the two shapes of Appendix D.1: a chat with system message that answers with letter
//! and option, and an instruction that answers with the letter alone.

use mary_contract::{DataSource, TaskError, TaskSettings};
use serde_json::{Value, json};

use crate::choice::{LETTERS, Template, prompt};
use crate::perceptualqa::{CARD, Part, PerceptualQaSettings, questions};

/// The training part (four fifths of every subtask), or the part that `split` names, one value an
/// item. The shape follows `template`: `tuning-letter` gives `instruction`, `input`, `output`; anything
/// else `messages`. Options stand as in the first order (or the one that `orders` names).
pub fn tuning_set(settings: &TaskSettings, data: &dyn DataSource) -> Result<Vec<Value>, TaskError> {
    let mut setup = PerceptualQaSettings::read(&CARD, settings)?;
    if setup.part == Part::All && !settings.params.contains_key("split") {
        setup.part = Part::Train;
    }
    let order = setup.orders.first().copied().unwrap_or(1);
    let mut set = Vec::new();
    for asked in questions(&setup, order, data)? {
        let question = &asked.question;
        let options: Vec<String> = question.options.iter().map(|o| o.to_string()).collect();
        let letter = LETTERS.get(question.correct).copied().unwrap_or_default();
        let option = options.get(question.correct).map_or("", String::as_str);
        set.push(match setup.asking.template {
            Template::TuningLetter => json!({
                "instruction": prompt::tuning_instruction(&question.question, &options),
                "input": "",
                "output": letter,
            }),
            Template::TuningChat | Template::Published => {
                let answer = json!({ "answer": format!("{letter}.{option}") });
                let user = prompt::tuning_user(&question.question, &options);
                json!({ "messages": [
                    { "role": "system", "content": prompt::tuning_system() },
                    { "role": "user", "content": user },
                    // Spaced as the paper's example, which its readers' tokenizers saw.
                    { "role": "assistant", "content": answer.to_string().replacen(':', ": ", 1) },
                ]})
            }
        });
    }
    Ok(set)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use mary_contract::NoData;

    fn set(pairs: &[(&str, &str)]) -> Vec<Value> {
        let settings = TaskSettings {
            seed: 3,
            params: pairs
                .iter()
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
                .collect(),
            ..TaskSettings::default()
        };
        tuning_set(&settings, &NoData).unwrap()
    }

    #[test]
    fn a_chat_answers_with_letter_and_option_and_reads_back_as_that_option() {
        for line in set(&[]) {
            let turns = line["messages"].as_array().unwrap();
            let said = |i: usize| turns[i]["content"].as_str().unwrap();
            assert_eq!(turns[0]["role"], "system");
            let asked = said(1).strip_suffix("Return only the JSON.").unwrap();
            let asked: Value = serde_json::from_str(asked).unwrap();
            let options: Vec<String> = LETTERS
                .iter()
                .map(|l| asked["options"][*l].as_str().unwrap().to_owned())
                .collect();
            let answer: Value = serde_json::from_str(said(2)).unwrap();
            let answer = answer["answer"].as_str().unwrap();
            let place = crate::choice::read::robustly(said(2), &options).unwrap();
            assert_eq!(answer, format!("{}.{}", LETTERS[place], options[place]));
        }
    }

    #[test]
    fn an_instruction_answers_with_the_letter() {
        let train = set(&[("template", "tuning-letter")]);
        assert!(
            train
                .iter()
                .all(|l| LETTERS.contains(&l["output"].as_str().unwrap()))
        );
        assert!(train.iter().all(|l| l["input"] == ""));
        let test = set(&[("template", "tuning-letter"), ("split", "test")]);
        let texts = |set: &[Value]| -> BTreeSet<String> {
            set.iter().map(|l| l["instruction"].to_string()).collect()
        };
        assert!(texts(&train).is_disjoint(&texts(&test)));
        let share = test.len() as f64 / (train.len() + test.len()) as f64;
        assert!((share - 0.2).abs() < 0.02, "{share}");
    }
}
