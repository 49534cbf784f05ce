//! SensoryVec's triples and the cosines of sixteen models that the same file holds. Its quirks: a byte
//! order mark, line breaks inside the header, words with a blank at their end, two sentences that mark
//! the place with underscores, and one without a blank before it ("looks{}"), which is kept.

use std::borrow::Cow;
use std::path::Path;

use mary_contract::{DataSource, TaskError};

use super::{damaged, file, read};
use crate::{Sense, Triple};

const FILE: &str = "SensoryVec/SensoryVec_Dataset_with_Predictions.csv";
/// Columns before the models' ones.
const OWN_COLUMNS: usize = 8;

#[derive(Debug, Clone, PartialEq)]
pub struct StoredCosines {
    pub model: String,
    /// With synonym and with antonym; nothing where a word is outside the vocabulary.
    pub cosines: Vec<Option<(f64, f64)>>,
}

pub fn triples(data: &dyn DataSource) -> Result<Vec<Triple>, TaskError> {
    triples_of(&file(data, FILE)?)
}

pub fn triples_of(path: &Path) -> Result<Vec<Triple>, TaskError> {
    let (_, rows) = table(path)?;
    let numbered = rows.iter().enumerate();
    let triples = numbered.map(|(at, row)| triple(row).map_err(|why| record(path, at, why)));
    triples.collect()
}

/// The cosines that the authors stored, from the dataset or from a copy of its file.
pub fn stored_cosines(path: &Path) -> Result<Vec<StoredCosines>, TaskError> {
    let (head, rows) = table(path)?;
    let models = head.get(OWN_COLUMNS..).unwrap_or_default().chunks_exact(3);
    let mut all = Vec::new();
    for (place, columns) in models.enumerate() {
        let Some(model) = columns.first().and_then(|c| c.split_whitespace().next()) else {
            return Err(damaged(path, "expected a model's name in the header"));
        };
        let first = OWN_COLUMNS + 3 * place;
        let cosines = rows
            .iter()
            .enumerate()
            .map(|(row_place, row)| {
                let cell = |i: usize| row.get(i).map_or("", |c| c.trim());
                if cell(first).is_empty() || cell(first + 1).is_empty() {
                    return Ok(None);
                }
                let number = |i: usize| {
                    let value = cell(i).parse::<f64>().ok().filter(|v| v.is_finite());
                    value.ok_or_else(|| {
                        let found = cell(i);
                        let why = format!("expected a cosine of {model}, found `{found}`");
                        record(path, row_place, why)
                    })
                };
                Ok(Some((number(first)?, number(first + 1)?)))
            })
            .collect::<Result<_, TaskError>>()?;
        all.push(StoredCosines {
            model: model.to_owned(),
            cosines,
        });
    }
    Ok(all)
}

fn record(path: &Path, place: usize, message: String) -> TaskError {
    TaskError::Record {
        file: path.display().to_string(),
        // The header is the first record; its line breaks make lines of the file useless here.
        line: place + 2,
        message,
    }
}

type Rows = Vec<Vec<String>>;

fn table(path: &Path) -> Result<(Vec<String>, Rows), TaskError> {
    let bytes = read(path)?;
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let mut form = csv::ReaderBuilder::new();
    let mut reader = form.has_headers(false).from_reader(text);
    let mut rows = Rows::new();
    for row in reader.records() {
        let row = row.map_err(|e| damaged(path, format!("expected CSV, found: {e}")))?;
        rows.push(row.iter().map(str::to_owned).collect());
    }
    if rows.is_empty() {
        return Err(damaged(path, "expected a header and rows, found nothing"));
    }
    let head = rows.remove(0);
    match head.first().map(String::as_str) {
        Some("category") => Ok((head, rows)),
        other => Err(damaged(
            path,
            format!("expected a header that begins with `category`, found {other:?}"),
        )),
    }
}

fn triple(row: &[String]) -> Result<Triple, String> {
    let [
        category,
        _,
        word,
        synonym,
        antonym,
        first,
        second,
        third,
        ..,
    ] = row
    else {
        return Err(format!("expected at least 8 cells, found {}", row.len()));
    };
    let sense = Sense::named(category)
        .ok_or_else(|| format!("expected one of six senses, found `{category}`"))?;
    let owned = |text: &String| Cow::Owned(text.trim().to_owned());
    Ok(Triple {
        sense,
        word: owned(word),
        synonym: owned(synonym),
        antonym: owned(antonym),
        sentences: [sentence(first)?, sentence(second)?, sentence(third)?],
    })
}

/// A sentence with `{}` where the word stands, whatever the file marked the place with.
fn sentence(text: &str) -> Result<Cow<'static, str>, String> {
    let text = text.trim();
    let marked = if text.contains("{}") {
        text.to_owned()
    } else {
        let start = text.find("___");
        let start = start.ok_or_else(|| format!("expected {{}} or ___ in `{text}`"))?;
        let (before, rest) = text.split_at(start);
        format!("{before}{{}}{}", rest.trim_start_matches('_'))
    };
    match marked.matches("{}").count() {
        1 => Ok(Cow::Owned(marked)),
        n => Err(format!(
            "expected one place for the word, found {n} in `{text}`"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In the form of the released file, in our words.
    const FORM: &str = "\u{feff}category,source,word,synonym,antonym,sentence1,sentence2,sentence3,\
        \"m1\nSim_syn\",\"m1\nSim_ant\",\"Sim_syn\n＞\nSim_ant\",\"m2\nSim_syn\n\",\"m2\nSim_ant\n\",x\n\
        Haptic,s,gritty ,sandy,smooth,It was {}.,The ____ floor.,A {} one.,0.5,0.25,TRUE,,0.1,\n";

    fn written() -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), FORM).unwrap();
        file
    }

    #[test]
    fn the_quirks_of_the_file_are_read() {
        let file = written();
        let (_, rows) = table(file.path()).unwrap();
        let triple = triple(&rows[0]).unwrap();
        assert_eq!((triple.sense, &*triple.word), (Sense::Tactile, "gritty"));
        assert_eq!(triple.sentences[1], "The {} floor.");
    }

    #[test]
    fn an_empty_cell_is_a_word_outside_the_vocabulary() {
        let file = written();
        let stored = stored_cosines(file.path()).unwrap();
        assert_eq!(stored.len(), 2);
        assert_eq!(stored[0].model, "m1");
        assert_eq!(stored[0].cosines, [Some((0.5, 0.25))]);
        assert_eq!(stored[1].cosines, [None]);
    }

    #[test]
    fn a_sentence_without_a_place_is_refused() {
        assert!(sentence("nothing here").is_err());
        assert!(sentence("{} and {}").is_err());
    }
}
