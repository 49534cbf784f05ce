//! From answers to verdicts, the same for every choice of this family, and the figures by run, split
//! and concept that the paper's tables need.

use mary_contract::{
    Ask, Estimate, FLOOR, Generate, Generated, Judgement, Measure, OVER_FLOOR, Outcome, Prompt,
    PromptForm, Request, Response, Sample, Sampling, Score, Scored, Scoring, Start, Ties,
};
use mary_platform::{given, grouped, means};
use mary_stats::{intervals::cluster_ids, score_interval};

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
        Mode::Generate => generate(setup, whole),
        Mode::Score | Mode::Letters => {
            let before = match whole.form {
                PromptForm::Plain => " ",
                PromptForm::Chat => "",
            };
            let said = said.iter().map(|o| format!("{before}{o}")).collect();
            Request::Score(Score::new(whole, said, Start::Model))
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

/// An answer in words, drawn as was set.
pub fn generate(setup: &PhysicoSettings, prompt: Prompt) -> Request {
    let sampling = Sampling::greedy(setup.max_tokens).at(setup.temperature);
    Request::Generate(Generate::new(prompt, sampling))
}

/// A question that is answered in words, without shots.
pub fn words(setup: &PhysicoSettings, asked: &PromptContent) -> Ask {
    Ask::subject(generate(setup, prompt(setup.form, &[], asked, false)))
}

pub fn to_judge(setup: &PhysicoSettings, asked: &PromptContent, tokens: u32) -> Ask {
    let prompt = prompt(setup.form, &[], asked, false);
    Ask::judge(Request::Generate(Generate::new(
        prompt,
        Sampling::greedy(tokens),
    )))
}

pub fn judged(options: &[String], correct: usize, answer: &Response) -> Judgement {
    match answer {
        Response::Scored(scored) => by_scores(options, correct, scored),
        Response::Generated(written) => by_words(options, correct, written),
        Response::Observed(_) => {
            Judgement::fault("expected an answer or scores, found hidden states")
        }
    }
}

pub fn by_scores(options: &[String], correct: usize, scored: &Scored) -> Judgement {
    let judgement = Judgement::most_probable(options, correct, scored);
    let Outcome::Scored(score) = judgement.outcome else {
        return judgement;
    };
    let floor = scored.floor(correct).unwrap_or(0.0);
    let judgement = judgement
        .measured("accuracy", score)
        .measured(FLOOR, floor)
        .measured(OVER_FLOOR, score - floor);
    match scored.best_mean(correct) {
        Some((_, by_mean)) => judgement.measured("mean_logprob", by_mean),
        None => judgement,
    }
}

pub fn by_words(options: &[String], correct: usize, answer: &Generated) -> Judgement {
    let truth = |said: usize| f64::from(said == correct);
    let read = parse::choice(&answer.text, options);
    let strict = parse::strictly(&answer.text, options);
    let judgement = match (answer.withheld(), read) {
        (Some(_), _) | (None, None) => Judgement::unscored(answer.unread()),
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
            let tagged = |tag| Some((tag, sample.item.tags.get(tag)?.clone()));
            let tags = TAGS.into_iter().filter_map(tagged).collect();
            Some(ScoredSample {
                trial: sample.id.trial,
                cluster: sample.item.cluster.unwrap_or(sample.id.item),
                accuracy,
                tags,
            })
        })
        .collect();
    let parts = seen
        .iter()
        .flat_map(|one| one.tags.iter().map(move |tagged| (tagged, one)));
    let all: Vec<&ScoredSample> = seen.iter().collect();
    let mut found = vec![(SD.to_owned(), sd_over_runs(&all))];
    for ((tag, value), of) in grouped(parts) {
        found.push((part_name("accuracy", tag, value), accuracy(&of)));
        found.push((part_name(SD, tag, value), sd_over_runs(&of)));
    }
    let found = found.into_iter();
    let measures = found.filter_map(|(name, estimate)| Some(Measure::new(name, estimate?)));
    measures.collect()
}

fn accuracy(of: &[&ScoredSample]) -> Option<Estimate> {
    // Samples come in the order of the log; a fixed order keeps the last bit the same.
    let mut sorted: Vec<&&ScoredSample> = of.iter().collect();
    sorted.sort_by(|a, b| (&a.cluster, a.trial).cmp(&(&b.cluster, b.trial)));
    let clusters = cluster_ids(sorted.iter().map(|s| s.cluster.as_str()));
    let scores: Vec<f64> = sorted.iter().map(|s| s.accuracy).collect();
    let last = clusters.iter().max();
    let clustered = last.is_some_and(|last| last + 1 < scores.len());
    let interval = score_interval(&scores, clustered.then_some(clusters.as_slice()));
    let found = interval.or_else(|_| score_interval(&scores, None)).ok()?;
    let (bounds, n) = ((found.low, found.high), scores.len());
    Some(Estimate::new(found.value, bounds, n, found.method))
}

/// The standard deviation of the runs' accuracies, dividing by their number as the paper's own
/// figures do (runs of 0, 0 and 50 % are printed as 16.7 ± 23.6); `None` for a single run.
fn sd_over_runs(of: &[&ScoredSample]) -> Option<Estimate> {
    let runs = means(of.iter().map(|one| (one.trial, one.accuracy)));
    let accuracies: Vec<f64> = runs.into_values().collect();
    given(accuracies.len() >= 2)?;
    let n = accuracies.len();
    let mean = accuracies.iter().sum::<f64>() / n as f64;
    let squares = accuracies.iter().map(|a| (a - mean).powi(2));
    let value = (squares.sum::<f64>() / n as f64).sqrt();
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
