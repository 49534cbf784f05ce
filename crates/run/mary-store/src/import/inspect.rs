//! Inspect's logs, as JSON and as `.eval` archives.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::io::BufReader;
use std::io::ErrorKind::InvalidData;
use std::path::Path;

use mary_contract::{
    ErrorKind, Exchange, Finish, Item, Judgement, Part, Prompt, PromptForm, Sample, SampleId,
    Speaker, StoreError, Target, Turn, UnscoredReason,
};
use mary_platform::open_plain;
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::bounded::{Bounded, LARGEST_RECORD, Lenient};
use super::lenient::{id, number, shown, whole};
use super::{Foreign, ImportOptions, Room, generated, model_name};
use crate::fault::{Result, corrupt, io_at};

const HINT: &str = "write the log again with `inspect log dump` or `inspect log convert`";

/// No honest archive unpacks to more than this many times its own size, beside what is small anyway.
const RATIO: u64 = 100;
const SMALL: u64 = 16 << 20;
const MOST_SCORERS: usize = 10_000;

/// No archive unpacks to more.
const LARGEST: u64 = 4 << 30;

/// What takes one sample after the other, with about how much memory each takes.
type Take<'a> = dyn FnMut(Value, u64) -> Result<()> + 'a;

/// A log whose samples can be gone through as often as needed, one at a time.
trait Log {
    /// All but the samples, which are handed on.
    fn read(&mut self, take: &mut Take) -> Result<Value>;
}

pub(super) fn read_json(path: &Path, options: &ImportOptions) -> Result<Foreign> {
    build(path, options, &mut Json(path))
}

struct Json<'a>(&'a Path);

impl Log for Json<'_> {
    fn read(&mut self, take: &mut Take) -> Result<Value> {
        let path = self.0;
        let file = open_plain(path).map_err(io_at(path))?;
        let lenient = Lenient::new(BufReader::with_capacity(1 << 16, file), u64::MAX);
        let mut from = serde_json::Deserializer::from_reader(BufReader::new(lenient));
        let mut stopped = None;
        let whole = Whole {
            take,
            stopped: &mut stopped,
        };
        let read = from.deserialize_map(whole);
        let read = read.and_then(|log| from.end().map(|()| log));
        read.map_err(|e| {
            let ours = e.io_error_kind().is_none_or(|k| k == InvalidData);
            match stopped {
                Some(error) => error,
                None if ours => corrupt(path, e.line(), format!("expected JSON, found: {e}"), HINT),
                None => io_at(path)(e.into()),
            }
        })
    }
}

struct Whole<'a, 'b> {
    take: &'a mut Take<'b>,
    stopped: &'a mut Option<StoreError>,
}

impl<'de> Visitor<'de> for Whole<'_, '_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an Inspect log with a field `eval`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let left = Cell::new(LARGEST_RECORD);
        let mut log = Map::new();
        while let Some(key) = from.next_key::<String>()? {
            if key == "samples" {
                from.next_value_seed(Samples {
                    take: &mut *self.take,
                    stopped: &mut *self.stopped,
                })?;
            } else {
                log.insert(key, from.next_value_seed(Bounded(&left))?);
            }
        }
        Ok(Value::Object(log))
    }
}

/// Its samples: a list, or nothing.
struct Samples<'a, 'b> {
    take: &'a mut Take<'b>,
    stopped: &'a mut Option<StoreError>,
}

impl<'de> DeserializeSeed<'de> for Samples<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Samples<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a list in the field `samples`")
    }

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<(), A::Error> {
        loop {
            let left = Cell::new(LARGEST_RECORD);
            let Some(sample) = from.next_element_seed(Bounded(&left))? else {
                return Ok(());
            };
            if let Err(error) = (self.take)(sample, LARGEST_RECORD - left.get()) {
                *self.stopped = Some(error);
                return Err(de::Error::custom("stopped"));
            }
        }
    }
}

pub(super) fn read_archive(path: &Path, options: &ImportOptions) -> Result<Foreign> {
    let file = open_plain(path).map_err(io_at(path))?;
    let size = file.metadata().map_err(io_at(path))?.len();
    let zip = zip::ZipArchive::new(BufReader::new(file)).map_err(broken(path))?;
    // By ratio too: an archive that unpacks to a thousand times its size is a trap.
    let most = LARGEST.min(size.saturating_mul(RATIO).saturating_add(SMALL));
    build(path, options, &mut Archive { path, zip, most })
}

fn broken(path: &Path) -> impl Fn(zip::result::ZipError) -> StoreError {
    move |e| {
        corrupt(
            path,
            0,
            format!("the archive is damaged or incomplete: {e}"),
            "copy or download the file again; a log whose run was killed is mended by `inspect log recover`",
        )
    }
}

struct Archive<'a> {
    path: &'a Path,
    zip: zip::ZipArchive<BufReader<File>>,
    /// Bytes that all members together may unpack to.
    most: u64,
}

impl Archive<'_> {
    fn member(&mut self, name: &str, left: &mut u64) -> Result<(Value, u64)> {
        let bad =
            |message: String| corrupt(self.path, 0, format!("member `{name}`: {message}"), HINT);
        let entry = self.zip.by_name(name).map_err(|e| bad(e.to_string()))?;
        let most = self.most;
        if entry.size() > *left {
            return Err(bad(format!("unpacks to more than {most} bytes")));
        }
        let mut lenient = Lenient::new(BufReader::with_capacity(1 << 16, entry), *left);
        let mut from = serde_json::Deserializer::from_reader(BufReader::new(&mut lenient));
        let read = whole(&mut from).map_err(|e| match e.is_io() {
            // Damaged content shows while it is unpacked; the member is what helps here.
            true => bad(e.to_string()),
            false => bad(format!("expected JSON, found: {e}")),
        });
        drop(from);
        *left = lenient.left;
        read
    }
}

impl Log for Archive<'_> {
    fn read(&mut self, take: &mut Take) -> Result<Value> {
        let header = match self.zip.index_for_name("header.json") {
            Some(_) => "header.json",
            // A run that was killed has only its beginning.
            None => "_journal/start.json",
        };
        let names = self.zip.file_names();
        let mut names = names
            .map(|name| name.map(std::borrow::Cow::into_owned))
            .collect::<Result<Vec<String>, _>>()
            .map_err(broken(self.path))?;
        names.retain(|n| n.starts_with("samples/") && n.ends_with(".json"));
        names.sort_unstable();
        let mut left = self.most;
        let (log, _) = self.member(header, &mut left)?;
        for name in names {
            let (sample, size) = self.member(&name, &mut left)?;
            take(sample, size)?;
        }
        Ok(log)
    }
}

fn wrong(path: &Path, message: impl Into<String>) -> StoreError {
    corrupt(path, 0, message, HINT)
}

fn build(path: &Path, options: &ImportOptions, from: &mut dyn Log) -> Result<Foreign> {
    // Which scorers the samples have must be known before the first of them is judged.
    let mut scorers = BTreeSet::new();
    let log = &from.read(&mut |sample, _| {
        let scores = sample.get("scores").and_then(Value::as_object);
        let names = scores.into_iter().flat_map(Map::keys);
        let new = names.filter(|name| !scorers.contains(*name));
        let new: Vec<String> = new.take(MOST_SCORERS - scorers.len()).cloned().collect();
        scorers.extend(new);
        Ok(())
    })?;
    let eval = log.get("eval").filter(|e| e.is_object());
    let none = "expected an Inspect log with a field `eval`, found none";
    let eval = eval.ok_or_else(|| wrong(path, none))?;
    let named = |field: &str, given: &Option<String>| -> Result<String> {
        let found = word(eval, field).map(str::to_owned);
        given.clone().or(found).ok_or_else(|| {
            let found = shown(eval.get(field));
            wrong(
                path,
                format!("field `eval.{field}`: expected text, found {found}"),
            )
        })
    };
    let model = model_name(&named("model", &options.model)?);
    let task = named("task", &options.task)?;
    let version = eval.get("task_version").and_then(Value::as_u64);
    let mut foreign = Foreign {
        tool: "Inspect",
        task_version: u32::try_from(version.unwrap_or(0)).unwrap_or(0),
        created: word(eval, "created").unwrap_or_default().to_owned(),
        trials: 1,
        samples: Vec::new(),
        remarks: Vec::new(),
        model,
        task,
    };
    let named = options.score.clone();
    let mut scorer = named.or_else(|| first_scorer(log, &scorers));
    let (mut room, mut n) = (Room::for_file(path), 0);
    from.read(&mut |value, size| {
        n += 1;
        room.take(size)?;
        let sample = sample_of(path, n, &value, &foreign, &mut scorer)?;
        foreign.trials = foreign.trials.max(sample.id.trial.saturating_add(1));
        foreign.samples.push((n, sample));
        Ok(())
    })?;
    if let (Some(scorer), None) = (scorer, &options.score) {
        let remark = format!("the score is `{scorer}`, the first scorer of the log");
        foreign.remarks.push(remark);
    }
    Ok(foreign)
}

/// The scorer that the log's own results name first, where the samples have it.
fn first_scorer(log: &Value, scorers: &BTreeSet<String>) -> Option<String> {
    let results = log.get("results")?.get("scores")?.as_array()?;
    let mut names = results.iter().filter_map(|s| s.get("name")?.as_str());
    names.find(|n| scorers.contains(*n)).map(str::to_owned)
}

fn sample_of(
    path: &Path,
    n: usize,
    value: &Value,
    log: &Foreign,
    scorer: &mut Option<String>,
) -> Result<Sample> {
    let bad = |field: &str, expected: &str, found: Option<&Value>| {
        let found = shown(found);
        let message = format!("sample {n}: field `{field}`: expected {expected}, found {found}");
        wrong(path, message)
    };
    let item = value
        .get("id")
        .and_then(id)
        .ok_or_else(|| bad("id", "a number or text", value.get("id")))?;
    let epoch = match value.get("epoch") {
        None => 1,
        Some(epoch) => epoch
            .as_u64()
            .and_then(|e| u32::try_from(e).ok())
            .filter(|e| *e > 0)
            .ok_or_else(|| bad("epoch", "a number from 1", Some(epoch)))?,
    };
    let judgement = judge(value, scorer).map_err(|(field, found)| {
        bad(&field, "a number, a truth value or C/I/P/N", Some(&found))
    })?;
    Ok(Sample {
        id: SampleId::new(&log.model, &log.task, item.clone(), epoch - 1),
        item: Item::new(item, target(value), vec![]),
        exchanges: asked(value).into_iter().collect(),
        judgement,
    })
}

/// The verdict; a score that is no number is given back with its place.
fn judge(sample: &Value, scorer: &mut Option<String>) -> Result<Judgement, (String, Value)> {
    if let Some(error) = sample.get("error").filter(|e| !e.is_null()) {
        let message = word(error, "message").unwrap_or_default();
        return Ok(Judgement::failed(ErrorKind::Internal, message));
    }
    let Some(scores) = sample.get("scores").and_then(Value::as_object) else {
        return Ok(Judgement::unscored(UnscoredReason::Unparsed));
    };
    if scorer.is_none() {
        *scorer = scores.keys().next().cloned();
    }
    let chosen = scorer.as_deref().unwrap_or_default();
    let score = scores.get(chosen);
    let value = score.and_then(|s| s.get("value")).unwrap_or(&Value::Null);
    let mut measures = Vec::new();
    let mut judgement = match value {
        // NaN came as null: Inspect's way of saying "not scored".
        Value::Null => Judgement::unscored(UnscoredReason::Unparsed),
        Value::Object(parts) => {
            let numbers = parts.iter();
            measures.extend(numbers.filter_map(|(k, v)| Some((k.clone(), number(v)?))));
            let all: Vec<f64> = measures.iter().map(|(_, v)| *v).collect();
            if all.is_empty() {
                return Err((format!("scores.{chosen}.value"), value.clone()));
            }
            Judgement::scored(all.iter().sum::<f64>() / all.len() as f64)
        }
        other => match number(other) {
            Some(score) => Judgement::scored(score),
            None => return Err((format!("scores.{chosen}.value"), other.clone())),
        },
    };
    for (name, other) in scores.iter().filter(|(name, _)| name.as_str() != chosen) {
        if let Some(value) = other.get("value").and_then(number) {
            measures.push((name.clone(), value));
        }
    }
    judgement.measures.extend(measures);
    let answer = score.and_then(|s| word(s, "answer"));
    judgement.parsed = answer.map(str::to_owned);
    Ok(judgement)
}

fn target(sample: &Value) -> Target {
    let target = match sample.get("target") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(list)) => match list.as_slice() {
            [Value::String(one)] => one.clone(),
            _ => return Target::Data(Value::Array(list.clone())),
        },
        Some(other) => return Target::Data(other.clone()),
        None => String::new(),
    };
    let options = sample.get("choices").and_then(Value::as_array);
    let options = options.into_iter().flatten().filter_map(Value::as_str);
    let options: Vec<String> = options.map(str::to_owned).collect();
    // `A` is the first of the choices.
    let correct = match target.as_bytes() {
        [letter @ b'A'..=b'Z'] => usize::from(letter - b'A'),
        _ => options.len(),
    };
    if correct < options.len() {
        return Target::one_of(text_of(sample.get("input")), options, correct);
    }
    Target::Text(target)
}

fn asked(sample: &Value) -> Option<Exchange> {
    let prompt = match sample.get("input") {
        Some(Value::Array(messages)) => Prompt {
            form: PromptForm::Chat,
            system: messages
                .iter()
                .find(|m| word(m, "role") == Some("system"))
                .map(|m| text_of(m.get("content"))),
            turns: messages.iter().filter_map(turn).collect(),
        },
        input => Prompt::chat(text_of(input)),
    };
    let output = sample.get("output")?;
    let choice = output.get("choices").and_then(|c| c.get(0));
    let text = match word(output, "completion") {
        Some(text) if !text.is_empty() => text.to_owned(),
        _ => text_of(choice.and_then(|c| c.get("message")?.get("content"))),
    };
    let finish = match choice.and_then(|c| word(c, "stop_reason")) {
        Some("stop") | None => Finish::Stop,
        Some("max_tokens" | "model_length") => Finish::Length,
        Some("content_filter") => Finish::ContentFilter,
        Some(other) => Finish::Other(other.to_owned()),
    };
    generated(prompt, text, finish)
}

fn turn(message: &Value) -> Option<Turn> {
    let speaker = match word(message, "role")? {
        "user" => Speaker::User,
        "assistant" => Speaker::Assistant,
        _ => return None,
    };
    Some(Turn {
        speaker,
        parts: vec![Part::Text(text_of(message.get("content")))],
    })
}

fn word<'v>(value: &'v Value, field: &str) -> Option<&'v str> {
    value.get(field)?.as_str()
}

/// Words of a content that may be text or a list of parts.
fn text_of(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts
            .iter()
            .filter_map(|part| {
                let text = part.get("text").or_else(|| part.get("content"))?;
                Some(text_of(Some(text)))
            })
            .collect::<Vec<_>>()
            .join("\n"),
        _ => String::new(),
    }
}
