//! Tidy tables with typed columns, written row by row; what is not there is empty or null, never a zero.

use std::io::{self, Write};

use mary_platform::for_spreadsheet;
use mary_store::{GroupLimits, ParquetTable, cell_text, parquet_file};
use serde_json::{Map, Value};

/// How a table is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Comma-separated values below a line of names.
    Csv,
    /// Tab-separated values below a line of names.
    Tsv,
    /// One JSON object a line, with the names as keys.
    Jsonl,
    /// Columns with types, compressed.
    Parquet,
}

impl Form {
    /// The form that a file's ending stands for.
    pub fn of_ending(ending: &str) -> Option<Self> {
        match ending.to_ascii_lowercase().as_str() {
            "csv" => Some(Self::Csv),
            "tsv" | "tab" => Some(Self::Tsv),
            "jsonl" | "ndjson" => Some(Self::Jsonl),
            "parquet" => Some(Self::Parquet),
            _ => None,
        }
    }

    /// The usual ending of its files, without the dot.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::Jsonl => "jsonl",
            Self::Parquet => "parquet",
        }
    }
}

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// UTF-8 text.
    Text,
    /// A 64-bit floating-point number.
    Number,
    /// A 64-bit whole number.
    Count,
    /// True or false, as one bit.
    Flag,
}

/// One value; null where there is none. Numbers that are not finite become null.
pub type Cell = Value;

/// Names and types of columns.
pub type Head = Vec<(String, Type)>;

/// Rows held before a group of a Parquet file is written.
const GROUP: GroupLimits = GroupLimits {
    rows: 50_000,
    bytes: usize::MAX,
};

/// Writes rows as they come.
pub struct Writer<W: Write + Send> {
    head: Head,
    out: Out<W>,
}

enum Out<W: Write + Send> {
    Fields(Box<csv::Writer<W>>),
    Lines(W),
    Columns(Box<ParquetTable<W>>),
}

impl<W: Write + Send> Writer<W> {
    /// Begins a table with these columns.
    ///
    /// ```
    /// use mary_lab::texts::table::{Form, Type, Writer};
    ///
    /// let mut bytes = Vec::new();
    /// let head = vec![("id".to_owned(), Type::Text), ("logprob".to_owned(), Type::Number)];
    /// let mut table = Writer::new(Form::Csv, head, &mut bytes)?;
    /// table.row(vec!["a".into(), (-1.5).into()])?;
    /// table.row(vec!["=b".into(), f64::NAN.into()])?;
    /// table.finish()?;
    /// // What is not a number is empty, and no spreadsheet takes a text for a formula.
    /// assert_eq!(String::from_utf8_lossy(&bytes), "id,logprob\na,-1.5\n'=b,\n");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn new(form: Form, head: Head, to: W) -> io::Result<Self> {
        let out = match form {
            Form::Csv | Form::Tsv => {
                let delimiter = if form == Form::Csv { b',' } else { b'\t' };
                let mut out = csv::WriterBuilder::new()
                    .delimiter(delimiter)
                    .from_writer(to);
                out.write_record(
                    head.iter()
                        .map(|(name, _)| for_spreadsheet(name).into_owned()),
                )?;
                Out::Fields(Box::new(out))
            }
            Form::Jsonl => Out::Lines(to),
            Form::Parquet => {
                let out = parquet_file(to, &schema(&head), made_by(), &[])?;
                Out::Columns(Box::new(ParquetTable::new(out, GROUP)))
            }
        };
        Ok(Self { head, out })
    }

    /// Writes a row; its cells stand in the order of the head.
    pub fn row(&mut self, cells: Vec<Cell>) -> io::Result<()> {
        match &mut self.out {
            Out::Fields(out) => {
                out.write_record(cells.into_iter().map(cell_text))?;
                Ok(())
            }
            Out::Lines(out) => {
                let pairs = self.head.iter().zip(cells);
                let object: Map<String, Value> = pairs
                    .map(|((name, _), cell)| (name.clone(), cell))
                    .collect();
                serde_json::to_writer(&mut *out, &object)?;
                out.write_all(b"\n")
            }
            Out::Columns(out) => out.row(cells),
        }
    }

    /// Writes what is held back and flushes.
    pub fn finish(self) -> io::Result<()> {
        match self.out {
            Out::Fields(mut out) => out.flush(),
            Out::Lines(mut out) => out.flush(),
            Out::Columns(out) => out.finish(),
        }
    }
}

/// The schema in Parquet's own notation, whose names cannot hold blanks or signs; the user's are made to fit.
fn schema(head: &Head) -> String {
    let mut text = String::from("message table {\n");
    for (name, kind) in head {
        let fitting: String = name
            .chars()
            .map(|c| if c.is_alphanumeric() { c } else { '_' })
            .collect();
        let kind = match kind {
            Type::Text => format!("binary {fitting} (String)"),
            Type::Number => format!("double {fitting}"),
            Type::Count => format!("int64 {fitting}"),
            Type::Flag => format!("boolean {fitting}"),
        };
        text.push_str(&format!("  optional {kind};\n"));
    }
    text.push('}');
    text
}

/// Who wrote a Parquet file.
pub(crate) fn made_by() -> Option<String> {
    Some(format!("mary {}", env!("CARGO_PKG_VERSION")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader as _, SerializedFileReader};

    fn head() -> Head {
        vec![
            ("id".into(), Type::Text),
            ("log p".into(), Type::Number),
            ("n".into(), Type::Count),
            ("whole".into(), Type::Flag),
        ]
    }

    fn rows() -> Vec<Vec<Cell>> {
        vec![
            vec!["a,b".into(), (-0.1).into(), 3usize.into(), true.into()],
            vec!["=1+1".into(), f64::NAN.into(), Value::Null, false.into()],
        ]
    }

    fn text(form: Form) -> String {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(form, head(), &mut bytes).unwrap();
        for row in rows() {
            writer.row(row).unwrap();
        }
        writer.finish().unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn absent_numbers_are_empty_and_nothing_is_a_formula() {
        assert_eq!(
            text(Form::Csv),
            "id,log p,n,whole\n\"a,b\",-0.1,3,true\n'=1+1,,,false\n"
        );
        let lines = text(Form::Jsonl);
        let last: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
        assert_eq!(last["log p"], Value::Null);
        assert_eq!(last["whole"], Value::Bool(false));
    }

    #[test]
    fn a_parquet_file_has_typed_columns() {
        let file = tempfile::tempfile().unwrap();
        let mut writer = Writer::new(Form::Parquet, head(), file.try_clone().unwrap()).unwrap();
        for row in rows() {
            writer.row(row).unwrap();
        }
        writer.finish().unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        let found: Vec<String> = reader
            .get_row_iter(None)
            .unwrap()
            .map(|r| r.unwrap().to_string())
            .collect();
        assert_eq!(found[0], r#"{id: "a,b", log_p: -1E-1, n: 3, whole: true}"#);
        assert_eq!(
            found[1],
            r#"{id: "=1+1", log_p: null, n: null, whole: false}"#
        );
    }
}
