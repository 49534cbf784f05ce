//! How answers are judged, by the house's rules: what cannot be read is unparsed and not wrong, a tie
//! shares the point, and verdicts under other conventions stand beside the score.

mod choice;
mod model;
pub(crate) mod number;
mod scores;
mod text;
mod vectors;

pub(crate) use model::question;
pub(crate) use scores::perplexities;
pub(crate) use vectors::correlations;

use mary_contract::{
    ErrorKind, Generated, Item, Judgement, Outcome, Reply, Response, Target, UnscoredReason,
};

use crate::asking::AskSettings;
use crate::form::{JudgeKind, RequestKind, Unread};
use crate::plan::Plan;

pub(crate) fn judge(
    plan: &Plan,
    wanted: &AskSettings,
    item: &Item,
    answers: &[Reply],
) -> Judgement {
    let verdict = match (plan.kind(), plan.judge()) {
        (RequestKind::Score, JudgeKind::Choice) => {
            scores::choice(wanted, plan.form.judge.ties, item, answers)
        }
        (RequestKind::Score, JudgeKind::Greedy) => scores::greedy(answers),
        (RequestKind::Score, JudgeKind::Perplexity) => scores::bits(item, answers),
        (RequestKind::Score, _) => scores::correlation(wanted, item, answers),
        (RequestKind::Observe, JudgeKind::Triple) => vectors::triple(answers),
        (RequestKind::Observe, _) => vectors::correlation(item, answers),
        (RequestKind::Generate, JudgeKind::Model) => model::judge(plan, answers),
        (RequestKind::Generate, kind) => generated(answers).and_then(|said| {
            let verdict = match kind {
                JudgeKind::Choice => choice::judge(item, said),
                JudgeKind::Exact => text::exact(plan, item, said),
                JudgeKind::Contains => text::contains(plan, item, said),
                JudgeKind::Regex => text::pattern(plan, item, said),
                _ => number::judge(plan, wanted, item, said),
            }?;
            Ok(verdict.unwrap_or_else(|| Judgement::unscored(said.unread())))
        }),
    };
    let verdict = verdict.unwrap_or_else(|refused| *refused);
    let unread = Outcome::Unscored(UnscoredReason::Unparsed);
    let cut = Outcome::Unscored(UnscoredReason::Truncated);
    let wrong = plan.form.judge.unread == Unread::Wrong;
    match wrong && (verdict.outcome == unread || verdict.outcome == cut) {
        true => Judgement::scored(0.0),
        false => verdict,
    }
}

/// A verdict, or the one that ends the matter before there is anything to judge.
pub(crate) type Verdict = Result<Judgement, Box<Judgement>>;

/// A verdict on a text; nothing when no answer can be read from it.
type Reading = Result<Option<Judgement>, Box<Judgement>>;

/// What the model under study said, where it said something.
fn generated(answers: &[Reply]) -> Result<&Generated, Box<Judgement>> {
    let Some(Response::Generated(said)) = answers.first().map(|r| &r.answer) else {
        return Err(fault("expected an answer in words"));
    };
    match said.withheld().is_some() || said.text.trim().is_empty() {
        true => Err(Box::new(Judgement::unscored(said.unread()))),
        false => Ok(said),
    }
}

pub(crate) fn fault(message: &str) -> Box<Judgement> {
    Box::new(Judgement::fault(message))
}

pub(crate) fn not_finite(message: &str) -> Box<Judgement> {
    Box::new(Judgement::failed(ErrorKind::NotFinite, message))
}

fn accepted(item: &Item) -> Vec<&str> {
    match &item.target {
        Target::Text(text) => vec![text],
        Target::Data(data) => {
            let all = data.get("accepted").and_then(|a| a.as_array());
            let texts = all.into_iter().flatten().filter_map(|v| v.as_str());
            texts.collect()
        }
        _ => Vec::new(),
    }
}
