//! One line of the log: a JSON object with the keys `id`, `judgement`, `usage`, `item`, `exchanges`
//! and `sum` in this order. What a summary or a resuming run needs stands first, so that reading
//! stops before the prompts, answers and vectors. The checksum stands in the line itself: whatever
//! a kill leaves behind, a line and its checksum are there together or not at all.
//!
//! It lives beside [`Sample`], not where logs are kept: reading and writing lines is what a report waits for, and this
//! crate is optimised for it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserializer as _, Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::{Exchange, Item, Judgement, ModelRole, Sample, SampleId, Usage};

#[derive(Serialize)]
struct Written<'a> {
    id: &'a SampleId,
    judgement: &'a Judgement,
    /// The sum over the exchanges, so that a summary need not read them.
    usage: Usage,
    /// Names that replies give themselves, where they are not that of the model that was asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    answered_by: Vec<&'a str>,
    item: &'a Item,
    exchanges: &'a [Exchange],
}

/// Appends a sample as a line without a checksum, or nothing.
pub fn write(sample: &Sample, out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
    let start = out.len();
    let mut usage = Usage::default();
    let mut answered_by = Vec::new();
    for exchange in &sample.exchanges {
        let Ok(reply) = &exchange.reply else { continue };
        usage += reply.meta.usage;
        // A judge has a name of its own.
        let subject = exchange.ask.role == ModelRole::Subject;
        let name = reply.meta.model_version.as_deref().filter(|_| subject);
        answered_by.extend(name.filter(|name| is_another(&sample.id.model, name)));
    }
    answered_by.sort_unstable();
    answered_by.dedup();
    let line = Written {
        id: &sample.id,
        judgement: &sample.judgement,
        usage,
        answered_by,
        item: &sample.item,
        exchanges: &sample.exchanges,
    };
    match serde_json::to_writer(&mut *out, &line) {
        Ok(()) => {
            out.push(b'\n');
            Ok(())
        }
        Err(e) => {
            out.truncate(start);
            Err(e)
        }
    }
}

/// What stands before the checksum of a line, and its hexadecimal digits.
const SUM_KEY: &[u8] = b",\"sum\":\"";
const SUM_DIGITS: usize = 16;
const SUM_END: &[u8] = b"\"}\n";

/// The checksum of a line that has none yet, newline included. The run is part of it, so that a line of
/// another run, which may name the same items, is told apart.
fn checksum(run: &str, body: &[u8]) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(run.len() as u64).to_le_bytes());
    hasher.update(run.as_bytes());
    hasher.update(body);
    let mut hex = hasher.finalize().to_hex().to_string();
    hex.truncate(SUM_DIGITS);
    hex
}

/// As [`write()`], with the checksum of this run.
pub fn write_sealed(
    sample: &Sample,
    run: &str,
    out: &mut Vec<u8>,
) -> Result<(), serde_json::Error> {
    let start = out.len();
    write(sample, out)?;
    seal(run, start, out);
    Ok(())
}

/// Puts a checksum into the line that begins at `start` and ends with its newline.
pub fn seal(run: &str, start: usize, out: &mut Vec<u8>) {
    let sum = checksum(run, out.get(start..).unwrap_or_default());
    // The closing brace and the newline come again behind the checksum.
    out.truncate(out.len().saturating_sub(2));
    out.extend_from_slice(SUM_KEY);
    out.extend_from_slice(sum.as_bytes());
    out.extend_from_slice(SUM_END);
}

/// What the checksum of a line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seal {
    /// The line is what this run wrote.
    Sound,
    /// It was changed, or another run wrote it.
    Broken,
    /// It has none: an earlier version wrote it.
    Absent,
}

/// Checks a line that ends with its newline, and takes its checksum out where it holds.
pub fn unseal(run: &str, line: &mut Vec<u8>) -> Seal {
    let length = SUM_KEY.len() + SUM_DIGITS + SUM_END.len();
    let Some(start) = line.len().checked_sub(length) else {
        return Seal::Absent;
    };
    let tail = line.get(start..).unwrap_or_default();
    let rest = tail.strip_prefix(SUM_KEY);
    let digits = rest.and_then(|rest| rest.strip_suffix(SUM_END));
    let Some(digits) = digits.map(<[u8]>::to_vec) else {
        return Seal::Absent;
    };
    let sealed = line.split_off(start);
    line.extend_from_slice(b"}\n");
    if checksum(run, line).as_bytes() == digits {
        return Seal::Sound;
    }
    line.truncate(start);
    line.extend_from_slice(&sealed);
    Seal::Broken
}

/// Whether a reply names another model than the one that was asked. A date or a variant behind the
/// name (`gpt-4o-2024-08-06`), an owner in front of it and the case of letters make no other model.
fn is_another(asked: &str, named: &str) -> bool {
    let bare = |name: &str| {
        let last = name.rsplit('/').next().unwrap_or(name);
        last.to_lowercase()
    };
    let asked = bare(asked.split_once('@').map_or(asked, |(name, _)| name));
    let named = bare(named);
    !named.is_empty() && !named.starts_with(&asked) && !asked.starts_with(&named)
}

/// What a breakdown needs to know of an item.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ItemHead {
    /// As [`Item::stratum`].
    pub stratum: String,
    /// As [`Item::cluster`].
    pub cluster: Option<String>,
    /// As [`Item::tags`].
    pub tags: BTreeMap<String, String>,
}

/// A sample without prompts and answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// As [`Sample::id`].
    pub id: SampleId,
    /// As [`Sample::judgement`].
    pub judgement: Judgement,
    /// The sum over the exchanges.
    pub usage: Usage,
    /// Names that replies gave themselves, where they were not that of the model that was asked.
    pub answered_by: Vec<String>,
    /// What scores need to know of the item.
    pub item: ItemHead,
    /// Where its line begins, for `RunFolder::sample_at`.
    pub offset: u64,
}

/// A [`SampleId`] that lies in its line.
#[derive(Deserialize)]
pub struct BorrowedId<'a> {
    #[serde(borrow)]
    model: Cow<'a, str>,
    #[serde(borrow)]
    task: Cow<'a, str>,
    #[serde(borrow)]
    item: Cow<'a, str>,
    trial: u32,
}

impl BorrowedId<'_> {
    /// As [`digest`] of its parts.
    pub fn digest(&self) -> u128 {
        digest(&self.model, &self.task, &self.item, self.trial)
    }

    /// As [`describe`] of its parts.
    pub fn describe(&self) -> String {
        describe(&self.model, &self.task, &self.item, self.trial)
    }

    /// As [`BorrowedId::digest`], whatever the trial.
    pub fn item_digest(&self) -> u128 {
        digest(&self.model, &self.task, &self.item, 0)
    }

    /// As [`SampleId::trial`].
    pub fn trial(&self) -> u32 {
        self.trial
    }

    /// As [`SampleId::model`].
    pub fn model(&self) -> &str {
        &self.model
    }

    /// As [`SampleId::task`].
    pub fn task(&self) -> &str {
        &self.task
    }

    /// Bytes whose order is that of the ids.
    pub fn key(&self) -> Vec<u8> {
        let mut key = Vec::with_capacity(self.model.len() + self.task.len() + self.item.len() + 7);
        for part in [&self.model, &self.task, &self.item] {
            key.extend_from_slice(part.as_bytes());
            key.push(0);
        }
        key.extend_from_slice(&self.trial.to_be_bytes());
        key
    }
}

/// A sample's id for people.
pub fn describe(model: &str, task: &str, item: &str, trial: u32) -> String {
    format!("{model} | {task} | {item} | trial {trial}")
}

/// Sixteen bytes that stand for an id: a million of them take little room.
pub fn digest(model: &str, task: &str, item: &str, trial: u32) -> u128 {
    let mut hasher = blake3::Hasher::new();
    for part in [model, task, item] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.update(&trial.to_le_bytes());
    let mut short = [0u8; 16];
    short.copy_from_slice(hasher.finalize().as_bytes().split_at(16).0);
    u128::from_le_bytes(short)
}

/// Whether an outcome is a failure, and nothing else about it.
#[derive(Deserialize)]
struct OutcomeOnly {
    outcome: OutcomeKind,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum OutcomeKind {
    Scored(IgnoredAny),
    Unscored(IgnoredAny),
    Failed(IgnoredAny),
}

/// Reads a whole line.
pub fn read(line: &[u8]) -> Result<Sample, serde_json::Error> {
    serde_json::from_slice(line)
}

/// Reads id and outcome of a line, nothing beyond.
pub fn read_id(line: &[u8]) -> Result<(BorrowedId<'_>, bool), serde_json::Error> {
    let mut head = Head::<BorrowedId<'_>, OutcomeOnly, IgnoredAny>::wanting(false);
    head.read(line)?;
    match (head.id, head.judgement) {
        (Some(id), Some(j)) => Ok((id, matches!(j.outcome, OutcomeKind::Failed(_)))),
        (None, _) => Err(serde_json::Error::missing_field("id")),
        (_, None) => Err(serde_json::Error::missing_field("judgement")),
    }
}

/// Reads everything of a line but target, prompts and answers.
pub fn read_verdict(line: &[u8], offset: u64) -> Result<Verdict, serde_json::Error> {
    let mut head = Head::<SampleId, Judgement, ItemHead>::wanting(true);
    head.read(line)?;
    match (head.id, head.judgement, head.item) {
        (Some(id), Some(judgement), Some(item)) => Ok(Verdict {
            id,
            judgement,
            usage: head.usage.unwrap_or_default(),
            answered_by: head.answered_by,
            item,
            offset,
        }),
        (None, ..) => Err(serde_json::Error::missing_field("id")),
        (_, None, _) => Err(serde_json::Error::missing_field("judgement")),
        (_, _, None) => Err(serde_json::Error::missing_field("item")),
    }
}

struct Head<I, J, M> {
    id: Option<I>,
    judgement: Option<J>,
    usage: Option<Usage>,
    answered_by: Vec<String>,
    item: Option<M>,
    want_item: bool,
}

impl<'de, I: Deserialize<'de>, J: Deserialize<'de>, M: Deserialize<'de>> Head<I, J, M> {
    fn wanting(want_item: bool) -> Self {
        Self {
            id: None,
            judgement: None,
            usage: None,
            answered_by: Vec::new(),
            item: None,
            want_item,
        }
    }

    fn is_full(&self) -> bool {
        self.id.is_some() && self.judgement.is_some() && (self.item.is_some() || !self.want_item)
    }

    fn read(&mut self, line: &'de [u8]) -> Result<(), serde_json::Error> {
        // Every whole line ends its object; a line cut short anywhere does not.
        if !line.trim_ascii_end().ends_with(b"}") {
            return Err(serde_json::Error::custom("the line ends in the middle"));
        }
        let mut from = serde_json::Deserializer::from_slice(line);
        let visitor = HeadVisitor {
            head: self,
            line: PhantomData,
        };
        match from.deserialize_map(visitor) {
            Ok(()) => Ok(()),
            // The visitor leaves with an error once it has what it wants: the way out of a map
            // that serde otherwise insists on reading to its end.
            Err(_) if self.is_full() => Ok(()),
            Err(e) => Err(e),
        }
    }
}

struct HeadVisitor<'h, 'de, I, J, M> {
    head: &'h mut Head<I, J, M>,
    line: PhantomData<&'de ()>,
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Field {
    Id,
    Judgement,
    Usage,
    AnsweredBy,
    Item,
    #[serde(other)]
    Other,
}

impl<'de, I: Deserialize<'de>, J: Deserialize<'de>, M: Deserialize<'de>> Visitor<'de>
    for HeadVisitor<'_, 'de, I, J, M>
{
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sample")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(field) = map.next_key::<Field>()? {
            match field {
                Field::Id => self.head.id = Some(map.next_value()?),
                Field::Judgement => self.head.judgement = Some(map.next_value()?),
                Field::Usage => self.head.usage = Some(map.next_value()?),
                Field::AnsweredBy => self.head.answered_by = map.next_value()?,
                Field::Item => self.head.item = Some(map.next_value()?),
                Field::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
            if self.head.is_full() {
                return Err(A::Error::custom("enough"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::is_another;

    #[test]
    fn a_date_is_no_other_model_and_another_name_is() {
        for (asked, named, another) in [
            ("openai/gpt-4o", "gpt-4o-2024-08-06", false),
            ("openrouter/openai/gpt-4o", "openai/GPT-4o", false),
            ("openai/gpt-4o@2024-08-06", "gpt-4o-2024-08-06", false),
            ("compatible/m", "", false),
            ("openai/gpt-4o", "gpt-3.5-turbo", true),
            ("anthropic/claude-opus-4", "claude-haiku-3", true),
        ] {
            assert_eq!(is_another(asked, named), another, "{asked} {named}");
        }
    }
}
