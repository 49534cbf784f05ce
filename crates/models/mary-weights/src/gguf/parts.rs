//! Models in several files: `NAME-00001-of-00003.gguf` and its fellows. Any of them may be named.

use std::path::{Path, PathBuf};

use crate::fault;
use crate::fault::Result;
use crate::mapped::Mapped;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part<'a> {
    stem: &'a str,
    pub number: usize,
    pub count: usize,
}

impl<'a> Part<'a> {
    pub(crate) fn read(name: &'a str) -> Option<Self> {
        let rest = name.strip_suffix(".gguf")?;
        let (rest, count) = rest.rsplit_once("-of-")?;
        let (stem, number) = rest.rsplit_once('-')?;
        let digits = |text: &str| text.len() == 5 && text.bytes().all(|b| b.is_ascii_digit());
        if !digits(number) || !digits(count) {
            return None;
        }
        let (number, count) = (number.parse().ok()?, count.parse().ok()?);
        (1..=count).contains(&number).then_some(Self {
            stem,
            number,
            count,
        })
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = String> + '_ {
        (1..=self.count).map(|n| format!("{}-{n:05}-of-{:05}.gguf", self.stem, self.count))
    }
}

/// The file, or all parts of the model that it is a part of.
pub(crate) fn open(path: &Path) -> Result<Vec<Mapped>> {
    let name = path.file_name().and_then(|n| n.to_str());
    let name = name.unwrap_or_default();
    let Some(part) = Part::read(name) else {
        return Ok(vec![Mapped::open(path)?]);
    };
    let all: Vec<PathBuf> = part.names().map(|name| path.with_file_name(name)).collect();
    if let Some(missing) = all.iter().find(|p| !p.exists()) {
        return Err(fault::missing(
            missing,
            format!("is not there, and {name} is one part of {}", part.count),
        )
        .hint("all parts must lie in one folder under their own names"));
    }
    all.iter().map(|path| Mapped::open(path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_know_their_fellows() {
        let part = Part::read("big-Q4_K_M-00002-of-00003.gguf").unwrap();
        assert_eq!((part.number, part.count), (2, 3));
        let names: Vec<String> = part.names().collect();
        assert_eq!(names[0], "big-Q4_K_M-00001-of-00003.gguf");
        assert_eq!(names[2], "big-Q4_K_M-00003-of-00003.gguf");
        for other in [
            "big.gguf",
            "big-00004-of-00003.gguf",
            "big-00000-of-00003.gguf",
            "big-1-of-3.gguf",
            "big-00001-of-00003.bin",
        ] {
            assert_eq!(Part::read(other), None, "{other}");
        }
    }
}
