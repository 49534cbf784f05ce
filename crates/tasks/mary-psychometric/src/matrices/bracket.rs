//! The tasks of digit matrices and letter strings: an answer in brackets, scored among candidates or written
//! by the model.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use mary_contract::{
    Ask, DataSource, Finish, ForPeople, Generated, Item, Items, Judgement, Needs, PromptForm,
    Reply, Request, Sampling, Scored, Scoring, Target, Task, TaskCard, TaskError, TaskSettings,
    Ties, UnscoredReason,
};

use super::digit_problem::{DigitProblem, fresh_digits, upstream_digits};
use super::letter_problem::{LetterProblem, fresh_letters};
use super::scoring;
use crate::cards::{card, conventions};
use crate::choice::{self, By};
use crate::settings::no_shots;

#[derive(Debug)]
pub struct Bracketed {
    card: &'static LazyLock<TaskCard>,
    most: usize,
    to_people: &'static str,
    family: &'static str,
}

static DIGITS: LazyLock<TaskCard> = LazyLock::new(|| card("psychometric/digit-matrices"));
static LETTERS: LazyLock<TaskCard> = LazyLock::new(|| card("psychometric/letter-strings"));

pub static DIGIT_MATRICES: Bracketed = Bracketed {
    card: &DIGITS,
    most: 20_000,
    to_people: "Find the pattern in the rows, then choose what is missing at the end of the last row.",
    family: "kind",
};

pub static LETTER_STRINGS: Bracketed = Bracketed {
    card: &LETTERS,
    most: 2_000,
    to_people: "The first line shows a sequence before and after a change. Change the sequence of the second \
                line in the same way and choose the result.",
    family: "transformation",
};

/// Webb et al.'s first line before letter strings.
const OPENING: &str = "Let's try to complete the pattern:\n\n";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Score,
    /// In its own words, up to the closing bracket.
    Generate,
}

#[derive(Debug, Clone, Copy)]
struct BracketSettings {
    n: usize,
    mode: Mode,
    by: By,
    form: PromptForm,
    source: ProblemSource,
}

#[derive(Debug, Clone, Copy)]
enum ProblemSource {
    Digits,
    PublishedDigits,
    Letters(usize),
}

impl Bracketed {
    fn read(&self, settings: &TaskSettings) -> Result<BracketSettings, TaskError> {
        let card: &TaskCard = self.card;
        settings.check(card)?;
        no_shots(card, settings)?;
        use ProblemSource::{Digits, Letters, PublishedDigits};
        let source = if card.id == LETTERS.id {
            Letters(settings.number(card, "generalisations", |n| n <= 3)?)
        } else {
            let words = [("fresh", Digits), ("published", PublishedDigits)];
            settings.choose(card, "source", &words)?
        };
        let modes = [("score", Mode::Score), ("generate", Mode::Generate)];
        Ok(BracketSettings {
            n: settings.number(card, "n", |n| (1..=self.most).contains(&n))?,
            mode: settings.choose(card, "mode", &modes)?,
            by: scoring(card, settings)?,
            form: settings.form,
            source,
        })
    }
}

fn bracketed<T: ToString>(things: &[T]) -> String {
    let words: Vec<String> = things.iter().map(ToString::to_string).collect();
    format!("[{}]", words.join(" "))
}

impl BracketSettings {
    /// Asks for what follows `prefix`, which ends with a closed bracket.
    fn ask(self, prefix: &str, candidates: &[String]) -> Ask {
        match self.mode {
            Mode::Score => choice::score_answers(self.form, prefix, candidates),
            Mode::Generate => {
                let sampling = Sampling::greedy(64).until("]");
                Ask::subject(Request::words(self.form, format!("{prefix} ["), sampling))
            }
        }
    }

    /// Two rows and what is seen of the third.
    fn digits(self, problem: DigitProblem) -> Item {
        let options: Vec<String> = problem.candidates.iter().map(|c| bracketed(c)).collect();
        let cells = |row: &[Vec<u8>]| row.iter().map(|c| bracketed(c)).collect::<Vec<_>>();
        let rows = problem.context.chunks(3).map(|row| cells(row).join(" "));
        let question = rows.collect::<Vec<_>>().join("\n");
        let ask = self.ask(&question, &options);
        let target = Target::one_of(question, options, problem.correct);
        let order = if problem.unordered { "set" } else { "sequence" };
        Item::new(problem.id, target, vec![ask])
            .in_stratum_of("kind", problem.kind)
            .tagged("cells", order)
    }

    fn letters(self, problem: &LetterProblem) -> Item {
        let [before, after] = &problem.source;
        let (before, after) = (bracketed(before), bracketed(after));
        let question = format!("{before} {after}\n{}", bracketed(&problem.target));
        let options: Vec<String> = problem.candidates.iter().map(|c| bracketed(c)).collect();
        let ask = self.ask(&format!("{OPENING}{question}"), &options);
        let target = Target::one_of(question, options, problem.correct);
        let names: Vec<&str> = problem.generalisations.iter().map(|g| g.name()).collect();
        let generalised = match names.as_slice() {
            [] => "none".to_owned(),
            names => names.join(" + "),
        };
        Item::new(problem.id.clone(), target, vec![ask])
            .in_stratum_of("transformation", problem.transformation.name())
            .tagged("generalisation", generalised)
    }
}

impl Task for Bracketed {
    fn card(&self) -> &TaskCard {
        self.card
    }

    fn for_people(&self, _: &TaskSettings, item: &Item) -> Option<ForPeople> {
        Some(ForPeople::of(item)?.told(self.to_people))
    }

    fn needs(&self, settings: &TaskSettings) -> Needs {
        let mode = self.read(settings).map_or(Mode::Score, |s| s.mode);
        Needs::answers(mode == Mode::Score)
    }

    fn family_tag(&self, _settings: &TaskSettings) -> Option<&'static str> {
        Some(self.family)
    }

    fn items(&self, settings: &TaskSettings, data: &dyn DataSource) -> Result<Items, TaskError> {
        let setup = self.read(settings)?;
        let digits = match setup.source {
            ProblemSource::Digits => fresh_digits(settings.seed, setup.n)?,
            ProblemSource::PublishedDigits => upstream_digits(data)?,
            ProblemSource::Letters(generalisations) => {
                let problems = fresh_letters(settings.seed, setup.n, generalisations)?.into_iter();
                return Ok(Box::new(problems.map(move |p| Ok(setup.letters(&p)))));
            }
        };
        let digits = digits.into_iter();
        Ok(Box::new(digits.map(move |p| Ok(setup.digits(p)))))
    }

    fn judge(&self, settings: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement {
        let setup = match self.read(settings) {
            Ok(setup) => setup,
            Err(error) => return Judgement::fault(error.to_string()),
        };
        let by_scores = |options: &[String], correct: usize, scored: &Scored| {
            choice::judge(options, correct, scored, setup.by)
        };
        Judgement::of_choice(item, answers, by_scores, |options, correct, words| {
            let right = options.get(correct).map_or("", String::as_str);
            judge_words(setup, item, right, words)
        })
    }

    fn scoring(&self, settings: &TaskSettings) -> Scoring {
        match self.read(settings) {
            Ok(setup) if setup.mode == Mode::Score => Scoring::share(Ties::Shared),
            _ => Scoring::WRITTEN,
        }
    }

    fn conventions(&self, settings: &TaskSettings) -> BTreeMap<String, String> {
        match self.read(settings).map(|setup| setup.source) {
            Ok(ProblemSource::Letters(k)) => {
                conventions(self.card, settings, &[("generalisations", k.to_string())])
            }
            Ok(_) => conventions(self.card, settings, &[]),
            Err(_) => BTreeMap::new(),
        }
    }
}

/// What stands between the brackets of a written answer; nothing where no word was written.
fn written(answer: &Generated) -> Result<Vec<String>, UnscoredReason> {
    if let Some(reason) = answer.withheld() {
        return Err(reason);
    }
    let text = answer.text.trim_start();
    // A chat model repeats the line or opens the bracket itself: the last bracket is the answer.
    let text = text.split_once(']').map_or(text, |(before, _)| before);
    let text = text.rsplit_once('[').map_or(text, |(_, after)| after);
    if answer.finish == Finish::Length && !answer.text.contains(']') {
        return Err(UnscoredReason::Truncated);
    }
    Ok(text.split_whitespace().map(str::to_owned).collect())
}

fn judge_words(setup: BracketSettings, item: &Item, right: &str, answer: &Generated) -> Judgement {
    let letters = matches!(setup.source, ProblemSource::Letters(_));
    let read = written(answer).and_then(|said| {
        // No digit may be an answer (two sets without a common digit), no letter is none.
        let read = match letters {
            true => !said.is_empty(),
            false => said.iter().all(|w| w.parse::<u64>().is_ok()),
        };
        read.then_some(said).ok_or(UnscoredReason::Unparsed)
    });
    let mut said = match read {
        Ok(said) => said,
        Err(reason) => return Judgement::unscored(reason).measured("accuracy", 0.0),
    };
    let mut expected: Vec<&str> = right.trim_matches(['[', ']']).split_whitespace().collect();
    let shown = bracketed(&said);
    if item.tags.get("cells").is_some_and(|c| c == "set") {
        said.sort();
        expected.sort_unstable();
    }
    let score = f64::from(said == expected);
    Judgement::scored(score)
        .read_as(shown)
        .measured("accuracy", score)
}
