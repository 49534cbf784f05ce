//! A report that is there already is not made again. What it was made from stands in a comment behind its
//! last line, so that the page alone tells.

use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::time::UNIX_EPOCH;

use mary_platform::{append_plain, open_plain};

const LONGEST: u64 = 128;

/// Names what a report is made from: program, log, manifest, summary, and chapters of its own.
pub struct MadeFrom(String);

impl MadeFrom {
    /// Of a run's folder; `None` where something cannot be read, so that the report is made.
    pub fn from_run(run: &Path, chapter: &str) -> Option<Self> {
        let mut hasher = blake3::Hasher::new();
        let mut add = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        add(env!("CARGO_PKG_VERSION").as_bytes());
        add(&changed(&std::env::current_exe().ok()?)?);
        add(chapter.as_bytes());
        // A log is only appended to, or replaced whole: no byte of it need be read.
        add(&changed(&run.join("samples.jsonl"))?);
        for name in ["manifest.json", "summary.json"] {
            add(&mary_platform::read_plain(&run.join(name), 1 << 30).ok()?);
        }
        let digest = hasher.finalize().to_hex();
        Some(Self(format!("<!-- made from {} -->\n", digest.as_str())))
    }

    /// Whether the report at this place was made from it.
    pub fn is_at(&self, report: &Path) -> bool {
        end(report).is_some_and(|end| end.ends_with(&self.0))
    }

    /// Notes in a report that it was made from it. Where that fails, it is made again next time.
    pub fn note_in(&self, report: &Path) {
        let noted = append_plain(report).and_then(|mut file| file.write_all(self.0.as_bytes()));
        drop(noted);
    }
}

fn end(report: &Path) -> Option<String> {
    let mut file = open_plain(report).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LONGEST)))
        .ok()?;
    let mut bytes = Vec::new();
    file.take(LONGEST).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Length and time of the last change of a file.
fn changed(path: &Path) -> Option<Vec<u8>> {
    let found = std::fs::metadata(path).ok()?;
    let at = found.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!("{} {}", found.len(), at.as_nanos()).into_bytes())
}
