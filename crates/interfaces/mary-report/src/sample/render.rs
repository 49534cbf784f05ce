//! What was asked, as HTML for reports and the viewer; what came back is `replies.rs`. Written piece by piece,
//! since an answer may be larger than anyone wants to hold twice.

use std::fmt::{self, Write};

use mary_contract::{
    Exchange, Image, Layers, Observe, Part, Pool, Prompt, PromptForm, Request, Sample, Score,
    Speaker, Target,
};
use serde_json::Value;

use super::{grid, letter};
use crate::escape::{clip, foreign, html, write_foreign};

/// More options or texts than this are folded.
const OPEN: usize = 12;

/// Gives the attribute that shows a picture (`src="…"`), so that a report can share pictures between
/// samples and a viewer can embed them.
pub(crate) type Pictures<'a> = &'a mut dyn FnMut(&Image) -> String;

pub(crate) type Out<'a> = &'a mut dyn Write;

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
    pub(super) fn text(self, out: Out, text: &str) -> fmt::Result {
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

pub(crate) fn question(out: Out, sample: &Sample, story: Story, pictures: Pictures) -> fmt::Result {
    let target = &sample.item.target;
    if let Target::Choice { question, .. } = target {
        let grids = grid::grids(question);
        if !grids.is_empty() {
            out.write_str("<h4>The question as grids</h4>")?;
            grid::draw(out, &grids)?;
        }
    }
    if let Some(triple) = Triple::from_sample(sample) {
        triple.write(out, story)?;
    }
    match sample.exchanges.as_slice() {
        [] => out.write_str("<p class=\"none\">Nothing was asked.</p>")?,
        many if texts_only(many) => texts(out, many, story)?,
        [first, ..] => asked(out, &first.ask.request, Some(target), story, pictures)?,
    }
    self::target(out, sample, story)
}

/// Whether only hidden states of several texts were asked for; those are told together.
pub(super) fn texts_only(exchanges: &[Exchange]) -> bool {
    let mut requests = exchanges.iter().map(|e| &e.ask.request);
    exchanges.len() > 1 && requests.all(|r| matches!(r, Request::Observe(_)))
}

/// An anchor, what should be near it and what should be far from it.
pub(super) struct Triple<'a> {
    pub texts: [&'a str; 3],
    /// Cosines of the second and the third with the first, as far as the verdict tells them.
    pub cosines: Option<[f64; 2]>,
}

impl<'a> Triple<'a> {
    /// The triple of a sample: three named words in its target, or three texts whose vectors were judged
    /// by a margin.
    pub fn from_sample(sample: &'a Sample) -> Option<Self> {
        let Target::Data(data) = &sample.item.target else {
            return None;
        };
        let notes = &sample.judgement.notes;
        let cosine = |name: &str| notes.get(name).and_then(Value::as_f64);
        let named = |name: &str| data.get(name).and_then(Value::as_str);
        if let (Some(word), Some(near), Some(far)) =
            (named("word"), named("synonym"), named("antonym"))
        {
            let cosines = cosine("cosine_synonym").zip(cosine("cosine_antonym"));
            return Some(Self {
                texts: [word, near, far],
                cosines: cosines.map(|(near, far)| [near, far]),
            });
        }
        let text = |exchange: &'a Exchange| match &exchange.ask.request {
            Request::Observe(o) => Some(o.text.as_str()),
            _ => None,
        };
        match sample.exchanges.as_slice() {
            [a, b, c] if data.is_null() && sample.judgement.measures.contains_key("margin") => {
                Some(Self {
                    texts: [text(a)?, text(b)?, text(c)?],
                    cosines: None,
                })
            }
            _ => None,
        }
    }

    fn write(&self, out: Out, story: Story) -> fmt::Result {
        out.write_str("<h4>Which is nearer?</h4><dl class=\"triple\">")?;
        for (text, (class, role)) in self.texts.iter().zip([
            ("", "to"),
            (" class=\"correct\"", "should be near"),
            ("", "should be far"),
        ]) {
            let text = Inline(text, story);
            write!(out, "<div{class}><dt>{role}</dt><dd>{text}</dd></div>")?;
        }
        out.write_str("</dl>")
    }
}

pub(super) fn asked(
    out: Out,
    request: &Request,
    target: Option<&Target>,
    story: Story,
    pictures: Pictures,
) -> fmt::Result {
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
            if target.is_some_and(|target| shows_all(s, target)) {
                return Ok(());
            }
            let right = target.and_then(|target| right_of(s.continuations.len(), target));
            options(out, &s.continuations, right, story)
        }
        Request::Observe(o) => {
            if let Some(image) = &o.picture {
                shown(out, image, pictures)?;
            }
            observed_text(out, o, story)
        }
    }
}

/// Whether the target's own list shows every continuation: by its letter, or word for word.
fn shows_all(score: &Score, target: &Target) -> bool {
    let said = score.continuations.iter().map(|c| c.trim());
    match target {
        Target::Choice { options, .. } => {
            options.len() == score.continuations.len()
                && said
                    .zip(options)
                    .enumerate()
                    .all(|(i, (said, option))| said == option.trim() || said == letter(i))
        }
        Target::Pair { good, bad } => said.eq([good.trim(), bad.trim()]),
        _ => false,
    }
}

pub(super) fn right_of(continuations: usize, target: &Target) -> Option<usize> {
    let (texts, right) = target.alternatives()?;
    (texts.len() == continuations).then_some(right)
}

/// Begins a list, folded where it is long; returns what ends it.
fn begin_list(out: Out, class: &str, length: usize) -> Result<&'static str, fmt::Error> {
    let folded = length > OPEN;
    if folded {
        write!(out, "<details><summary>{length} texts</summary>")?;
    }
    write!(out, "<ol class=\"{class}\">")?;
    Ok(if folded { "</ol></details>" } else { "</ol>" })
}

fn options(out: Out, texts: &[String], right: Option<usize>, story: Story) -> fmt::Result {
    let end = begin_list(out, "options", texts.len())?;
    for (index, text) in texts.iter().enumerate() {
        let class = match right == Some(index) {
            true => " class=\"correct\"",
            false => "",
        };
        let letter = letter(index);
        write!(out, "<li{class}><span class=\"letter\">{letter}</span>")?;
        // An option that is its own letter is not said twice.
        if text.trim() != letter {
            write!(out, " {}", Inline(text, story))?;
        }
        if right == Some(index) {
            out.write_str(" <span class=\"badge right\">the right one</span>")?;
        }
        out.write_str("</li>")?;
    }
    out.write_str(end)
}

fn layers(o: &Observe) -> String {
    match &o.layers {
        Layers::All => "all layers".to_owned(),
        Layers::Last => "the last layer".to_owned(),
        Layers::These(which) => {
            let which: Vec<String> = which.iter().map(ToString::to_string).collect();
            format!("layers {}", which.join(", "))
        }
    }
}

fn observed_text(out: Out, o: &Observe, story: Story) -> fmt::Result {
    write!(out, "<h4>Read, with hidden states of {}</h4>", layers(o))?;
    story.text(out, &o.text)?;
    write!(out, "<p class=\"small\">Pooled: {}</p>", pools(o, story))
}

fn pools(o: &Observe, story: Story) -> String {
    let said = o.pools.iter().map(|pool| match pool {
        Pool::Span { start, end } => match o.text.get(*start..*end) {
            Some(span) => format!("mean over <q><bdi>{}</bdi></q>", Inline(span, story)),
            None => format!("mean over bytes {start} to {end}"),
        },
        Pool::Mean => "mean of all tokens".into(),
        Pool::Last => "last token".into(),
        Pool::Token(at) => format!("token {}", at + 1),
        Pool::First => "first token".into(),
        Pool::Joint => "in the space of texts and pictures".into(),
    });
    said.collect::<Vec<String>>().join("; ")
}

fn texts(out: Out, exchanges: &[Exchange], story: Story) -> fmt::Result {
    let read: Vec<&Observe> = exchanges
        .iter()
        .filter_map(|e| match &e.ask.request {
            Request::Observe(o) => Some(o),
            _ => None,
        })
        .collect();
    let how = read.first().map(|o| layers(o)).unwrap_or_default();
    write!(
        out,
        "<h4>{} read, with hidden states of {how}</h4>",
        mary_platform::counted(read.len(), "text")
    )?;
    let end = begin_list(out, "texts", read.len())?;
    for o in read {
        let (text, pools) = (Inline(&o.text, story), pools(o, story));
        write!(out, "<li>{text} <span class=\"small\">{pools}</span></li>")?;
    }
    out.write_str(end)
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
                    out.write_str("<p class=\"none\">Nothing comes before.</p>")?;
                }
                Part::Text(text) => story.text(out, text)?,
                Part::Image(image) => shown(out, image, pictures)?,
            }
        }
    }
    Ok(())
}

fn shown(out: Out, image: &Image, pictures: Pictures) -> fmt::Result {
    write!(
        out,
        "<img class=\"shown\" {} alt=\"Picture shown to the model ({}, {} bytes)\">",
        pictures(image),
        html(&image.media_type),
        image.data.len()
    )
}

fn target(out: Out, sample: &Sample, story: Story) -> fmt::Result {
    match &sample.item.target {
        Target::Choice {
            options: texts,
            correct,
            ..
        } => {
            out.write_str("<h4>Options</h4>")?;
            options(out, texts, Some(*correct), story)
        }
        Target::Pair { good, bad } => {
            let (good, bad) = (Inline(good, story), Inline(bad, story));
            write!(
                out,
                "<h4>Should be more probable</h4><ol class=\"options\"><li class=\"correct\">{good} <span class=\"badge right\">this one</span></li><li>{bad}</li></ol>"
            )
        }
        Target::Text(text) => {
            out.write_str("<h4>Would be right</h4>")?;
            story.text(out, text)
        }
        // A triple was told already.
        Target::Data(_) if Triple::from_sample(sample).is_some() => Ok(()),
        Target::Data(Value::Null) => Ok(()),
        Target::Data(data) => {
            let text = serde_json::to_string_pretty(data).unwrap_or_default();
            let (kept, _) = clip(&text, story.characters.min(4000));
            write!(
                out,
                "<details><summary>What the answer is judged by</summary><pre class=\"said\">{}</pre></details>",
                foreign(kept)
            )
        }
    }
}

pub(super) struct Inline<'a>(pub &'a str, pub Story<'a>);

impl fmt::Display for Inline<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kept, left) = clip(self.0, self.1.characters);
        f.write_str("<bdi class=\"text\">")?;
        write_foreign(f, kept)?;
        f.write_str(if left > 0 { "…</bdi>" } else { "</bdi>" })
    }
}

pub(super) fn trim_number(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
