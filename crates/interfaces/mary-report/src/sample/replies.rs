//! The other half of a sample's story: what came back, how it was read, and the verdict.

use std::fmt;

use mary_contract::{
    ContinuationScore, Exchange, ModelRole, Outcome, Request, Response, Sample, Scored, Target,
    UnscoredReason,
};

use super::render::{
    Inline, Out, Pictures, Story, Triple, asked, right_of, texts_only, trim_number,
};
use super::{OutcomeClass, letter, margin};
use crate::escape::{clip, foreign, write_foreign};

/// Measures that are shown at once; the rest, and those of single layers, are folded.
const MEASURES: usize = 8;

pub(crate) fn answer(out: Out, sample: &Sample, story: Story, pictures: Pictures) -> fmt::Result {
    verdict(out, sample)?;
    if let Some(triple) = Triple::from_sample(sample)
        && let Some(cosines) = triple.cosines
    {
        out.write_str("<h4>Cosines</h4><dl class=\"triple\">")?;
        let [_, near, far] = triple.texts;
        for (text, cosine) in [near, far].into_iter().zip(cosines) {
            let text = Inline(text, story);
            write!(out, "<div><dt>{text}</dt><dd>{cosine:.3}</dd></div>")?;
        }
        out.write_str("</dl>")?;
    }
    if texts_only(&sample.exchanges) {
        return hidden_states(out, &sample.exchanges);
    }
    for (index, exchange) in sample.exchanges.iter().enumerate() {
        if index > 0 {
            let who = match exchange.ask.role {
                ModelRole::Subject => "Asked further",
                ModelRole::Judge => "Asked the judge",
            };
            write!(out, "<h4>{who}</h4>")?;
            asked(out, &exchange.ask.request, None, story, pictures)?;
        }
        let right = |count| right_of(count, &sample.item.target).filter(|_| index == 0);
        let options = match &sample.item.target {
            Target::Choice { options, .. } if index == 0 => options.as_slice(),
            _ => &[],
        };
        replied(out, exchange, (&right, options), story)?;
    }
    Ok(())
}

fn verdict(out: Out, sample: &Sample) -> fmt::Result {
    let judgement = &sample.judgement;
    let class = OutcomeClass::from_outcome(&judgement.outcome);
    write!(out, "<p class=\"verdict\">{} ", class.badge())?;
    match &judgement.outcome {
        Outcome::Scored(score) => write!(out, "score {}", trim_number(*score))?,
        Outcome::Unscored(UnscoredReason::NotApplicable(why)) => write_foreign(out, why)?,
        Outcome::Unscored(_) => out.write_str("not scored, not counted as wrong")?,
        Outcome::Failed(failure) => write_foreign(out, &failure.message)?,
    }
    if let Some(parsed) = &judgement.parsed {
        out.write_str("; read as <q class=\"parsed\"><bdi>")?;
        write_foreign(out, parsed)?;
        out.write_str("</bdi></q>")?;
    }
    if let Some(margin) = margin(sample) {
        write!(out, "; margin {}", trim_number(margin))?;
    }
    out.write_str("</p>")?;
    measures(out, sample)?;
    if !judgement.notes.is_null() {
        let notes = serde_json::to_string_pretty(&judgement.notes).unwrap_or_default();
        let (kept, _) = clip(&notes, 4000);
        let mut roles = sample.exchanges.iter().map(|e| e.ask.role);
        let whose = match roles.any(|role| role == ModelRole::Judge) {
            true => "Notes of the judge",
            false => "What the verdict is based on",
        };
        write!(
            out,
            "<details><summary>{whose}</summary><pre class=\"said\">{}</pre></details>",
            foreign(kept)
        )?;
    }
    Ok(())
}

fn measures(out: Out, sample: &Sample) -> fmt::Result {
    // The margin stands in the verdict already.
    let all = sample.judgement.measures.iter();
    let (layers, others): (Vec<_>, Vec<_>) = all
        .filter(|(name, _)| *name != "margin")
        .partition(|(name, _)| name.contains("layer_"));
    let (shown, more) = others.split_at(others.len().min(MEASURES));
    if !shown.is_empty() {
        pairs(out, shown)?;
    }
    let folded = [more, &layers].concat();
    if folded.is_empty() {
        return Ok(());
    }
    write!(
        out,
        "<details><summary>{}{} measures{}</summary>",
        folded.len(),
        if shown.is_empty() { "" } else { " more" },
        if layers.is_empty() {
            ""
        } else {
            ", of single layers too"
        },
    )?;
    pairs(out, &folded)?;
    out.write_str("</details>")
}

fn pairs(out: Out, measures: &[(&String, &f64)]) -> fmt::Result {
    out.write_str("<dl class=\"pairs\">")?;
    for (name, value) in measures {
        let (name, value) = (foreign(name), trim_number(**value));
        write!(out, "<div><dt>{name}</dt><dd>{value}</dd></div>")?;
    }
    out.write_str("</dl>")
}

fn hidden_states(out: Out, exchanges: &[Exchange]) -> fmt::Result {
    let mut shapes: Vec<(usize, usize)> = Vec::new();
    for exchange in exchanges {
        match &exchange.reply {
            Ok(reply) => {
                if let Response::Observed(o) = &reply.answer {
                    shapes.extend(o.pools.iter().map(|pool| {
                        let width = pool.layers.first().map_or(0, |l| l.vector.0.len());
                        (pool.layers.len(), width)
                    }));
                }
            }
            Err(error) => write!(out, "<p>No answer: {}</p>", foreign(&error.message))?,
        }
    }
    let vectors = shapes.len();
    shapes.sort_unstable();
    shapes.dedup();
    let said: Vec<String> = shapes
        .iter()
        .map(|(layers, width)| match layers {
            1 => format!("one layer of {width} numbers"),
            layers => format!("{layers} layers of {width} numbers"),
        })
        .collect();
    write!(
        out,
        "<h4>Hidden states</h4><p class=\"small\">{vectors} pooled vectors: {}</p>",
        said.join("; ")
    )
}

/// One reply; `right` tells which of so many continuations is the right one, `options` what they stand for.
fn replied(
    out: Out,
    exchange: &Exchange,
    (right, options): (&dyn Fn(usize) -> Option<usize>, &[String]),
    story: Story,
) -> fmt::Result {
    let reply = match &exchange.reply {
        Ok(reply) => reply,
        Err(error) => {
            out.write_str("<h4>No answer</h4><p>")?;
            write_foreign(out, &error.message)?;
            if let Some(hint) = &error.hint {
                write!(out, " <span class=\"small\">{}</span>", foreign(hint))?;
            }
            return out.write_str("</p>");
        }
    };
    match &reply.answer {
        Response::Generated(g) => {
            if let Some(reasoning) = &g.reasoning {
                out.write_str("<details><summary>Reasoning</summary>")?;
                story.text(out, reasoning)?;
                out.write_str("</details>")?;
            }
            let finish = format!("{:?}", g.finish).to_lowercase();
            write!(
                out,
                "<h4>Answered <span class=\"small\">ended by {}</span></h4>",
                foreign(&finish)
            )?;
            story.text(out, &g.text)?;
        }
        Response::Scored(scored) => {
            let count = scored.continuations.len();
            let asked = match &exchange.ask.request {
                Request::Score(asked) => asked.continuations.as_slice(),
                _ => &[],
            };
            // Told once: where the continuation is the option itself, its tokens stand right below.
            let name = |index: usize| {
                let option = options.get(index).filter(|_| options.len() == count)?;
                let same = asked
                    .get(index)
                    .is_some_and(|text| text.trim() == option.trim());
                (!same && option.trim() != letter(index)).then_some(option.as_str())
            };
            continuations(out, scored, (right(count), &name), story)?;
        }
        Response::Observed(o) => {
            out.write_str("<h4>Hidden states</h4><ul>")?;
            for pool in &o.pools {
                let width = pool.layers.first().map_or(0, |l| l.vector.0.len());
                write!(
                    out,
                    "<li>{} layers of {width} numbers, mean of {} tokens</li>",
                    pool.layers.len(),
                    pool.tokens
                )?;
            }
            out.write_str("</ul>")?;
            if let Some(scores) = &o.scores {
                tokens(out, scores, story)?;
            }
        }
    }
    let usage = reply.meta.usage;
    if usage.prompt_tokens > 0 || usage.completion_tokens > 0 {
        write!(
            out,
            "<p class=\"small\">{} tokens read, {} written</p>",
            usage.prompt_tokens, usage.completion_tokens
        )?;
    }
    Ok(())
}

fn continuations<'a>(
    out: Out,
    scored: &Scored,
    (right, name): (Option<usize>, &dyn Fn(usize) -> Option<&'a str>),
    story: Story,
) -> fmt::Result {
    out.write_str(
        "<h4>Log-probabilities <span class=\"small\">natural logarithm; darker is less expected</span></h4>",
    )?;
    let sums = scored.continuations.iter().map(|c| c.sum()).enumerate();
    let highest = sums.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(i, _)| i);
    let several = scored.continuations.len() > 1;
    for (index, continuation) in scored.continuations.iter().enumerate() {
        if several {
            write!(
                out,
                "<p class=\"option\"><span class=\"letter\">{}</span>",
                letter(index)
            )?;
            if let Some(option) = name(index) {
                write!(out, " {}", Inline(option, story))?;
            }
            if right == Some(index) {
                out.write_str(" <span class=\"badge right\">the right one</span>")?;
            }
            if highest == Some(index) {
                out.write_str(" <span class=\"badge\">most probable</span>")?;
            }
            out.write_str("</p>")?;
        }
        tokens(out, continuation, story)?;
    }
    Ok(())
}

fn tokens(out: Out, score: &ContinuationScore, story: Story) -> fmt::Result {
    out.write_str("<p class=\"tokens\" dir=\"auto\">")?;
    let pairs = score.tokens.iter().zip(&score.logprobs);
    for (token, &logprob) in pairs.take(story.tokens) {
        let level = surprise_level(logprob);
        write!(
            out,
            "<ruby class=\"lp{level}\">{}<rt>{logprob:.1}</rt></ruby>",
            foreign(token).replace(' ', "&nbsp;")
        )?;
    }
    out.write_str("</p>")?;
    let mut remarks = vec![format!("sum {:.3}", score.sum())];
    if let Some(mean) = score.mean() {
        remarks.push(format!(
            "mean {mean:.3} over {} tokens",
            score.logprobs.len()
        ));
    }
    let cut = score.tokens.len() > story.tokens;
    let crosses = "a token crosses the boundary to the prefix";
    let told = [
        score.boundary_merged.then_some(crosses),
        score
            .first_unscored
            .then_some("the first token is not scored"),
        score.windowed.then_some("scored through sliding windows"),
        cut.then_some("not all tokens are shown"),
    ];
    remarks.extend(told.into_iter().flatten().map(String::from));
    write!(out, "<p class=\"small\">{}</p>", remarks.join("; "))
}

/// 0 (expected) to 5 (very unexpected), in steps of about one and a half nats.
fn surprise_level(logprob: f32) -> u8 {
    match -logprob {
        s if s < 0.5 => 0,
        s if s < 1.5 => 1,
        s if s < 3.0 => 2,
        s if s < 5.0 => 3,
        s if s < 8.0 => 4,
        _ => 5,
    }
}
