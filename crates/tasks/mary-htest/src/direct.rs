//! The paper's Figure 1 as tasks: what a letter looks like, in words (its "descriptive knowledge"), against
//! folding it in the mind. Both ask about the same letters of the alphabet, so that they can be paired; whether
//! a letter is symmetric is read off its picture.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use mary_contract::{
    Ask, Cell, DataSource, ErrorKind, FollowUp, ForPeople, InForce, Item, Items, Judgement,
    MarkingForm, Needs, Prompt, PromptForm, Reply, Request, RunSummary, Sample, Sampling, Score,
    Scored, Scoring, Start, Table, Target, Task, TaskCard, TaskError, TaskSettings, Ties,
    UnscoredReason, best,
};
use mary_generators::glyphs::ink::Form;
use mary_generators::glyphs::picture;
use mary_generators::{shuffle, stream};

use super::ab_task::{FILE, card, verdict};
use super::geometry::UNLIKE;
use super::prompt;
use super::published::DECLARED;

const DESCRIBE: &str = "htest/describe-letter";
const FOLD: &str = "htest/fold-letter";

static DESCRIBE_CARD: LazyLock<TaskCard> = LazyLock::new(|| card(DESCRIBE));
static FOLD_CARD: LazyLock<TaskCard> = LazyLock::new(|| card(FOLD));

pub(super) fn sampling(card: &TaskCard, settings: &TaskSettings) -> Result<Sampling, TaskError> {
    let greedy = Sampling::greedy(settings.number(card, "max_tokens", |_| true)?);
    Ok(greedy.at(settings.number(card, "temperature", |_| true)?))
}

/// The letters of both tasks: a letter that is clear along neither axis is described all the same.
fn letters() -> impl Iterator<Item = char> {
    'A'..='Z'
}

/// The axes along which letters are folded, each with whether a letter is the same on both sides; nothing
/// where its picture leaves that open.
const AXES: [&str; 2] = ["horizontal", "vertical"];

/// A letter folds onto itself from this likeness on: the bars of E and H lie a little above the middle
/// (0.969 and 0.970), and nobody would call these letters lopsided; G, the next, is at 0.916.
const SAME: f64 = 0.96;

fn symmetric(letter: char, axis: &str) -> Option<bool> {
    let ink = picture(letter)?;
    let folded = match axis {
        "horizontal" => ink.top_bottom(),
        _ => ink.left_right(),
    };
    match Form::from_ink(ink).likeness(&Form::from_ink(&folded)) {
        l if l >= SAME => Some(true),
        l if l <= UNLIKE => Some(false),
        _ => None,
    }
}

#[derive(Debug)]
pub struct DescribeLetter;

pub static DESCRIBE_LETTER: DescribeLetter = DescribeLetter;

impl DescribeLetter {
    fn judged(settings: &TaskSettings) -> bool {
        settings.param(&DESCRIBE_CARD, "judge") == "on"
    }
}

impl Task for DescribeLetter {
    fn card(&self) -> &TaskCard {
        &DESCRIBE_CARD
    }

    fn for_people(&self, _: &TaskSettings, item: &Item) -> Option<ForPeople> {
        Some(ForPeople::of(item)?.told("Describe the shape of the capital letter."))
    }

    fn needs(&self, settings: &TaskSettings) -> Needs {
        Needs::GENERATE.judged(Self::judged(settings))
    }

    fn items(&self, settings: &TaskSettings, _: &dyn DataSource) -> Result<Items, TaskError> {
        settings.check(&DESCRIBE_CARD)?;
        let (form, sampling) = (settings.form, sampling(&DESCRIBE_CARD, settings)?);
        Ok(Box::new(letters().map(move |letter| {
            // Figure 1, word for word.
            let words = format!("Describe what the letter {letter} looks like");
            let ask = Ask::subject(Request::words(form, words, sampling.clone()));
            let target = Target::Data(serde_json::json!({ "letter": letter }));
            Ok(Item::new(letter.to_string(), target, vec![ask])
                .tagged("letter", letter.to_string()))
        })))
    }

    fn follow_up(&self, settings: &TaskSettings, item: &Item, answers: &[Reply]) -> FollowUp {
        let (true, [only]) = (Self::judged(settings), answers) else {
            return Ok(vec![]);
        };
        let said = only.answer.as_generated().map_or("", |g| g.text.as_str());
        let places = [("letter", item.id.as_str()), ("said", said.trim())];
        let words = prompt::TEXTS.say("letter_verdict", &places);
        let asked = Request::words(settings.form, words, Sampling::greedy(5));
        Ok(vec![Ask::judge(asked)])
    }

    fn judge(&self, _: &TaskSettings, _: &Item, answers: &[Reply]) -> Judgement {
        match answers {
            [_] => Judgement::not_applicable("marked by people"),
            [_, reading] => verdict(reading),
            _ => Judgement::fault("expected a description and its verdict"),
        }
    }

    fn asked(&self, settings: &TaskSettings) -> InForce {
        let mut asked = settings.asked_whatever_the_seed(&DESCRIBE_CARD);
        asked.remove("judge");
        asked
    }

    fn scoring(&self, _: &TaskSettings) -> Scoring {
        Scoring::WRITTEN
    }

    fn conventions(&self, settings: &TaskSettings) -> BTreeMap<String, String> {
        FILE.conventions(&DESCRIBE_CARD, settings, &[])
    }
}

#[derive(Debug)]
pub struct FoldLetter;

pub static FOLD_LETTER: FoldLetter = FoldLetter;

/// What an answer in words says: a leading yes or no, or else what it says of symmetry.
fn read(answer: &str) -> Option<bool> {
    let text = answer.trim().to_lowercase();
    let first: String = text.chars().take_while(|c| c.is_alphabetic()).collect();
    match first.as_str() {
        "yes" => return Some(true),
        "no" => return Some(false),
        _ => {}
    }
    let denied = [
        "asymmetric",
        "not symmetric",
        "n't symmetric",
        "no symmetry",
        "not be symmetric",
        "lacks symmetry",
        "that is not",
    ];
    if denied.iter().any(|d| text.contains(d)) {
        return Some(false);
    }
    text.contains("symmetric").then_some(true)
}

impl FoldLetter {
    fn written(settings: &TaskSettings) -> bool {
        settings.param(&FOLD_CARD, "mode") == "generate"
    }
}

impl Task for FoldLetter {
    fn card(&self) -> &TaskCard {
        &FOLD_CARD
    }

    fn for_people(&self, _: &TaskSettings, item: &Item) -> Option<ForPeople> {
        Some(ForPeople::of(item)?.told("Fold the capital letter in your mind, then answer."))
    }

    fn needs(&self, settings: &TaskSettings) -> Needs {
        Needs::answers(!Self::written(settings))
    }

    fn items(&self, settings: &TaskSettings, _: &dyn DataSource) -> Result<Items, TaskError> {
        settings.check(&FOLD_CARD)?;
        let (form, sampling) = (settings.form, sampling(&FOLD_CARD, settings)?);
        let written = Self::written(settings);
        let mut items = Vec::new();
        for axis in AXES {
            let clear = letters().filter_map(|l| Some((l, symmetric(l, axis)?)));
            let (mut yes, mut no): (Vec<_>, Vec<_>) = clear.partition(|(_, same)| *same);
            let mut rng = stream(settings.seed, &format!("{FOLD}/{axis}"));
            shuffle(&mut rng, &mut yes);
            shuffle(&mut rng, &mut no);
            let each = yes.len().min(no.len());
            for (letter, same) in yes.into_iter().take(each).chain(no.into_iter().take(each)) {
                // Figure 1, word for word; a forced choice ends otherwise.
                let question = format!("Is the letter {letter} symmetric along the {axis} axis");
                let request = if written {
                    Request::words(form, question.clone(), sampling.clone())
                } else {
                    let (tail, before) = match form {
                        PromptForm::Plain => ("?\nAnswer (Yes or No):", " "),
                        PromptForm::Chat => ("? Respond with Yes or No and nothing else", ""),
                    };
                    let prompt = Prompt::single(form, format!("{question}{tail}"));
                    let said = ["Yes", "No"].map(|word| format!("{before}{word}")).to_vec();
                    Request::Score(Score::new(prompt, said, Start::Model))
                };
                let options = vec!["Yes".into(), "No".into()];
                let target = Target::one_of(format!("{question}?"), options, usize::from(!same));
                let ask = Ask::subject(request);
                let item = Item::new(format!("{letter}-{axis}"), target, vec![ask]);
                items.push(Ok(item
                    .in_stratum(if same { "symmetric" } else { "not symmetric" })
                    .tagged("axis", axis)
                    .tagged("letter", letter.to_string())));
            }
        }
        // Not by label: the place in the file would tell the answer.
        shuffle(&mut stream(settings.seed, FOLD), &mut items);
        Ok(Box::new(items.into_iter()))
    }

    fn judge(&self, _: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement {
        let word = |said: usize| if said == 0 { "Yes" } else { "No" };
        let by_scores = |_: &[String], correct: usize, scored: &Scored| {
            let sums: Vec<f64> = scored.continuations.iter().map(|c| c.sum()).collect();
            match best(&sums, correct) {
                Some((said, score)) => Judgement::scored(score).read_as(word(said)),
                None => Judgement::failed(ErrorKind::NotFinite, "a score is not a number"),
            }
        };
        Judgement::of_choice(item, answers, by_scores, |_, correct, answer| {
            match read(&answer.text).map(|same| usize::from(!same)) {
                Some(said) => {
                    let score = f64::from(said == correct);
                    let judgement = Judgement::scored(score).read_as(word(said));
                    judgement.measured("accuracy", score)
                }
                None => Judgement::unscored(UnscoredReason::Unparsed).measured("accuracy", 0.0),
            }
        })
    }

    fn scoring(&self, settings: &TaskSettings) -> Scoring {
        match Self::written(settings) {
            true => Scoring::WRITTEN,
            false => Scoring::share(Ties::Half),
        }
    }

    fn conventions(&self, settings: &TaskSettings) -> BTreeMap<String, String> {
        FILE.conventions(&FOLD_CARD, settings, &[])
    }
}

/// Descriptions of letters, to be marked by people.
pub(super) fn letters_form(samples: &[Sample]) -> MarkingForm {
    let mut form = MarkingForm::new(
        "something in it is wrong about how the letter looks, or the letter could not be drawn from it",
        "it is right",
        &["letter", "description"],
    );
    for sample in samples {
        let shown = vec![sample.id.item.clone(), sample.written().to_owned()];
        form.line(&sample.id, "", shown);
    }
    form
}

/// Figure 1 as a table: what models say of letters against what they fold.
pub(super) fn described_and_folded(runs: &[RunSummary]) -> Option<Table> {
    let rows = runs.iter().flat_map(|run| &run.rows);
    let mut models: BTreeMap<&str, [Cell; 3]> = BTreeMap::new();
    for row in rows.filter(|row| [DESCRIBE, FOLD].contains(&row.task.as_str())) {
        let none = || [(); 3].map(|()| Cell::none());
        let cells = models.entry(&row.model).or_insert_with(none);
        let score = row.measure("accuracy").or(row.score.as_ref());
        let by_people = row.measure("judged_by_people");
        let at = if row.task == FOLD { 2 } else { 0 };
        if let (Some(score), Some(cell)) = (score, cells.get_mut(at)) {
            *cell = Cell::percent(score, 1);
        }
        if let (Some(marked), 0) = (by_people, at) {
            cells[1] = Cell::percent(marked, 1);
        }
    }
    let rows = models.into_iter().map(|(model, cells)| {
        let mut row = vec![Cell::from(model.to_owned())];
        row.extend(cells);
        row
    });
    DECLARED.rows("htest-figure-1", rows)
}

#[cfg(test)]
mod tests {
    use mary_contract::NoData;

    use super::*;

    #[test]
    fn letters_are_folded_by_their_pictures() {
        for (letter, axis, same) in [
            ('H', "horizontal", true),
            ('H', "vertical", true),
            ('A', "vertical", true),
            ('A', "horizontal", false),
            ('F', "vertical", false),
            ('D', "horizontal", true),
        ] {
            assert_eq!(symmetric(letter, axis), Some(same), "{letter} {axis}");
        }
        let items: Vec<Item> = FOLD_LETTER
            .items(&TaskSettings::default(), &NoData)
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let yes = items.iter().filter(|i| i.stratum == "symmetric").count();
        assert!(
            items.len() >= 24 && 2 * yes == items.len(),
            "{yes} of {}",
            items.len()
        );
        assert_eq!(
            DESCRIBE_LETTER
                .items(&TaskSettings::default(), &NoData)
                .unwrap()
                .count(),
            26
        );
    }

    #[test]
    fn free_answers_are_read_as_figure_1_reads_its_own() {
        let figure =
            "Folding it along the horizontal axis would result in a shape that is not symmetric.";
        for (answer, read_as) in [
            (figure, Some(false)),
            ("Yes, it is.", Some(true)),
            ("No.", Some(false)),
            ("The letter is symmetric along that axis.", Some(true)),
            ("It is asymmetrical.", Some(false)),
            ("Hard to say.", None),
        ] {
            assert_eq!(read(answer), read_as, "{answer}");
        }
    }
}
