//! A sample's story as HTML: what was asked, what was right, what came back, how it was read.
//! The report embeds these pieces and the viewer serves them, so that both show the same.

use std::fmt::Write as _;

use mary_contract::{
    ContinuationScore, Exchange, Image, Layers, ModelRole, Observe, Outcome, Part, Pool, Prompt,
    PromptForm, Request, Response, Sample, Speaker, Target,
};

use super::OutcomeClass;
use crate::escape::{clip, foreign, html};

/// Gives the attribute that shows a picture (`src="…"`), so that a report can share pictures between
/// samples and a viewer can embed them.
pub(crate) type Pictures<'a> = &'a mut dyn FnMut(&Image) -> String;

/// How much of a story is told.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Story {
    /// Characters of one text, at most.
    pub characters: usize,
    /// Tokens of one continuation, at most.
    pub tokens: usize,
}

impl Story {
    /// All of it.
    pub const WHOLE: Self = Self {
        characters: usize::MAX,
        tokens: usize::MAX,
    };

    fn text(self, text: &str) -> String {
        let (kept, left) = clip(text, self.characters);
        let mut out = format!("<pre class=\"said\" dir=\"auto\">{}</pre>", foreign(kept));
        if left > 0 {
            let _ = write!(
                out,
                "<p class=\"cut\">{} more characters are left out here; <code>mary view</code> shows all.</p>",
                crate::number::count(left)
            );
        }
        out
    }
}

/// The first question and what would be right.
pub(crate) fn question(sample: &Sample, story: Story, pictures: Pictures) -> String {
    let mut out = String::new();
    match sample.exchanges.first() {
        Some(exchange) => out += &asked(&exchange.ask.request, story, pictures),
        None => out += "<p class=\"none\">Nothing was asked.</p>",
    }
    out += &target(&sample.item.target, story);
    out
}

/// Everything that came back, further questions, and the verdict.
pub(crate) fn answer(sample: &Sample, story: Story, pictures: Pictures) -> String {
    let mut out = verdict(sample);
    for (index, exchange) in sample.exchanges.iter().enumerate() {
        if index > 0 {
            let who = match exchange.ask.role {
                ModelRole::Subject => "Asked further",
                ModelRole::Judge => "Asked the judge",
            };
            let _ = write!(out, "<h4>{who}</h4>");
            out += &asked(&exchange.ask.request, story, pictures);
        }
        out += &replied(exchange, story);
    }
    out
}

fn verdict(sample: &Sample) -> String {
    let judgement = &sample.judgement;
    let class = OutcomeClass::of(&judgement.outcome);
    let mut out = format!(
        "<p class=\"verdict\"><span class=\"badge {}\">{}</span>",
        class.name(),
        class.words()
    );
    match &judgement.outcome {
        Outcome::Scored(score) => {
            let _ = write!(out, " score {}", trim_number(*score));
        }
        Outcome::Unscored(mary_contract::UnscoredReason::NotApplicable(why)) => {
            let _ = write!(out, " {}", foreign(why));
        }
        Outcome::Unscored(_) => out += " not scored, not counted as wrong",
        Outcome::Failed(failure) => {
            let _ = write!(out, " {}", foreign(&failure.message));
        }
    }
    if let Some(parsed) = &judgement.parsed {
        let _ = write!(
            out,
            "; read as <q class=\"parsed\"><bdi>{}</bdi></q>",
            foreign(parsed)
        );
    }
    out += "</p>";
    if !judgement.measures.is_empty() {
        out += "<dl class=\"pairs\">";
        for (name, value) in &judgement.measures {
            let _ = write!(
                out,
                "<div><dt>{}</dt><dd>{}</dd></div>",
                foreign(name),
                trim_number(*value)
            );
        }
        out += "</dl>";
    }
    if !judgement.notes.is_null() {
        let notes = serde_json::to_string_pretty(&judgement.notes).unwrap_or_default();
        let (kept, _) = clip(&notes, 4000);
        let _ = write!(
            out,
            "<details><summary>Notes of the judge</summary><pre class=\"said\">{}</pre></details>",
            foreign(kept)
        );
    }
    out
}

fn asked(request: &Request, story: Story, pictures: Pictures) -> String {
    match request {
        Request::Generate(g) => {
            let s = &g.sampling;
            let mut how = format!(
                "temperature {}, at most {} tokens",
                trim_number(s.temperature),
                s.max_tokens
            );
            if let Some(seed) = s.seed {
                let _ = write!(how, ", seed {seed}");
            }
            prompt(
                &g.prompt,
                &format!("Asked for an answer ({how})"),
                story,
                pictures,
            )
        }
        Request::Score(s) => {
            let mut out = prompt(
                &s.prefix,
                "Asked how probable these are after the prefix",
                story,
                pictures,
            );
            out += "<ol class=\"options\">";
            for text in &s.continuations {
                let _ = write!(out, "<li>{}</li>", inline(text, story));
            }
            out += "</ol>";
            out
        }
        Request::Observe(o) => observed_text(o, story),
    }
}

fn observed_text(o: &Observe, story: Story) -> String {
    let layers = match &o.layers {
        Layers::All => "all layers".to_owned(),
        Layers::Last => "the last layer".to_owned(),
        Layers::These(which) => format!("layers {which:?}"),
    };
    let pools: Vec<String> = o
        .pools
        .iter()
        .map(|p| match p {
            Pool::Span { start, end } => match o.text.get(*start..*end) {
                Some(span) => format!("mean over <q><bdi>{}</bdi></q>", inline(span, story)),
                None => format!("mean over bytes {start} to {end}"),
            },
            Pool::Mean => "mean of all tokens".into(),
            Pool::Last => "last token".into(),
            Pool::First => "first token".into(),
        })
        .collect();
    format!(
        "<h4>Read, with hidden states of {layers}</h4>{}<p class=\"small\">Pooled: {}</p>",
        story.text(&o.text),
        pools.join("; ")
    )
}

fn prompt(prompt: &Prompt, title: &str, story: Story, pictures: Pictures) -> String {
    let form = match prompt.form {
        PromptForm::Plain => "plain text",
        PromptForm::Chat => "chat",
    };
    let mut out = format!(
        "<h4>{} <span class=\"small\">{form}</span></h4>",
        html(title)
    );
    if let Some(system) = &prompt.system {
        let _ = write!(out, "<p class=\"speaker\">system</p>{}", story.text(system));
    }
    for turn in &prompt.turns {
        if prompt.turns.len() > 1 || prompt.system.is_some() {
            let who = match turn.speaker {
                Speaker::User => "user",
                Speaker::Assistant => "assistant",
            };
            let _ = write!(out, "<p class=\"speaker\">{who}</p>");
        }
        for part in &turn.parts {
            match part {
                Part::Text(text) if text.is_empty() => {
                    out += "<p class=\"none\">Nothing stands before.</p>";
                }
                Part::Text(text) => out += &story.text(text),
                Part::Image(image) => {
                    let _ = write!(
                        out,
                        "<img class=\"shown\" {} alt=\"Picture shown to the model ({}, {} bytes)\">",
                        pictures(image),
                        html(&image.media_type),
                        image.data.len()
                    );
                }
            }
        }
    }
    out
}

fn target(target: &Target, story: Story) -> String {
    match target {
        Target::Choice {
            options, correct, ..
        } => {
            let mut out = String::from("<h4>Options</h4><ol class=\"options\">");
            for (index, option) in options.iter().enumerate() {
                let (class, mark) = if index == *correct {
                    (
                        " class=\"correct\"",
                        " <span class=\"badge right\">the right one</span>",
                    )
                } else {
                    ("", "")
                };
                let _ = write!(out, "<li{class}>{}{mark}</li>", inline(option, story));
            }
            out += "</ol>";
            out
        }
        Target::Pair { good, bad } => format!(
            "<h4>Should be more probable</h4><ol class=\"options\"><li class=\"correct\">{} <span class=\"badge right\">this one</span></li><li>{}</li></ol>",
            inline(good, story),
            inline(bad, story)
        ),
        Target::Text(text) => format!("<h4>Would be right</h4>{}", story.text(text)),
        Target::Data(data) => {
            let text = serde_json::to_string_pretty(data).unwrap_or_default();
            let (kept, _) = clip(&text, story.characters.min(4000));
            format!(
                "<details><summary>What the judge knows</summary><pre class=\"said\">{}</pre></details>",
                foreign(kept)
            )
        }
    }
}

fn replied(exchange: &Exchange, story: Story) -> String {
    let reply = match &exchange.reply {
        Ok(reply) => reply,
        Err(error) => {
            let hint = error
                .hint
                .as_deref()
                .map(|h| format!(" <span class=\"small\">{}</span>", foreign(h)))
                .unwrap_or_default();
            return format!("<h4>No answer</h4><p>{}{hint}</p>", foreign(&error.message));
        }
    };
    let mut out = match &reply.answer {
        Response::Generated(g) => {
            let mut out = String::new();
            if let Some(reasoning) = &g.reasoning {
                let _ = write!(
                    out,
                    "<details><summary>Reasoning</summary>{}</details>",
                    story.text(reasoning)
                );
            }
            let finish = format!("{:?}", g.finish).to_lowercase();
            let _ = write!(
                out,
                "<h4>Answered <span class=\"small\">ended by {}</span></h4>{}",
                foreign(&finish),
                story.text(&g.text)
            );
            out
        }
        Response::Scored(scored) => {
            let mut out = String::from(
                "<h4>Log-probabilities <span class=\"small\">natural logarithm; darker is less expected</span></h4>",
            );
            for continuation in &scored.continuations {
                out += &tokens(continuation, story);
            }
            out
        }
        Response::Observed(o) => {
            let mut out = String::from("<h4>Hidden states</h4><ul>");
            for pool in &o.pools {
                let width = pool.layers.first().map_or(0, |l| l.vector.0.len());
                let _ = write!(
                    out,
                    "<li>{} layers of {width} numbers, mean of {} tokens</li>",
                    pool.layers.len(),
                    pool.tokens
                );
            }
            out += "</ul>";
            if let Some(scores) = &o.scores {
                out += &tokens(scores, story);
            }
            out
        }
    };
    let usage = reply.meta.usage;
    if usage.prompt_tokens + usage.completion_tokens > 0 {
        let _ = write!(
            out,
            "<p class=\"small\">{} tokens read, {} written</p>",
            usage.prompt_tokens, usage.completion_tokens
        );
    }
    out
}

/// Tokens coloured by how unexpected they were, each with its number above.
fn tokens(score: &ContinuationScore, story: Story) -> String {
    let mut out = String::from("<p class=\"tokens\" dir=\"auto\">");
    let pairs = score.tokens.iter().zip(&score.logprobs);
    for (token, &logprob) in pairs.take(story.tokens) {
        let level = surprise_level(logprob);
        let _ = write!(
            out,
            "<ruby class=\"lp{level}\">{}<rt>{logprob:.1}</rt></ruby>",
            foreign(token).replace(' ', "&nbsp;")
        );
    }
    out += "</p>";
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
    let _ = write!(out, "<p class=\"small\">{}</p>", remarks.join("; "));
    out
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

fn inline(text: &str, story: Story) -> String {
    let (kept, left) = clip(text, story.characters);
    let more = if left > 0 { "…" } else { "" };
    format!("<bdi class=\"text\">{}{more}</bdi>", foreign(kept))
}

fn trim_number(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
