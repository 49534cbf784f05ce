//! `psychometric/characters`: does a model know the letters of the words it writes? After CUTE (Edman,
//! Schmid and Fraser 2024): spelling, joining letters, naming a letter of a word, and inserting, deleting,
//! replacing and swapping letters, on words and on random strings.
//!
//! Fresh items come from a seed, with words, strings, questions and worked examples of our own; in score
//! mode the answer stands among three others of the same length, each what a mistaken hand would write.
//! The published sets are read from a folder of their files (`--set source=published --set data=PATH`) and
//! are answered in words, quoted, by exact match, as there.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use mary_contract::{
    Ask, DataSource, ForPeople, Item, Items, Judgement, Needs, PromptForm, Reply, Request,
    Response, Sampling, Target, Task, TaskCard, TaskError, TaskSettings,
};
use mary_generators::{Stream, below, shuffle, stream};

use crate::cards::{card, stated};
use crate::choice::{self, By};
use crate::settings::no_shots;
use crate::tables;

static CARD: LazyLock<TaskCard> = LazyLock::new(|| card("psychometric/characters"));

#[derive(Debug, Clone, Copy)]
pub struct Characters;

mary_generators::named! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum CharacterTask {
        Spell = "spell",
        Join = "join",
        Contains = "contains",
        Insert = "insert",
        Delete = "delete",
        Substitute = "substitute",
        Swap = "swap",
    }
}

impl CharacterTask {
    /// The published file's name without `.tsv` and `_rand`.
    fn file(self) -> &'static str {
        match self {
            Self::Spell => "spell",
            Self::Join => "spell_inverse",
            Self::Contains => "contains_char",
            Self::Insert => "ins_char",
            Self::Delete => "del_char",
            Self::Substitute => "sub_char",
            Self::Swap => "swap_char",
        }
    }

    /// The question about published inputs, which the files give in this order.
    fn question(self, given: &[&str]) -> Option<String> {
        Some(match (self, given) {
            (Self::Spell, [word]) => format!("Spell out the word \"{word}\"."),
            (Self::Join, [letters]) => format!("Write the word that is spelled \"{letters}\"."),
            (Self::Contains, [letter, word]) => format!("Is there a \"{letter}\" in \"{word}\"?"),
            (Self::Insert, [new, after, word]) => {
                format!("Add \"{new}\" after every \"{after}\" in \"{word}\".")
            }
            (Self::Delete, [letter, word]) => format!("Delete every \"{letter}\" in \"{word}\"."),
            (Self::Substitute, [old, new, word]) => {
                format!("Replace every \"{old}\" by \"{new}\" in \"{word}\".")
            }
            (Self::Swap, [one, other, word]) => {
                format!("Swap \"{one}\" and \"{other}\" in \"{word}\".")
            }
            _ => return None,
        })
    }
}

/// A question with its answer and, where there are some, answers of the same length that are wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Problem {
    question: String,
    answer: String,
    wrong: Vec<String>,
}

fn spaced(letters: &[char]) -> String {
    let letters: Vec<String> = letters.iter().map(char::to_string).collect();
    letters.join(" ")
}

fn absent(rng: &mut Stream, word: &[char]) -> char {
    let free: Vec<char> = ('a'..='z').filter(|c| !word.contains(c)).collect();
    free.get(below(rng, free.len())).copied().unwrap_or('z')
}

/// Places of letters that stand in the word once.
fn single(word: &[char]) -> Vec<usize> {
    let once = |i: &usize| word.iter().filter(|d| **d == word[*i]).count() == 1;
    (0..word.len()).filter(once).collect()
}

fn swapped(word: &[char], i: usize, j: usize) -> Vec<char> {
    let mut out = word.to_vec();
    if i < out.len() && j < out.len() {
        out.swap(i, j);
    }
    out
}

fn replaced(word: &[char], at: usize, new: char) -> Vec<char> {
    let of = word.iter().enumerate();
    of.map(|(i, c)| if i == at { new } else { *c }).collect()
}

/// A problem about this word; nothing where the word does not suit (too few letters that occur once).
fn problem(kind: CharacterTask, rng: &mut Stream, word: &[char]) -> Option<Problem> {
    let shown: String = word.iter().collect();
    let mut places = single(word);
    shuffle(rng, &mut places);
    let (&at, &other) = (places.first()?, places.get(1)?);
    let (letter, second) = (*word.get(at)?, *word.get(other)?);
    let new = absent(rng, word);
    let text = |letters: &[char]| letters.iter().collect::<String>();
    let ask = |given: &[&str]| kind.question(given);
    let (question, answer, mut wrong): (String, String, Vec<String>) = match kind {
        CharacterTask::Spell | CharacterTask::Join => {
            let mistakes = [
                swapped(word, at, other),
                replaced(word, at, new),
                replaced(word, other, absent(rng, word)),
            ];
            let (given, show): (String, fn(&[char]) -> String) = match kind {
                CharacterTask::Spell => (shown.clone(), spaced),
                _ => (spaced(word), |letters| letters.iter().collect()),
            };
            let wrong = mistakes.iter().map(|m| show(m)).collect();
            (ask(&[&given])?, show(word), wrong)
        }
        CharacterTask::Contains => {
            let mut free: Vec<char> = ('a'..='z').filter(|c| !word.contains(c)).collect();
            shuffle(rng, &mut free);
            let wrong = free.iter().take(3).map(char::to_string).collect();
            let question = format!("Name a letter of the word \"{shown}\".");
            (question, letter.to_string(), wrong)
        }
        CharacterTask::Insert => {
            let inserted = |after: usize| {
                let mut longer = word.to_vec();
                longer.insert(after + 1, new);
                text(&longer)
            };
            let elsewhere = (0..word.len()).filter(|i| *i != at).map(inserted);
            let question = ask(&[&new.to_string(), &letter.to_string(), &shown])?;
            (question, inserted(at), elsewhere.collect())
        }
        CharacterTask::Delete => {
            let without = |gone: usize| {
                let mut shorter = word.to_vec();
                shorter.remove(gone);
                text(&shorter)
            };
            let elsewhere = (0..word.len()).filter(|i| *i != at).map(without);
            let question = ask(&[&letter.to_string(), &shown])?;
            (question, without(at), elsewhere.collect())
        }
        CharacterTask::Substitute => {
            let elsewhere = (0..word.len()).filter(|i| *i != at);
            let mut wrong: Vec<String> = elsewhere.map(|i| text(&replaced(word, i, new))).collect();
            wrong.push(shown.clone());
            let question = ask(&[&letter.to_string(), &new.to_string(), &shown])?;
            (question, text(&replaced(word, at, new)), wrong)
        }
        CharacterTask::Swap => {
            let mut wrong = vec![shown.clone()];
            let pairs = (0..word.len()).flat_map(|i| (i + 1..word.len()).map(move |j| (i, j)));
            wrong.extend(pairs.map(|(i, j)| text(&swapped(word, i, j))));
            let question = ask(&[&letter.to_string(), &second.to_string(), &shown])?;
            (question, text(&swapped(word, at, other)), wrong)
        }
    };
    wrong.sort();
    wrong.dedup();
    wrong.retain(|w| *w != answer);
    shuffle(rng, &mut wrong);
    wrong.truncate(3);
    let found = Problem {
        question,
        answer,
        wrong,
    };
    (found.wrong.len() == 3).then_some(found)
}

/// Everyday words of one part, five to nine letters.
fn words() -> Vec<Vec<char>> {
    let fits = |w: &&&str| (5..=9).contains(&w.len()) && w.bytes().all(|b| b.is_ascii_lowercase());
    let words = mary_generators::small_world::categories().flat_map(|c| c.members.iter());
    let mut all: Vec<Vec<char>> = words.filter(fits).map(|w| w.chars().collect()).collect();
    all.sort();
    all.dedup();
    all
}

fn random_word(rng: &mut Stream) -> Vec<char> {
    let length = 5 + below(rng, 4);
    let mut letter = || char::from(b'a' + below(rng, 26) as u8);
    (0..length).map(|_| letter()).collect()
}

const EXAMPLES: usize = 4;

fn line(problem: &Problem) -> String {
    format!("{} Answer: \"{}\"\n", problem.question, problem.answer)
}

/// Worked examples and `n` problems of a kind, alternately on words and on random strings. No word of
/// an example is asked about.
fn fresh(
    seed: u64,
    kind: CharacterTask,
    n: usize,
) -> Result<(String, Vec<(bool, Problem)>), TaskError> {
    let mut rng = stream(seed, &format!("psychometric/characters/{}", kind.name()));
    let mut words = words();
    shuffle(&mut rng, &mut words);
    let mut next_word = words.into_iter().cycle();
    let mut made: Vec<(bool, Problem)> = Vec::with_capacity(n + EXAMPLES);
    // A word that does not suit is passed over; every list has many that do.
    for _ in 0..100 * (n + EXAMPLES) {
        if made.len() == n + EXAMPLES {
            break;
        }
        let random = made.len() % 2 == 1;
        let word = if random {
            random_word(&mut rng)
        } else {
            next_word.next().unwrap_or_default()
        };
        if let Some(problem) = problem(kind, &mut rng, &word)
            && made.iter().all(|(_, p)| p.question != problem.question)
        {
            made.push((random, problem));
        }
    }
    if made.len() < n + EXAMPLES {
        let (id, kind, made, of) = (&CARD.id, kind.name(), made.len(), n + EXAMPLES);
        let why = format!("{id}: {kind} made {made} of {of} problems");
        return Err(TaskError::Generator(why));
    }
    let asked = made.split_off(EXAMPLES);
    let examples = made.iter().map(|(_, p)| line(p)).collect();
    Ok((examples, asked))
}

/// One published file: the examples before its questions are its own first lines.
fn published(path: &Path, kind: CharacterTask) -> Result<(String, Vec<Problem>), TaskError> {
    let whole = tables::text(path, "a file of CUTE")?;
    let mut all = Vec::new();
    for (index, row) in whole.lines().enumerate().skip(1) {
        let cells: Vec<&str> = row.trim_end_matches('\r').split('\t').collect();
        let (label, given) = cells.split_last().unwrap_or((&"", &[]));
        let Some(question) = kind.question(given) else {
            let (inputs, found) = (kind.file(), cells.len());
            let message =
                format!("expected the inputs of `{inputs}` and a label, found {found} columns");
            return Err(tables::record(path, index + 1, message));
        };
        all.push(Problem {
            question,
            answer: (*label).to_owned(),
            wrong: vec![],
        });
    }
    let asked = all.split_off(EXAMPLES.min(all.len()));
    Ok((all.iter().map(line).collect(), asked))
}

#[derive(Debug, Clone, Copy)]
struct CharacterSettings {
    fresh: bool,
    n: usize,
    scored: bool,
}

impl CharacterSettings {
    fn read(settings: &TaskSettings) -> Result<Self, TaskError> {
        settings.check(&CARD)?;
        no_shots(&CARD, settings)?;
        let fresh = settings.choose(&CARD, "source", &[("fresh", true), ("published", false)])?;
        let scored = settings.choose(&CARD, "mode", &[("score", true), ("generate", false)])?;
        if !fresh && settings.param(&CARD, "data").is_empty() {
            return Err(TaskError::Setting(format!(
                "{}: source=published needs a folder\nhint: --set data=PATH names the folder with \
                 spell.tsv and the other files",
                CARD.id
            )));
        }
        Ok(Self {
            fresh,
            n: settings.number(&CARD, "n", |n: usize| (1..=500).contains(&n))?,
            scored: scored && fresh,
        })
    }
}

fn item(
    id: String,
    setup: CharacterSettings,
    form: PromptForm,
    (kind, random): (CharacterTask, bool),
    (examples, problem, place): (&str, &Problem, usize),
) -> Item {
    let question = format!("{examples}{} Answer:", problem.question);
    let mut options = problem.wrong.clone();
    options.insert(place.min(options.len()), problem.answer.clone());
    let (ask, target) = if setup.scored {
        let ask = choice::score_answers(form, question, options.iter().map(|o| format!("\"{o}\"")));
        let target = Target::one_of(problem.question.clone(), options, place);
        (ask, target)
    } else {
        let ask = Request::words(form, question, Sampling::greedy(48).until("\n"));
        (Ask::subject(ask), Target::Text(problem.answer.clone()))
    };
    Item::new(id, target, vec![ask])
        .in_stratum_of("kind", kind.name())
        .tagged("string", if random { "random" } else { "word" })
}

impl Task for Characters {
    fn card(&self) -> &TaskCard {
        &CARD
    }

    fn for_people(&self, _: &TaskSettings, item: &Item) -> Option<ForPeople> {
        Some(ForPeople::of(item)?.told("Answer the last line. Every letter counts."))
    }

    fn needs(&self, settings: &TaskSettings) -> Needs {
        Needs::answers(CharacterSettings::read(settings).is_ok_and(|s| s.scored))
    }

    fn family_tag(&self, _: &TaskSettings) -> Option<&'static str> {
        Some("kind")
    }

    fn items(&self, settings: &TaskSettings, _: &dyn DataSource) -> Result<Items, TaskError> {
        let setup = CharacterSettings::read(settings)?;
        let mut items = Vec::new();
        for kind in CharacterTask::ALL {
            if setup.fresh {
                let (examples, problems) = fresh(settings.seed, kind, setup.n)?;
                for (index, (random, problem)) in problems.iter().enumerate() {
                    let id = format!("{}-{}-{index:03}", settings.seed, kind.name());
                    // Each place is right equally often.
                    let shown = (examples.as_str(), problem, index / 2 % 4);
                    items.push(item(id, setup, settings.form, (kind, *random), shown));
                }
                continue;
            }
            let folder = Path::new(settings.param(&CARD, "data"));
            for (ending, random) in [("", false), ("_rand", true)] {
                let name = format!("{}{ending}", kind.file());
                let (examples, problems) = published(&folder.join(format!("{name}.tsv")), kind)?;
                for (index, problem) in problems.iter().enumerate() {
                    let id = format!("{name}-{:04}", index + EXAMPLES + 1);
                    let shown = (examples.as_str(), problem, 0);
                    items.push(item(id, setup, settings.form, (kind, random), shown));
                }
            }
        }
        Ok(Box::new(items.into_iter().map(Ok)))
    }

    fn judge(&self, _: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement {
        let [reply] = answers else {
            return Judgement::fault("expected one answer");
        };
        let right = |answer: &str, text: &str| {
            let said = quoted(text)?;
            Some((said.to_owned(), said == answer))
        };
        match (&reply.answer, item.target.choice(), &item.target) {
            (Response::Scored(scored), Some((options, correct)), _) => {
                choice::judge(options, correct, scored, By::Sum)
            }
            (Response::Generated(words), _, Target::Text(answer)) => {
                choice::judge_words(words, |text| right(answer, text))
            }
            _ => Judgement::fault("expected scores of four answers, or one answer in words"),
        }
    }

    fn conventions(&self, settings: &TaskSettings) -> BTreeMap<String, String> {
        stated(CharacterSettings::read(settings), &CARD, settings)
    }
}

/// What stands between the first quotation marks, or the whole line without its marks.
fn quoted(text: &str) -> Option<&str> {
    let text = text.trim().trim_start_matches("Answer:").trim();
    let inside = match text.split_once('"') {
        Some((_, rest)) => rest.split('"').next().unwrap_or_default(),
        None => text.trim_end_matches('.'),
    };
    let inside = inside.trim();
    (!inside.is_empty()).then_some(inside)
}

#[cfg(test)]
mod tests {
    use mary_contract::NoData;

    use super::*;

    /// The answer by the question alone, with none of the generator's code.
    fn solved(question: &str) -> Option<String> {
        let given: Vec<&str> = question.split('"').skip(1).step_by(2).collect();
        let first = question.split(' ').next()?;
        Some(match (first, given.as_slice()) {
            ("Spell", [w]) => w
                .chars()
                .flat_map(|c| [c, ' '])
                .collect::<String>()
                .trim()
                .into(),
            ("Write", [w]) => w.replace(' ', ""),
            ("Add", [new, after, w]) => w.replace(after, &format!("{after}{new}")),
            ("Delete", [l, w]) => w.replace(l, ""),
            ("Replace", [old, new, w]) => w.replace(old, new),
            ("Swap", [a, b, w]) => w.replace(a, "#").replace(b, a).replace('#', b),
            _ => return None,
        })
    }

    #[test]
    fn every_answer_is_what_another_solver_finds_and_no_wrong_one_is() {
        for seed in 0..4 {
            for kind in CharacterTask::ALL {
                let (examples, problems) = fresh(seed, kind, 60).unwrap();
                assert_eq!(examples.lines().count(), EXAMPLES);
                for (_, p) in &problems {
                    assert_eq!(p.wrong.len(), 3, "{p:?}");
                    let length = p.answer.chars().count();
                    assert!(p.wrong.iter().all(|w| w.chars().count() == length), "{p:?}");
                    assert!(!examples.contains(&p.question), "{p:?}");
                    match solved(&p.question) {
                        Some(answer) => {
                            assert_eq!(answer, p.answer, "{p:?}");
                            assert!(!p.wrong.contains(&answer), "{p:?}");
                        }
                        None => {
                            let word = p.question.split('"').nth(1).unwrap();
                            assert!(word.contains(&p.answer), "{p:?}");
                            assert!(p.wrong.iter().all(|w| !word.contains(w)), "{p:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn places_and_kinds_are_balanced_and_a_seed_repeats() {
        let settings = TaskSettings::default();
        let all = |settings: &TaskSettings| -> Vec<Item> {
            let items = Characters.items(settings, &NoData).unwrap();
            items.map(Result::unwrap).collect()
        };
        let items = all(&settings);
        assert_eq!(items.len(), 7 * 24);
        for place in 0..4 {
            let right = |i: &&Item| matches!(&i.target, Target::Choice { correct, .. } if *correct == place);
            assert_eq!(items.iter().filter(right).count(), 7 * 6);
        }
        assert_eq!(items, all(&settings));
        let other = TaskSettings {
            seed: 5,
            ..TaskSettings::default()
        };
        assert_ne!(items, all(&other));
    }

    #[test]
    fn published_files_are_read_and_a_bad_line_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ins_char.tsv");
        let rows: String = (0..6).map(|_| "m\th\tthe\tthme\n").collect();
        std::fs::write(&path, format!("input1\tinput2\tinput3\tlabel\n{rows}")).unwrap();
        let (examples, asked) = published(&path, CharacterTask::Insert).unwrap();
        assert_eq!((examples.lines().count(), asked.len()), (4, 2));
        assert_eq!(
            solved(&asked[0].question).as_deref(),
            Some(asked[0].answer.as_str())
        );
        std::fs::write(&path, "input1\tlabel\nonly\n").unwrap();
        let error = published(&path, CharacterTask::Insert)
            .unwrap_err()
            .to_string();
        assert!(error.contains(":2:"), "{error}");
    }

    #[test]
    fn the_quoted_answer_is_read() {
        assert_eq!(quoted(" \"c a t\""), Some("c a t"));
        assert_eq!(quoted("Answer: \"cat\" because"), Some("cat"));
        assert_eq!(quoted("cat."), Some("cat"));
        assert_eq!(quoted("  "), None);
    }
}
