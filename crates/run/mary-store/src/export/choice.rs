//! What a scientist needs of a choice, with types: which option is right, which was chosen, the
//! log-probability of each, and the margin between the right one and the best of the others.

use mary_contract::{ContinuationScore, Request, Response, Sample};

use crate::RunFolder;
use crate::fault::Result;

/// Options that get a column of their own, at most; what lies beyond is still in the margin.
const MOST: usize = 32;

/// A sample as a choice; everything is absent where it is none.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Choice {
    pub options: Option<usize>,
    /// From 1, as is `chosen`.
    pub right: Option<usize>,
    pub right_text: Option<String>,
    pub chosen: Option<usize>,
    pub chosen_text: Option<String>,
    pub logprob_right: Option<f64>,
    /// The largest among the options that are not right.
    pub logprob_other: Option<f64>,
    pub margin: Option<f64>,
    /// In the order of the options.
    pub logprobs: Vec<f64>,
}

pub(super) fn columns(run: &RunFolder) -> Result<usize> {
    let mut most = 0;
    for sample in run.samples()? {
        most = most.max(Choice::from_sample(&sample?).logprobs.len());
    }
    Ok(most.min(MOST))
}

impl Choice {
    pub fn from_sample(sample: &Sample) -> Self {
        let all = sample.item.target.alternatives();
        let Some((options, right)) = all.filter(|(options, right)| *right < options.len()) else {
            return Self::default();
        };
        let logprobs = logprobs(sample, &options);
        let others = logprobs.iter().enumerate().filter(|(i, _)| *i != right);
        let other = others.map(|(_, x)| *x).reduce(f64::max);
        let own = logprobs.get(right).copied();
        let chosen = chosen(sample, &options, right, &logprobs);
        let text = |at: usize| options.get(at).map(|o| (*o).to_owned());
        Self {
            options: Some(options.len()),
            right: Some(right + 1),
            right_text: text(right),
            chosen: chosen.map(|c| c + 1),
            chosen_text: chosen.and_then(text),
            logprob_right: own,
            logprob_other: other,
            margin: own.zip(other).map(|(a, b)| a - b),
            logprobs,
        }
    }
}

pub(super) fn letter(at: usize) -> Option<String> {
    let at = u8::try_from(at).ok().filter(|&n| n < 26)?;
    Some(char::from(b'A' + at).to_string())
}

/// The sum of log-probabilities of each option, where the sample scored them all: in one question, or in
/// one each.
fn logprobs(sample: &Sample, options: &[&str]) -> Vec<f64> {
    let mut found: Vec<(&str, &ContinuationScore)> = Vec::new();
    for exchange in &sample.exchanges {
        let (Request::Score(asked), Ok(reply)) = (&exchange.ask.request, &exchange.reply) else {
            continue;
        };
        let Response::Scored(scored) = &reply.answer else {
            continue;
        };
        let texts = asked.continuations.iter().map(String::as_str);
        let all: Vec<_> = texts.zip(&scored.continuations).collect();
        if all.len() == options.len() {
            found = all;
            break;
        }
        found.extend(all);
    }
    if found.len() != options.len() {
        return Vec::new();
    }
    // Continuations are the options, or their letters; by their words where these tell them apart.
    let names = |at: usize, text: &str| {
        let text = text.trim();
        options.get(at).is_some_and(|o| o.trim() == text) || letter(at).as_deref() == Some(text)
    };
    let place = |at: usize| {
        let mut fitting = (0..found.len()).filter(|&i| names(at, found[i].0));
        match (fitting.next(), fitting.next()) {
            (Some(only), None) => Some(only),
            _ => None,
        }
    };
    let places: Option<Vec<usize>> = (0..options.len()).map(place).collect();
    let places = places.unwrap_or_else(|| (0..options.len()).collect());
    places.into_iter().map(|i| found[i].1.sum()).collect()
}

/// The option that was chosen, in agreement with the verdict; none in a tie, and none where the answer
/// names none.
fn chosen(sample: &Sample, options: &[&str], right: usize, logprobs: &[f64]) -> Option<usize> {
    let score = sample.judgement.score()?;
    if score == 1.0 {
        return Some(right);
    }
    if score != 0.0 {
        return None;
    }
    let wrong = || (0..options.len()).filter(|&i| i != right);
    if let [only] = wrong().collect::<Vec<_>>().as_slice() {
        return Some(*only);
    }
    let parsed = sample.judgement.parsed.as_deref().map(str::trim);
    let named = parsed.and_then(|p| {
        wrong()
            .find(|&i| options[i].trim().eq_ignore_ascii_case(p) || letter(i).as_deref() == Some(p))
    });
    let likeliest = || {
        wrong()
            .filter(|&i| i < logprobs.len())
            .max_by(|&a, &b| logprobs[a].total_cmp(&logprobs[b]))
    };
    named.or_else(likeliest)
}

#[cfg(test)]
mod tests {
    use mary_contract::Target;

    use super::*;
    use mary_contract::{
        Ask, Exchange, Item, Judgement, Key, Prompt, Reply, SampleId, Score, Scored, Start,
        TaskCard,
    };

    fn sample(target: Target, texts: &[&str], values: &[f32], score: f64) -> Sample {
        let request = Request::Score(Score::new(
            Prompt::plain("q"),
            texts.iter().map(|t| (*t).to_owned()).collect(),
            Start::Model,
        ));
        let one = |&v: &f32| ContinuationScore {
            tokens: vec!["x".into()],
            logprobs: vec![v],
            ..ContinuationScore::default()
        };
        let answer = Response::Scored(Scored {
            continuations: values.iter().map(one).collect(),
        });
        let card = TaskCard::new("own/x", "x", "x");
        Sample {
            id: SampleId::new("m", "own/x", "1", 0),
            item: Item::new("1", target, vec![]),
            exchanges: vec![Exchange {
                key: Key::of("f", &card, 0, &request).unwrap(),
                ask: Ask::subject(request),
                reply: Ok(Reply::bare(answer)),
            }],
            judgement: Judgement::scored(score),
        }
    }

    fn options(texts: &[&str], correct: usize) -> Target {
        Target::Choice {
            question: "q".into(),
            options: texts.iter().map(|t| (*t).to_owned()).collect(),
            correct,
        }
    }

    #[test]
    fn a_choice_has_its_margin_and_what_was_chosen() {
        let target = options(&["red", "green", "blue"], 1);
        let choice = Choice::from_sample(&sample(
            target,
            &[" C", " A", " B"],
            &[-1.0, -2.0, -3.0],
            0.0,
        ));
        // By letters: A is -2, B is -3, C is -1.
        assert_eq!(choice.logprobs, [-2.0, -3.0, -1.0]);
        assert_eq!((choice.right, choice.chosen), (Some(2), Some(3)));
        assert_eq!(choice.chosen_text.as_deref(), Some("blue"));
        assert_eq!(
            (choice.logprob_right, choice.logprob_other, choice.margin),
            (Some(-3.0), Some(-1.0), Some(-2.0))
        );
    }

    #[test]
    fn pairs_ties_and_texts_without_options() {
        let pair = Target::Pair {
            good: "a".into(),
            bad: "b".into(),
        };
        let tie = Choice::from_sample(&sample(pair.clone(), &["a", "b"], &[-1.0, -1.0], 0.5));
        assert_eq!((tie.chosen, tie.margin), (None, Some(0.0)));
        let right = Choice::from_sample(&sample(pair, &["a", "b"], &[-1.0, -2.5], 1.0));
        assert_eq!((right.chosen, right.margin), (Some(1), Some(1.5)));
        let text = Choice::from_sample(&sample(Target::Text("x".into()), &["a"], &[-1.0], 1.0));
        assert_eq!(text, Choice::default());
    }
}
