//! A sample's story as HTML: what was asked, what was right, what came back, how it was read.
//! The report embeds these pieces and the viewer serves them, so that both show the same. They are
//! written piece by piece, since an answer may be larger than anyone wants to hold twice.

use std::fmt::{self, Write};

use mary_contract::{
    ContinuationScore, Exchange, Image, Layers, ModelRole, Observe, Outcome, Part, Pool, Prompt,
    PromptForm, Request, Response, Sample, Speaker, Target,
};

use super::OutcomeClass;
use crate::escape::{clip, foreign, html, write_foreign};

/// Gives the attribute that shows a picture (`src="…"`), so that a report can share pictures between
/// samples and a viewer can embed them.
pub(crate) type Pictures<'a> = &'a mut dyn FnMut(&Image) -> String;

/// Where pieces of a page go.
pub(crate) type Out<'a> = &'a mut dyn Write;

/// How much of a story is told.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Story<'a> {
    /// Characters of one text, at most.
    pub characters: usize,
    /// Tokens of one continuation, at most.
    pub tokens: usize,
    /// The address of all of it, where there is one.
    pub whole: Option<&'a str>,
}

impl Story<'_> {
    fn text(self, out: Out, text: &str) -> fmt::Result {
        let (kept, left) = clip(text, self.characters);
        out.write_str("<pre class=\"said\" dir=\"auto\">")?;
        write_foreign(out, kept)?;
        out.write_str("</pre>")?;
        if left == 0 {
            return Ok(());
        }
        let left = crate::number::count(left);
        write!(
            out,
            "<p class=\"cut\">{left} more characters are left out here; "
        )?;
        match self.whole {
            Some(address) => write!(
                out,
                "<a href=\"{}\">all of it as plain text</a>.</p>",
                html(address)
            ),
            None => out.write_str("<code>mary view</code> shows all.</p>"),
        }
    }
}

/// The first question and what would be right.
pub(crate) fn question(out: Out, sample: &Sample, story: Story, pictures: Pictures) -> fmt::Result {
    match sample.exchanges.first() {
        Some(exchange) => asked(out, &exchange.ask.request, story, pictures)?,
        None => out.write_str("<p class=\"none\">Nothing was asked.</p>")?,
    }
    target(out, &sample.item.target, story)
}

/// Everything that came back, further questions, and the verdict.
pub(crate) fn answer(out: Out, sample: &Sample, story: Story, pictures: Pictures) -> fmt::Result {
    verdict(out, sample)?;
    for (index, exchange) in sample.exchanges.iter().enumerate() {
        if index > 0 {
            let who = match exchange.ask.role {
                ModelRole::Subject => "Asked further",
                ModelRole::Judge => "Asked the judge",
            };
            write!(out, "<h4>{who}</h4>")?;
            asked(out, &exchange.ask.request, story, pictures)?;
        }
        replied(out, exchange, story)?;
    }
    Ok(())
}

fn verdict(out: Out, sample: &Sample) -> fmt::Result {
    let judgement = &sample.judgement;
    let class = OutcomeClass::of(&judgement.outcome);
    write!(
        out,
        "<p class=\"verdict\"><span class=\"badge {}\">{}</span>",
        class.name(),
        class.words()
    )?;
    match &judgement.outcome {
        Outcome::Scored(score) => {
            write!(out, " score {}", trim_number(*score))?;
        }
        Outcome::Unscored(mary_contract::UnscoredReason::NotApplicable(why)) => {
            write!(out, " {}", foreign(why))?;
        }
        Outcome::Unscored(_) => out.write_str(" not scored, not counted as wrong")?,
        Outcome::Failed(failure) => {
            write!(out, " {}", foreign(&failure.message))?;
        }
    }
    if let Some(parsed) = &judgement.parsed {
        out.write_str("; read as <q class=\"parsed\"><bdi>")?;
        write_foreign(out, parsed)?;
        out.write_str("</bdi></q>")?;
    }
    out.write_str("</p>")?;
    if !judgement.measures.is_empty() {
        out.write_str("<dl class=\"pairs\">")?;
        for (name, value) in &judgement.measures {
            write!(
                out,
                "<div><dt>{}</dt><dd>{}</dd></div>",
                foreign(name),
                trim_number(*value)
            )?;
        }
        out.write_str("</dl>")?;
    }
    if !judgement.notes.is_null() {
        let notes = serde_json::to_string_pretty(&judgement.notes).unwrap_or_default();
        let (kept, _) = clip(&notes, 4000);
        write!(
            out,
            "<details><summary>Notes of the judge</summary><pre class=\"said\">{}</pre></details>",
            foreign(kept)
        )?;
    }
    Ok(())
}

fn asked(out: Out, request: &Request, story: Story, pictures: Pictures) -> fmt::Result {
    match request {
        Request::Generate(g) => {
            let s = &g.sampling;
            let mut how = format!(
                "temperature {}, at most {} tokens",
                trim_number(s.temperature),
                s.max_tokens
            );
            if let Some(seed) = s.seed {
                write!(how, ", seed {seed}")?;
            }
            let title = format!("Asked for an answer ({how})");
            prompt(out, &g.prompt, &title, story, pictures)
        }
        Request::Score(s) => {
            let title = "Asked how probable these are after the prefix";
            prompt(out, &s.prefix, title, story, pictures)?;
            out.write_str("<ol class=\"options\">")?;
            for text in &s.continuations {
                out.write_str("<li>")?;
                inline(out, text, story)?;
                out.write_str("</li>")?;
            }
            out.write_str("</ol>")
        }
        Request::Observe(o) => observed_text(out, o, story),
    }
}

fn observed_text(out: Out, o: &Observe, story: Story) -> fmt::Result {
    let layers = match &o.layers {
        Layers::All => "all layers".to_owned(),
        Layers::Last => "the last layer".to_owned(),
        Layers::These(which) => format!("layers {which:?}"),
    };
    write!(out, "<h4>Read, with hidden states of {layers}</h4>")?;
    story.text(out, &o.text)?;
    out.write_str("<p class=\"small\">Pooled: ")?;
    for (index, pool) in o.pools.iter().enumerate() {
        if index > 0 {
            out.write_str("; ")?;
        }
        match pool {
            Pool::Span { start, end } => match o.text.get(*start..*end) {
                Some(span) => {
                    out.write_str("mean over <q><bdi>")?;
                    inline(out, span, story)?;
                    out.write_str("</bdi></q>")?;
                }
                None => write!(out, "mean over bytes {start} to {end}")?,
            },
            Pool::Mean => out.write_str("mean of all tokens")?,
            Pool::Last => out.write_str("last token")?,
            Pool::First => out.write_str("first token")?,
        }
    }
    out.write_str("</p>")
}

fn prompt(out: Out, prompt: &Prompt, title: &str, story: Story, pictures: Pictures) -> fmt::Result {
    let form = match prompt.form {
        PromptForm::Plain => "plain text",
        PromptForm::Chat => "chat",
    };
    write!(
        out,
        "<h4>{} <span class=\"small\">{form}</span></h4>",
        html(title)
    )?;
    if let Some(system) = &prompt.system {
        out.write_str("<p class=\"speaker\">system</p>")?;
        story.text(out, system)?;
    }
    for turn in &prompt.turns {
        if prompt.turns.len() > 1 || prompt.system.is_some() {
            let who = match turn.speaker {
                Speaker::User => "user",
                Speaker::Assistant => "assistant",
            };
            write!(out, "<p class=\"speaker\">{who}</p>")?;
        }
        for part in &turn.parts {
            match part {
                Part::Text(text) if text.is_empty() => {
                    out.write_str("<p class=\"none\">Nothing stands before.</p>")?;
                }
                Part::Text(text) => story.text(out, text)?,
                Part::Image(image) => write!(
                    out,
                    "<img class=\"shown\" {} alt=\"Picture shown to the model ({}, {} bytes)\">",
                    pictures(image),
                    html(&image.media_type),
                    image.data.len()
                )?,
            }
        }
    }
    Ok(())
}

fn target(out: Out, target: &Target, story: Story) -> fmt::Result {
    match target {
        Target::Choice {
            options, correct, ..
        } => {
            out.write_str("<h4>Options</h4><ol class=\"options\">")?;
            for (index, option) in options.iter().enumerate() {
                let (class, mark) = if index == *correct {
                    (
                        " class=\"correct\"",
                        " <span class=\"badge right\">the right one</span>",
                    )
                } else {
                    ("", "")
                };
                write!(out, "<li{class}>")?;
                inline(out, option, story)?;
                write!(out, "{mark}</li>")?;
            }
            out.write_str("</ol>")
        }
        Target::Pair { good, bad } => {
            out.write_str(
                "<h4>Should be more probable</h4><ol class=\"options\"><li class=\"correct\">",
            )?;
            inline(out, good, story)?;
            out.write_str(" <span class=\"badge right\">this one</span></li><li>")?;
            inline(out, bad, story)?;
            out.write_str("</li></ol>")
        }
        Target::Text(text) => {
            out.write_str("<h4>Would be right</h4>")?;
            story.text(out, text)
        }
        Target::Data(data) => {
            let text = serde_json::to_string_pretty(data).unwrap_or_default();
            let (kept, _) = clip(&text, story.characters.min(4000));
            write!(
                out,
                "<details><summary>What the judge knows</summary><pre class=\"said\">{}</pre></details>",
                foreign(kept)
            )
        }
    }
}

fn replied(out: Out, exchange: &Exchange, story: Story) -> fmt::Result {
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
            out.write_str(
                "<h4>Log-probabilities <span class=\"small\">natural logarithm; darker is less expected</span></h4>",
            )?;
            for continuation in &scored.continuations {
                tokens(out, continuation, story)?;
            }
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

/// Tokens coloured by how unexpected they were, each with its number above.
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
    for (told, words) in [
        (
            score.boundary_merged,
            "a token crosses the boundary to the prefix",
        ),
        (score.first_unscored, "the first token is not scored"),
        (score.windowed, "scored through sliding windows"),
        (
            score.tokens.len() > story.tokens,
            "not all tokens are shown",
        ),
    ] {
        if told {
            remarks.push(words.into());
        }
    }
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

fn inline(out: Out, text: &str, story: Story) -> fmt::Result {
    let (kept, left) = clip(text, story.characters);
    out.write_str("<bdi class=\"text\">")?;
    write_foreign(out, kept)?;
    out.write_str(if left > 0 { "…</bdi>" } else { "</bdi>" })
}

fn trim_number(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
