//! The prompts of Yu et al. 2025 (Figures 4, 5, 7 and 8), every text in `prompts.json`.
//!
//! The figures print `{{ CANDIDATE ANSWERS }}` and `{{ INPUT GRID }}` and do not say how the lists and
//! grids are written out: options stand in one line, parted by commas, and a grid is a row a line.
//! What the paper describes and does not print (chain of thought, shots, judge) is worded by us and
//! says so.

use std::sync::LazyLock;

use mary_contract::{Image, Part, Prompt, PromptForm, Speaker, Texts, Turn};

use crate::grid::{Grid, Pair};

/// Every text by name. What the paper prints is in its words: `grids` and its system text (Figure 7), `picture`
/// (Figure 8), `describe` (Figure 4), `guess` (Figure 5). The chain of thought (`first`), the photograph, the judges
/// and the study of perception are in ours.
pub static TEXTS: LazyLock<Texts> = LazyLock::new(|| Texts::read(include_str!("prompts.json")));

fn first_described(wanted: bool) -> &'static str {
    TEXTS.get(if wanted { "first" } else { "" })
}

/// How a grid is written in a text prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GridText {
    /// A row a line, numbers parted by blanks.
    Rows,
    /// `[[0, 1], [2, 3]]`.
    Json,
}

pub fn grid_text(grid: &Grid, how: GridText) -> String {
    match how {
        GridText::Rows => grid.to_string(),
        GridText::Json => {
            let row = |cells: &Vec<u8>| {
                let cells: Vec<String> = cells.iter().map(u8::to_string).collect();
                format!("[{}]", cells.join(", "))
            };
            let rows: Vec<String> = grid.to_rows().iter().map(row).collect();
            format!("[{}]", rows.join(", "))
        }
    }
}

/// The options as every template shows them.
pub fn candidate_answers(options: &[String]) -> String {
    options.join(", ")
}

/// A question to a model as system text, what is seen, and words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptContent {
    pub system: Option<&'static str>,
    pub picture: Option<Image>,
    pub words: String,
}

impl PromptContent {
    pub fn words(words: String) -> Self {
        Self {
            words,
            ..Self::default()
        }
    }

    /// A text with its places filled.
    pub fn say(name: &str, places: &[(&str, &str)]) -> Self {
        Self::words(TEXTS.say(name, places))
    }

    /// After the system text of this name.
    fn after(self, system: &str) -> Self {
        Self {
            system: Some(TEXTS.get(system)),
            ..self
        }
    }

    fn about(self, picture: Image) -> Self {
        Self {
            picture: Some(picture),
            ..self
        }
    }
}

/// Figure 7: grids as numbers.
pub fn grids(
    pairs: &[Pair],
    options: &[String],
    how: GridText,
    describe_first: bool,
) -> PromptContent {
    let examples = pairs.iter().map(|p| shown("example", p, how, &[]));
    let examples: String = examples.collect();
    let places = [
        ("examples", examples.as_str()),
        ("options", &candidate_answers(options)),
        ("first", first_described(describe_first)),
    ];
    PromptContent::say("grids", &places).after("grid_system")
}

fn shown(name: &str, pair: &Pair, how: GridText, more: &[(&str, &str)]) -> String {
    let [input, output] = [&pair.input, &pair.output].map(|grid| grid_text(grid, how));
    let grids = [("input", input.as_str()), ("output", &output)];
    TEXTS.say(name, &[&grids, more].concat())
}

/// Figure 8: grids as one picture.
pub fn picture(picture: Image, options: &[String], describe_first: bool) -> PromptContent {
    let (options, first) = (candidate_answers(options), first_described(describe_first));
    PromptContent::say("picture", &[("options", &options), ("first", first)]).about(picture)
}

/// The photograph of a phenomenon. The paper shows such pictures with the same four options and does
/// not print the prompt.
pub fn photograph(picture: Image, options: &[String]) -> PromptContent {
    let options = candidate_answers(options);
    PromptContent::say("photograph", &[("options", &options)]).about(picture)
}

/// Figure 4: describe a concept.
pub fn describe(concept: &str) -> PromptContent {
    PromptContent::say("describe", &[("concept", concept)]).after("describe_system")
}

/// Figure 5: guess a concept from a masked definition.
pub fn guess(masked: &str, options: &[String]) -> PromptContent {
    let options = candidate_answers(options);
    PromptContent::say("guess", &[("masked", masked), ("options", &options)]).after("guess_system")
}

/// What the judge is asked about a description, after the paper's rule for its human judges (§5.2): 0 for any
/// factual error about the concept or any unfaithful example, else 1.
pub fn judge(concept: &str, description: &str) -> PromptContent {
    let said = description.trim();
    PromptContent::say("judge", &[("concept", concept), ("said", said)])
}

/// The paper's second turn after a description (§5.2).
pub fn any_more() -> PromptContent {
    PromptContent::say("any_more", &[]).after("describe_system")
}

/// A list, a line each, counted from 1.
pub fn numbered<'a>(list: impl Iterator<Item = &'a str>) -> String {
    let lines = list.enumerate().map(|(i, one)| format!("{}. {one}", i + 1));
    lines.collect::<Vec<_>>().join("\n")
}

/// Which core properties a description names: the paper's annotators did this by hand.
pub fn coverage(concept: &str, aspects: &[&str], description: &str) -> PromptContent {
    let (said, aspects) = (description.trim(), numbered(aspects.iter().copied()));
    let places = [("concept", concept), ("said", said), ("aspects", &aspects)];
    PromptContent::say("coverage", &places)
}

/// A question about what a grid shows: the paper's study of grid perception (RQ 5) was made by people reading the
/// model's free descriptions.
pub fn perception(pair: &Pair, question: &str, options: &[String], how: GridText) -> PromptContent {
    let places = [("question", question), ("options", &options.join("; "))];
    PromptContent::words(shown("perception", pair, how, &places))
}

pub fn perception_picture(picture: Image, question: &str, options: &[String]) -> PromptContent {
    let places = [("question", question), ("options", &options.join("; "))];
    PromptContent::say("perception_picture", &places).about(picture)
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shot {
    pub asked: PromptContent,
    pub answer: String,
}

/// Where scored options follow in plain text.
pub const ANSWER: &str = "\n\nAnswer:";

/// The whole prompt. In plain form the system text stands first, shots and question follow one another,
/// and a picture stands before its words; a model without a chat template is shown pictures this way.
pub fn prompt(
    form: PromptForm,
    shots: &[Shot],
    asked: &PromptContent,
    up_to_answer: bool,
) -> Prompt {
    if form == PromptForm::Chat {
        let mut turns = Vec::with_capacity(2 * shots.len() + 1);
        for shot in shots {
            turns.push(turn(Speaker::User, &shot.asked));
            let answer = PromptContent::words(shot.answer.clone());
            turns.push(turn(Speaker::Assistant, &answer));
        }
        turns.push(turn(Speaker::User, asked));
        return Prompt {
            form: PromptForm::Chat,
            system: asked.system.map(str::to_owned),
            turns,
        };
    }
    let mut parts = Vec::new();
    if let Some(system) = asked.system {
        say(&mut parts, &format!("{system}\n\n"));
    }
    for shot in shots {
        parts.extend(shot.asked.picture.clone().map(Part::Image));
        let words = format!("{}{ANSWER} {}\n\n", shot.asked.words, shot.answer);
        say(&mut parts, &words);
    }
    parts.extend(asked.picture.clone().map(Part::Image));
    say(&mut parts, &asked.words);
    if up_to_answer || !shots.is_empty() {
        say(&mut parts, ANSWER);
    }
    let speaker = Speaker::User;
    Prompt {
        form: PromptForm::Plain,
        system: None,
        turns: vec![Turn { speaker, parts }],
    }
}

fn say(parts: &mut Vec<Part>, words: &str) {
    match parts.last_mut() {
        Some(Part::Text(text)) => text.push_str(words),
        _ => parts.push(Part::Text(words.to_owned())),
    }
}

fn turn(speaker: Speaker, asked: &PromptContent) -> Turn {
    let picture = asked.picture.clone().map(Part::Image);
    let words = Part::Text(asked.words.clone());
    let parts = picture.into_iter().chain([words]).collect();
    Turn { speaker, parts }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> Pair {
        let grid = |rows: &[&[u8]]| {
            Grid::from_rows(&rows.iter().map(|r| r.to_vec()).collect::<Vec<_>>()).unwrap()
        };
        Pair {
            input: grid(&[&[0, 2], &[0, 0]]),
            output: grid(&[&[0, 0], &[0, 2]]),
        }
    }

    fn options() -> Vec<String> {
        ["gravity", "laser", "melting", "wave"]
            .map(String::from)
            .to_vec()
    }

    #[test]
    fn the_text_prompt_reads_as_figure_7() {
        let asked = grids(&[pair(), pair(), pair()], &options(), GridText::Rows, false);
        insta::assert_snapshot!(prompt(PromptForm::Plain, &[], &asked, true).text());
    }

    #[test]
    fn the_picture_prompt_reads_as_figure_8() {
        let image = Image {
            media_type: "image/png".into(),
            data: vec![1],
        };
        let asked = picture(image, &options(), true);
        let chat = prompt(PromptForm::Chat, &[], &asked, false);
        assert_eq!(chat.form, PromptForm::Chat);
        assert!(matches!(chat.turns[0].parts[0], Part::Image(_)));
        insta::assert_snapshot!(chat.text());
        let shots = [Shot {
            asked: asked.clone(),
            answer: "gravity".into(),
        }];
        let plain = prompt(PromptForm::Plain, &shots, &asked, true);
        let parts = &plain.turns[0].parts;
        assert_eq!((plain.form, plain.turns.len()), (PromptForm::Plain, 1));
        assert!(matches!(
            parts.as_slice(),
            [Part::Image(_), Part::Text(_), Part::Image(_), Part::Text(last)] if last.ends_with(ANSWER)
        ));
    }

    #[test]
    fn definitions_and_descriptions_read_as_figures_4_and_5() {
        let asked = guess("[PHENOMENON] makes things fall.", &options());
        insta::assert_snapshot!(prompt(PromptForm::Plain, &[], &asked, false).text());
        let asked = describe("gravity");
        insta::assert_snapshot!(prompt(PromptForm::Plain, &[], &asked, false).text());
    }

    #[test]
    fn a_perception_question_says_what_an_object_is() {
        let options: Vec<String> = ["1", "2", "3", "4"].map(String::from).to_vec();
        let asked = perception(
            &pair(),
            "How many objects are there in the input grid?",
            &options,
            GridText::Json,
        );
        insta::assert_snapshot!(prompt(PromptForm::Plain, &[], &asked, true).text());
    }

    #[test]
    fn shots_are_turns_of_a_dialogue_or_blocks_of_text() {
        let asked = grids(&[pair()], &options(), GridText::Rows, false);
        let shots = [Shot {
            asked: asked.clone(),
            answer: "gravity".into(),
        }];
        let chat = prompt(PromptForm::Chat, &shots, &asked, true);
        assert_eq!(chat.turns.len(), 3);
        assert_eq!(chat.turns[1].speaker, Speaker::Assistant);
        assert_eq!(chat.system.as_deref(), Some(TEXTS.get("grid_system")));
        let plain = prompt(PromptForm::Plain, &shots, &asked, false).text();
        assert_eq!(plain.matches("\n\nAnswer:").count(), 2);
        assert!(plain.contains("\n\nAnswer: gravity\n\nLets play"));
    }
}
