//! From answers to verdicts, the same for every choice of this family, and the figures by run, split
//! and concept that the paper's tables need.

use std::collections::BTreeMap;

use mary_contract::{
    Ask, ErrorKind, Estimate, FLOOR, Finish, Generate, Generated, Judgement, Measure, OVER_FLOOR,
    Outcome, Prompt, PromptForm, Request, Response, Sample, Sampling, Score, Scored, Scoring,
    Start, Ties, UnscoredReason,
};
use mary_generators::best;
use mary_stats::score_interval;
use serde_json::json;

use crate::parse;
use crate::prompt::{PromptContent, Shot, prompt};
use crate::setup::{Mode, PhysicoSettings};

pub fn ask(
    setup: &PhysicoSettings,
    shots: &[Shot],
    asked: &PromptContent,
    options: &[String],
) -> Ask {
    let (asked, said) = match setup.mode {
        Mode::Letters => lettered(asked, options),
        Mode::Score | Mode::Generate => (asked.clone(), options.to_vec()),
    };
    let whole = prompt(setup.form, shots, &asked, setup.mode != Mode::Generate);
    Ask::subject(match setup.mode {
        Mode::Generate => Request::Generate(generate(setup, whole)),
        Mode::Score | Mode::Letters => {
            let before = match whole.form {
                PromptForm::Plain => " ",
                PromptForm::Chat => "",
            };
            Request::Score(Score {
                continuations: said.iter().map(|o| format!("{before}{o}")).collect(),
                prefix: whole,
                start: Start::Model,
                details: Default::default(),
            })
        }
    })
}

/// The question with its options once more behind letters, and the letters. All have one length, so that no
/// option is more probable for being short.
fn lettered(asked: &PromptContent, options: &[String]) -> (PromptContent, Vec<String>) {
    let letters: Vec<String> = ('A'..='Z').map(String::from).take(options.len()).collect();
    let mut asked = asked.clone();
    asked.words.push_str("\n\n");
    for (letter, option) in letters.iter().zip(options) {
        asked.words.push_str(&format!("{letter}. {option}\n"));
    }
    asked.words.push_str("\nGive the letter of your choice.");
    (asked, letters)
}

pub fn generate(setup: &PhysicoSettings, prompt: Prompt) -> Generate {
    Generate {
        prompt,
        sampling: Sampling {
            temperature: setup.temperature,
            ..Sampling::greedy(setup.max_tokens)
        },
    }
}

/// Something that must not happen.
pub fn failed(message: &str) -> Judgement {
    Judgement::failed(ErrorKind::Internal, message)
}

pub fn judged(options: &[String], correct: usize, answer: &Response) -> Judgement {
    match answer {
        Response::Scored(scored) => by_scores(options, correct, scored),
        Response::Generated(written) => by_words(options, correct, written),
        Response::Observed(_) => failed("expected an answer or scores, found hidden states"),
    }
}

fn by_scores(options: &[String], correct: usize, scored: &Scored) -> Judgement {
    if scored.continuations.len() != options.len() {
        return failed("expected one score for each option");
    }
    let sums: Vec<f64> = scored.continuations.iter().map(|c| c.sum()).collect();
    let means: Option<Vec<f64>> = scored.continuations.iter().map(|c| c.mean()).collect();
    let Some((said, score)) = best(&sums, correct) else {
        let message = "an option's log-probability is not a number";
        return Judgement::failed(ErrorKind::NotFinite, message);
    };
    // A model that knows nothing finds the option with the fewest tokens the most probable.
    let continuations = scored.continuations.iter();
    let lengths: Vec<f64> = continuations.map(|c| -(c.logprobs.len() as f64)).collect();
    let floor = best(&lengths, correct).map_or(0.0, |(_, share)| share);
    let mut judgement = Judgement::scored(score)
        .measured("accuracy", score)
        .measured(FLOOR, floor)
        .measured(OVER_FLOOR, score - floor);
    if let Some(option) = options.get(said) {
        judgement = judgement.read_as(option.clone());
    }
    judgement.notes = json!({ "logprob": sums });
    match means.and_then(|means| best(&means, correct)) {
        Some((_, by_mean)) => judgement.measured("mean_logprob", by_mean),
        None => judgement,
    }
}

/// What a provider itself says about an answer that is none.
pub fn withheld(answer: &Generated) -> Option<UnscoredReason> {
    match answer.finish {
        Finish::Refusal => Some(UnscoredReason::Refused),
        Finish::ContentFilter => Some(UnscoredReason::Filtered),
        _ => None,
    }
}

fn by_words(options: &[String], correct: usize, answer: &Generated) -> Judgement {
    let truth = |said: usize| if said == correct { 1.0 } else { 0.0 };
    let read = parse::choice(&answer.text, options);
    let strict = parse::strictly(&answer.text, options);
    let judgement = match (withheld(answer), read) {
        (Some(reason), _) => Judgement::unscored(reason),
        (None, None) if answer.finish == Finish::Length => {
            Judgement::unscored(UnscoredReason::Truncated)
        }
        (None, None) => Judgement::unscored(UnscoredReason::Unparsed),
        (None, Some(said)) => {
            let option = options.get(said).cloned().unwrap_or_default();
            Judgement::scored(truth(said)).read_as(option)
        }
    };
    let scored = matches!(judgement.outcome, Outcome::Scored(_));
    let accuracy = read.filter(|_| scored).map_or(0.0, truth);
    let judgement = judgement.measured("accuracy", accuracy);
    match strict.filter(|_| scored) {
        Some(said) => judgement.measured("strict", truth(said)),
        None => judgement,
    }
}

pub fn scoring(setup: &PhysicoSettings) -> Scoring {
    match setup.mode {
        Mode::Score | Mode::Letters => Scoring::share(Ties::Shared),
        Mode::Generate => Scoring::WRITTEN,
    }
}

/// How answers are read, in words, for the conventions.
pub fn conventions(setup: &PhysicoSettings, say: &mut dyn FnMut(&str, String)) {
    match setup.mode {
        Mode::Score => {
            say(
                "answer",
                "the most probable of the four options after `Answer:` (plain) or as the reply (chat), sum \
                 of token log-probabilities; `mean_logprob` per token beside it"
                    .into(),
            );
            say("ties", "shared among the options that tie".into());
        }
        Mode::Letters => {
            say(
                "answer",
                "the most probable of the letters A to D, which stand before the options at the end of the \
                 question, after `Answer:` (plain) or as the reply (chat)"
                    .into(),
            );
            say("ties", "shared among the options that tie".into());
        }
        Mode::Generate => {
            say(
                "answer",
                format!(
                    "written, temperature {}, at most {} tokens; the choice is read from the end, \
                     `strict` takes only an option alone on the last line",
                    setup.temperature, setup.max_tokens
                ),
            );
            say(
                "unparsed",
                "left out of the score; wrong in `accuracy`".into(),
            );
        }
    }
}

/// The name of an accuracy of a part of the samples: `accuracy[concept=gravity]`.
pub fn part_name(measure: &str, tag: &str, value: &str) -> String {
    format!("{measure}[{tag}={value}]")
}

/// Tags of associative items: whether they can be asked with shots of their own concepts ([`WITH_CORE`]), and
/// the concept of those that can, by which results with and without such shots are paired.
pub(crate) const SHARED: &str = "options";
pub(crate) const SHARED_PAIR: &str = "options_pair";
pub(crate) const WITH_CORE: &str = "two or more core concepts";

/// Standard deviation over runs, as the paper's tables print it.
pub const SD: &str = "sd_over_runs";

struct ScoredSample {
    trial: u32,
    cluster: String,
    accuracy: f64,
    tags: Vec<(&'static str, String)>,
}

/// Accuracies with unread answers as wrong, for the whole, each split and each concept, with the
/// standard deviation over the runs (trials) where there are several.
pub fn by_run(samples: &mut dyn Iterator<Item = Sample>) -> Vec<Measure> {
    const TAGS: [&str; 6] = ["split", "concept", "pair", "kind", SHARED, SHARED_PAIR];
    let seen: Vec<ScoredSample> = samples
        .filter_map(|sample| {
            let accuracy = *sample.judgement.measures.get("accuracy")?;
            let tags = TAGS
                .into_iter()
                .filter_map(|tag| Some((tag, sample.item.tags.get(tag)?.clone())))
                .collect();
            Some(ScoredSample {
                trial: sample.id.trial,
                cluster: sample.item.cluster.unwrap_or(sample.id.item),
                accuracy,
                tags,
            })
        })
        .collect();
    let mut parts: BTreeMap<(&str, String), Vec<&ScoredSample>> = BTreeMap::new();
    for one in &seen {
        for (tag, value) in &one.tags {
            parts.entry((tag, value.clone())).or_default().push(one);
        }
    }
    let all: Vec<&ScoredSample> = seen.iter().collect();
    let mut found = vec![(SD.to_owned(), sd_over_runs(&all))];
    for ((tag, value), of) in parts {
        found.push((part_name("accuracy", tag, &value), accuracy(&of)));
        found.push((part_name(SD, tag, &value), sd_over_runs(&of)));
    }
    let measure = |(name, estimate): (String, Option<Estimate>)| {
        let estimate = estimate?;
        Some(Measure { name, estimate })
    };
    found.into_iter().filter_map(measure).collect()
}

fn accuracy(of: &[&ScoredSample]) -> Option<Estimate> {
    // Samples come in the order of the log; a fixed order keeps the last bit the same.
    let mut sorted: Vec<&&ScoredSample> = of.iter().collect();
    sorted.sort_by(|a, b| (&a.cluster, a.trial).cmp(&(&b.cluster, b.trial)));
    let mut ids: BTreeMap<&str, usize> = BTreeMap::new();
    let clusters: Vec<usize> = sorted
        .iter()
        .map(|s| {
            let next = ids.len();
            *ids.entry(&s.cluster).or_insert(next)
        })
        .collect();
    let scores: Vec<f64> = sorted.iter().map(|s| s.accuracy).collect();
    let clustered = ids.len() < scores.len();
    let interval = score_interval(&scores, clustered.then_some(clusters.as_slice()))
        .or_else(|_| score_interval(&scores, None))
        .ok()?;
    let bounds = (interval.low, interval.high);
    Some(Estimate::new(
        interval.value,
        bounds,
        scores.len(),
        interval.method,
    ))
}

/// The standard deviation of the runs' accuracies, dividing by their number as the paper's own
/// figures do (runs of 0, 0 and 50 % are printed as 16.7 ± 23.6); `None` for a single run.
fn sd_over_runs(of: &[&ScoredSample]) -> Option<Estimate> {
    let mut runs: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    for one in of {
        let run = runs.entry(one.trial).or_default();
        run.0 += one.accuracy;
        run.1 += 1.0;
    }
    let accuracies: Vec<f64> = runs.values().map(|(sum, n)| sum / n).collect();
    if accuracies.len() < 2 {
        return None;
    }
    let mean = accuracies.iter().sum::<f64>() / accuracies.len() as f64;
    let variance =
        accuracies.iter().map(|a| (a - mean).powi(2)).sum::<f64>() / accuracies.len() as f64;
    let value = variance.sqrt();
    let n = accuracies.len();
    Some(Estimate::new(value, (value, value), n, "population-sd"))
}

#[cfg(test)]
mod tests {
    use mary_contract::{ContinuationScore, TaskSettings};

    use super::*;

    fn options() -> Vec<String> {
        ["gravity", "optical filters", "wave", "melting"]
            .map(String::from)
            .into()
    }

    /// Each option with as many tokens as it has words, all equally probable.
    fn scored(options: &[String]) -> Response {
        let score = |option: &String| {
            let tokens: Vec<String> = option.split(' ').map(str::to_owned).collect();
            ContinuationScore {
                logprobs: vec![-1.0; tokens.len()],
                tokens,
                boundary_merged: false,
                first_unscored: false,
                windowed: false,
                details: None,
            }
        };
        Response::Scored(Scored {
            continuations: options.iter().map(score).collect(),
        })
    }

    #[test]
    fn the_floor_is_what_counting_tokens_scores() {
        let options = options();
        // The three short ones tie, by tokens as by sums.
        let short = judged(&options, 0, &scored(&options));
        assert_eq!(short.measures[FLOOR], 1.0 / 3.0);
        assert_eq!(short.measures[OVER_FLOOR], 0.0);
        let long = judged(&options, 1, &scored(&options));
        assert_eq!(
            (long.measures[FLOOR], long.measures["mean_logprob"]),
            (0.0, 0.25)
        );
    }

    #[test]
    fn letters_are_scored_in_place_of_phrases() {
        let card = &crate::low_level::DEFINITION_TASK.card;
        let mut settings = TaskSettings::default();
        settings.params.insert("mode".into(), "letters".into());
        let setup = PhysicoSettings::read(card, &settings).unwrap();
        let asked = crate::prompt::guess("[PHENOMENON] makes things fall.", &options());
        let Request::Score(score) = ask(&setup, &[], &asked, &options()).request else {
            panic!("not scored");
        };
        assert_eq!(score.continuations, [" A", " B", " C", " D"]);
        let shown = score.prefix.text();
        assert!(
            shown.ends_with("A. gravity\nB. optical filters\nC. wave\nD. melting\n\nGive the letter of your choice.\n\nAnswer:"),
            "{shown}"
        );
        assert!(Mode::Letters.needs(false).score_single_token);
    }
}
