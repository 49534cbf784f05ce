//! What the instruments share in reading a user's rows: columns by name, unique ids, errors with a line.

use mary_contract::{SampleId, TaskCard, TaskError};
use mary_platform::{DigestMap, given};
use mary_taskfile::{Material, MaterialRow, MaterialRows};
use serde_json::Value;

/// Characters of an id, at most: it stands in every line of the log.
const LONGEST_ID: usize = 512;

/// A stream of rows with ids; after an error it ends.
pub(crate) struct Named {
    material: Material,
    rows: MaterialRows,
    id: Option<String>,
    /// The ids so far with their lines; none where lines are ids, which cannot meet twice.
    seen: DigestMap,
    made: bool,
    ended: bool,
}

impl Named {
    /// The rows of a file, with this column as id; without one, the column `id` or else the line.
    pub fn new(material: &Material, id: Option<&str>) -> Result<Self, TaskError> {
        Ok(Self {
            rows: material.rows()?,
            material: material.clone(),
            id: id.map(str::to_owned),
            seen: DigestMap::default(),
            made: false,
            ended: false,
        })
    }

    fn read(&mut self) -> Result<Option<(String, MaterialRow)>, TaskError> {
        let Some(row) = self.rows.next().transpose()? else {
            return match self.made {
                true => Ok(None),
                false => Err(self
                    .material
                    .wrong(1, "there are no rows; expected at least one")),
            };
        };
        self.made = true;
        let name = match (&self.id, row.columns.contains_key("id")) {
            (Some(name), _) => name.as_str(),
            (None, true) => "id",
            (None, false) => return Ok(Some((row.number.to_string(), row))),
        };
        let id = text(&self.material, &row, name)?;
        if id.is_empty() || id.chars().count() > LONGEST_ID {
            let message = format!(
                "the id in column `{name}` has {} characters; expected 1 to {LONGEST_ID}",
                id.chars().count()
            );
            return Err(self.material.wrong(row.line, message));
        }
        let before = self.seen.insert(DigestMap::digest(&id), row.line as u64);
        let before = before.map_err(|e| {
            let place = std::env::temp_dir();
            let message = format!(
                "a temporary file in {} cannot be read: {e}",
                place.display()
            );
            self.material.wrong(row.line, message)
        })?;
        if let Some(line) = before {
            let message = format!(
                "duplicate id `{id}` (first on line {line})\n\
                 hint: --id names another column"
            );
            return Err(self.material.wrong(row.line, message));
        }
        Ok(Some((id, row)))
    }
}

impl Iterator for Named {
    type Item = Result<(String, MaterialRow), TaskError>;

    fn next(&mut self) -> Option<Self::Item> {
        given(!self.ended)?;
        let found = self.read();
        self.ended = !matches!(found, Ok(Some(_)));
        found.transpose()
    }
}

/// The id of a text's sample in the log; every text is asked once.
pub(crate) fn sample_id(model: &str, task: &str, item: &str) -> SampleId {
    SampleId::new(model, task, item, 0)
}

/// What to do about a column that is not there: the name that was meant, or the option that names another.
fn absent(row: &MaterialRow, name: &str) -> Option<String> {
    let distance = |other: &&String| strsim::damerau_levenshtein(name, other);
    let nearest = row.columns.keys().min_by_key(distance)?;
    if distance(&nearest) <= 1 + name.chars().count() / 4 {
        return Some(format!("did you mean `{nearest}`?"));
    }
    // Without `--text` the column `text` is looked for. The longest text is the likeliest.
    let length = |value: &Value| value.as_str().map_or(0, str::len);
    let (longest, _) = row
        .columns
        .iter()
        .filter(|(_, value)| value.is_string())
        .max_by_key(|(_, value)| length(value))?;
    let option = format!("--text names the column of texts, for example --text {longest}");
    (name == "text").then_some(option)
}

pub(crate) fn text(
    material: &Material,
    row: &MaterialRow,
    name: &str,
) -> Result<String, TaskError> {
    match row.columns.get(name) {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(Value::Number(number)) => Ok(number.to_string()),
        Some(Value::Bool(flag)) => Ok(flag.to_string()),
        Some(Value::Null) => {
            Err(material.wrong(row.line, format!("column `{name}` is empty; expected text")))
        }
        Some(Value::Array(_) | Value::Object(_)) => Err(material.wrong(
            row.line,
            format!("column `{name}` is a list or an object; expected text"),
        )),
        None => {
            let there: Vec<&str> = row.columns.keys().map(String::as_str).collect();
            let hint = absent(row, name).map_or_else(String::new, |hint| format!("\nhint: {hint}"));
            let message = format!(
                "there is no column `{name}`; the row has: {}{hint}",
                there.join(", ")
            );
            // The file is in order: whoever named the column was mistaken.
            let named = material.wrong(row.line, message).to_string();
            Err(TaskError::Setting(named))
        }
    }
}

/// As [`text`], where it must not be empty.
pub(crate) fn words(
    material: &Material,
    row: &MaterialRow,
    name: &str,
) -> Result<String, TaskError> {
    let found = text(material, row, name)?;
    if found.trim().is_empty() {
        let message = format!("column `{name}` is empty; expected text");
        return Err(material.wrong(row.line, message));
    }
    Ok(found)
}

/// Column `id`, or the line.
pub(crate) fn id(material: &Material, row: &MaterialRow) -> Result<String, TaskError> {
    match row.columns.contains_key("id") {
        true => text(material, row, "id"),
        false => Ok(row.line.to_string()),
    }
}

/// The card of a task on a file, whose id is its family and the file's name, as a task's id may be written;
/// `made_of` is what else decides what is asked.
pub(crate) fn card(family: &str, material: &Material, about: &str, made_of: &str) -> TaskCard {
    let stem = material.path().file_stem().unwrap_or_default();
    let fitting: String = stem
        .to_string_lossy()
        .chars()
        .map(|c| match c {
            c if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') => c,
            _ => '-',
        })
        .collect();
    let name = if fitting.is_empty() {
        "texts"
    } else {
        &fitting
    };
    let (title, id) = (file_name(material), format!("{family}/{name}"));
    let mut card = TaskCard::new(id, title, about.to_owned());
    let content = blake3::hash(format!("{}\n{made_of}", material.hash()).as_bytes());
    card.content = Some(content.to_hex().to_string().into());
    card
}

fn file_name(material: &Material) -> String {
    let name = material.path().file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Which file it is, for the conventions of a task.
pub(crate) fn origin(material: &Material) -> String {
    format!("{}, blake3 {}", file_name(material), material.hash())
}
