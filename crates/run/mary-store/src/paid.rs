//! Answers that were paid for, in the run folder from the moment they arrive: `paid.jsonl`.
//!
//! An answer and what it cost are one line, written by one call before anything else is done with
//! the answer: after a kill, what the lines add up to is what was spent on answers, and every one
//! of them is recalled instead of asked again, with or without a cache. The first line holds what
//! was spent before the file was made. Once everything is in the log the file is deleted.

use std::collections::{HashMap, VecDeque};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use mary_contract::{Key, Reply};
use mary_platform::{open_plain, writable_place};
use serde::{Deserialize, Serialize};

use crate::fault::{Result, corrupt, io_at, open_if_there};
use crate::finite::reply_is_finite;

pub(crate) const PAID: &str = "paid.jsonl";
/// An answer has 64 MiB at most; written as JSON it can grow by its escapes.
const LARGEST_LINE: u64 = 1 << 30;

/// No answer costs more, and sums stay numbers.
const MOST_DOLLARS: f64 = 1e12;

/// A line without its answer.
#[derive(Deserialize)]
struct Head {
    /// None in the first line.
    key: Option<Key>,
    dollars: f64,
}

#[derive(Serialize)]
struct Written<'a> {
    key: &'a Key,
    dollars: f64,
    reply: &'a Reply,
}

#[derive(Deserialize)]
struct Kept {
    reply: Reply,
}

/// The answers that a run has paid for and that may not be in its log yet.
#[derive(Debug)]
pub struct PaidAnswers {
    path: PathBuf,
    /// Bytes of whole lines.
    len: u64,
    dollars: f64,
    /// Where lines of earlier processes are whose answers are not used yet. The same question may have
    /// been asked for several items.
    places: HashMap<Key, VecDeque<(u64, u64)>>,
    writing: Option<File>,
    reading: Option<File>,
}

impl PaidAnswers {
    /// Opens what a run folder holds, for the process that has its lock; a torn end is cut off.
    /// `before` are the dollars that the run had spent on answers when there is no such file.
    pub fn open(run: &Path, before: f64) -> Result<Self> {
        let path = run.join(PAID);
        let mut paid = Self {
            path: path.clone(),
            len: 0,
            dollars: before,
            places: HashMap::new(),
            writing: None,
            reading: None,
        };
        let Some(file) = open_if_there(&path)? else {
            return Ok(paid);
        };
        writable_place(&path).map_err(io_at(&path))?;
        let size = file.metadata().map_err(io_at(&path))?.len();
        paid.read(BufReader::new(file), size)?;
        if paid.len < size {
            paid.cut()?;
        }
        Ok(paid)
    }

    fn read(&mut self, mut lines: BufReader<File>, size: u64) -> Result<()> {
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            let mut bounded = (&mut lines).take(LARGEST_LINE);
            let read = bounded
                .read_until(b'\n', &mut line)
                .map_err(io_at(&self.path))? as u64;
            if read == 0 || !line.ends_with(b"\n") && self.len + read >= size {
                return Ok(());
            }
            let head = serde_json::from_slice::<Head>(&line).ok();
            let head = head.filter(|h| (0.0..=MOST_DOLLARS).contains(&h.dollars));
            match (head, number) {
                (Some(Head { key: None, dollars }), 1) => self.dollars = dollars,
                (
                    Some(Head {
                        key: Some(key),
                        dollars,
                    }),
                    2..,
                ) => {
                    self.dollars += dollars;
                    let places = self.places.entry(key).or_default();
                    places.push_back((self.len, read));
                }
                // A kill leaves the beginning of a line at the end of the file.
                (None, _) if self.len + read >= size => return Ok(()),
                _ => {
                    return Err(corrupt(
                        &self.path,
                        number,
                        "expected an answer with its key and what it cost",
                        "restore the file from a copy; if you delete it, what spent.json says counts",
                    ));
                }
            }
            self.len += read;
        }
        Ok(())
    }

    pub fn dollars(&self) -> f64 {
        self.dollars
    }

    /// Whether an answer may be here that is not used yet.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// An answer of this name stands in the log: it is not given to another item.
    pub fn used(&mut self, key: &Key) {
        let places = self.places.get_mut(key);
        if places.is_some_and(|p| p.pop_front().is_some() && p.is_empty()) {
            self.places.remove(key);
        }
    }

    /// The answer to a question that was paid for before the run was interrupted. Each is given once.
    pub fn recall(&mut self, key: &Key) -> Result<Option<Reply>> {
        let place = self.places.get(key).and_then(VecDeque::front).copied();
        let Some((start, length)) = place else {
            return Ok(None);
        };
        self.used(key);
        let at = io_at(&self.path);
        let file = match &mut self.reading {
            Some(file) => file,
            empty => empty.insert(open_plain(&self.path).map_err(&at)?),
        };
        file.seek(SeekFrom::Start(start)).map_err(&at)?;
        let mut line = Vec::new();
        file.take(length).read_to_end(&mut line).map_err(&at)?;
        // An answer in a form that is no longer read is asked again.
        let kept = serde_json::from_slice::<Kept>(&line).ok();
        Ok(kept.map(|k| k.reply))
    }

    /// Keeps an answer, and what it cost, in one step. It survives the process when this returns.
    pub fn keep(&mut self, key: &Key, reply: &Reply) -> Result<()> {
        if !reply_is_finite(reply) {
            return Ok(());
        }
        let dollars = reply.meta.usage.cost.unwrap_or(0.0).max(0.0);
        let mut line = Vec::new();
        let written = Written {
            key,
            dollars,
            reply,
        };
        if self.len == 0 {
            line.extend_from_slice(format!("{{\"dollars\":{}}}\n", self.dollars).as_bytes());
        }
        serde_json::to_writer(&mut line, &written).map_err(|e| {
            let message = format!("an answer cannot be written as JSON: {e}");
            corrupt(
                &self.path,
                0,
                message,
                "this is a fault in Mary; please report it",
            )
        })?;
        line.push(b'\n');
        let file = match &mut self.writing {
            Some(file) => file,
            empty => {
                writable_place(&self.path).map_err(io_at(&self.path))?;
                let file = OpenOptions::new()
                    .append(true)
                    .create(true)
                    .open(&self.path);
                empty.insert(file.map_err(io_at(&self.path))?)
            }
        };
        if let Err(error) = file.write_all(&line) {
            // Half a line would end the reading of those that follow.
            self.cut()?;
            return Err(io_at(&self.path)(error));
        }
        self.len += line.len() as u64;
        self.dollars += dollars;
        Ok(())
    }

    /// Leaves whole lines only.
    fn cut(&mut self) -> Result<()> {
        let file = OpenOptions::new().write(true).open(&self.path);
        file.and_then(|f| f.set_len(self.len))
            .map_err(io_at(&self.path))
    }

    /// Everything is in the log: the file is not needed any more.
    pub fn forget(&mut self) -> Result<()> {
        (self.writing, self.reading, self.len) = (None, None, 0);
        self.places.clear();
        match fs::remove_file(&self.path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(io_at(&self.path)(e)),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use mary_contract::{Generated, ReplyMeta, Response, Usage};

    use super::*;

    fn key(name: &str) -> Key {
        serde_json::from_value(name.into()).unwrap()
    }

    fn reply(text: &str, cost: f64) -> Reply {
        Reply {
            answer: Response::Generated(Generated::whole(text.to_owned())),
            meta: ReplyMeta {
                usage: Usage {
                    cost: Some(cost),
                    ..Usage::default()
                },
                ..ReplyMeta::default()
            },
        }
    }

    #[test]
    fn an_answer_and_its_price_are_kept_in_one_step_whatever_is_torn_off() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(PAID);
        let mut paid = PaidAnswers::open(folder.path(), 0.5).unwrap();
        assert_eq!((paid.dollars(), file.exists()), (0.5, false));
        paid.keep(&key("a"), &reply("one", 0.25)).unwrap();
        let one = fs::metadata(&file).unwrap().len();
        paid.keep(&key("b"), &reply("two", 0.125)).unwrap();
        let both = fs::read(&file).unwrap();
        // A kill may cut the file anywhere: a price is there exactly when its answer is.
        for length in 0..=both.len() {
            fs::write(&file, &both[..length]).unwrap();
            let mut paid = PaidAnswers::open(folder.path(), 0.5).unwrap();
            let known = [key("a"), key("b")].map(|k| paid.recall(&k).unwrap().is_some());
            let sum =
                0.5 + f64::from(u8::from(known[0])) * 0.25 + f64::from(u8::from(known[1])) * 0.125;
            assert_eq!(paid.dollars(), sum, "cut at {length}: {known:?}");
            assert_eq!(known[0], length as u64 >= one, "cut at {length}");
            assert_eq!(known[1], length == both.len(), "cut at {length}");
            // What is kept after the cut is found by the next.
            paid.keep(&key("c"), &reply("three", 1.0)).unwrap();
            let mut later = PaidAnswers::open(folder.path(), 99.0).unwrap();
            assert_eq!(later.dollars(), sum + 1.0);
            assert_eq!(later.recall(&key("c")).unwrap(), Some(reply("three", 1.0)));
        }
    }

    #[test]
    fn every_answer_is_given_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut paid = PaidAnswers::open(folder.path(), 0.0).unwrap();
        for text in ["one", "two", "three"] {
            paid.keep(&key("a"), &reply(text, 0.25)).unwrap();
        }
        assert_eq!(
            paid.recall(&key("a")).unwrap(),
            None,
            "asked by this process"
        );
        let mut later = PaidAnswers::open(folder.path(), 0.0).unwrap();
        // The first is in the log.
        later.used(&key("a"));
        later.used(&key("b"));
        for text in ["two", "three"] {
            assert!(!later.is_empty());
            let given = later.recall(&key("a")).unwrap();
            assert_eq!(given, Some(reply(text, 0.25)));
        }
        assert!(later.is_empty());
        assert_eq!(later.recall(&key("a")).unwrap(), None);
        assert_eq!(later.dollars(), 0.75);
    }

    #[test]
    fn what_is_forgotten_is_carried_on_and_damage_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let mut paid = PaidAnswers::open(folder.path(), 0.0).unwrap();
        paid.keep(&key("a"), &reply("one", 0.25)).unwrap();
        paid.forget().unwrap();
        assert!(!folder.path().join(PAID).exists());
        paid.keep(&key("b"), &reply("two", 0.5)).unwrap();
        let mut later = PaidAnswers::open(folder.path(), 0.0).unwrap();
        assert_eq!(later.dollars(), 0.75);
        assert_eq!(later.recall(&key("a")).unwrap(), None);
        assert_eq!(later.recall(&key("b")).unwrap(), Some(reply("two", 0.5)));
        for damage in [
            "{\"dollars\":1}\nnothing\n{\"key\":\"a\",\"dollars\":1,\"reply\":{}}\n",
            "{\"dollars\":-1}\n{\"key\":\"a\",\"dollars\":1,\"reply\":{}}\n",
            "{\"key\":\"a\",\"dollars\":1,\"reply\":{}}\n{\"dollars\":1}\n",
        ] {
            fs::write(folder.path().join(PAID), damage).unwrap();
            let error = PaidAnswers::open(folder.path(), 0.0).unwrap_err();
            assert!(error.to_string().contains(PAID), "{error}");
        }
    }
}
