//! Vectors of a run as `.npy`, `.safetensors` or Parquet, written text by text to keep memory bounded.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use mary_contract::{Layers, Model, Observe, Place, Pool, Site};
use mary_store::{RunFolder, parquet_file};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedFileWriter;
use serde_json::json;

use super::{ObserveTask, observations};
use crate::inside::{Queue, Subject, watching};
use crate::texts::InstrumentError;
use crate::texts::table::made_by;

/// How vectors are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArrayForm {
    /// One array of texts × layers × width; ids in a file beside it.
    Npy,
    /// One such array for each model, pool and column, with ids and layers in the header.
    Safetensors,
    /// One row for each text, pool and layer.
    Parquet,
}

impl ArrayForm {
    /// The form that a file's ending stands for.
    pub fn of(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_string_lossy().to_ascii_lowercase();
        match ending.as_str() {
            "npy" => Some(Self::Npy),
            "safetensors" => Some(Self::Safetensors),
            "parquet" => Some(Self::Parquet),
            _ => None,
        }
    }
}

/// Writes the vectors of a run, and says which files were written.
pub fn write(
    task: &ObserveTask,
    folder: &RunFolder,
    form: ArrayForm,
    path: &Path,
) -> Result<Vec<PathBuf>, InstrumentError> {
    let models = folder.manifest().models.iter();
    let models: Vec<String> = models.map(|m| m.model.to_string()).collect();
    if form == ArrayForm::Parquet {
        rows(task, folder, &models, path)?;
        return Ok(vec![path.to_owned()]);
    }
    let mut shapes = Vec::new();
    for model in &models {
        shapes.push(Shape::of(task, folder, model)?);
    }
    let arrays = task.options().pools.len() * task.options().columns().len();
    match (form, shapes.as_slice()) {
        (ArrayForm::Npy, [shape]) if arrays == 1 => npy(task, folder, &models[0], shape, path),
        (ArrayForm::Npy, _) => Err(InstrumentError::Usage(
            "a .npy file holds one array: one model, one pool, one column\n\
             hint: .safetensors and .parquet hold several"
                .into(),
        )),
        _ => tensors(task, folder, &models, &shapes, path),
    }
}

/// What an array of one model looks like.
struct Shape {
    ids: Vec<String>,
    layers: Vec<usize>,
    width: usize,
}

impl Shape {
    /// Reads the run once. A failed text is an error: an array has no place for one without vectors.
    fn of(task: &ObserveTask, folder: &RunFolder, model: &str) -> Result<Self, InstrumentError> {
        let mut shape = Self {
            ids: Vec::new(),
            layers: Vec::new(),
            width: 0,
        };
        let mut trouble = None;
        observations(task, folder, model, &mut |text, found| {
            let Some(parts) = found else {
                trouble.get_or_insert_with(|| {
                    format!(
                        "{model}: the text `{}` (line {}) has no vectors",
                        text.id, text.line
                    )
                });
                return Ok(());
            };
            for pool in parts.iter().flatten() {
                let layers: Vec<usize> = pool.layers.iter().map(|l| l.layer).collect();
                let widths = pool.layers.iter().map(|l| l.vector.0.len());
                let same = widths.clone().all(|w| Some(w) == widths.clone().next());
                let width = widths.clone().next().unwrap_or(0);
                if shape.width == 0 {
                    (shape.layers, shape.width) = (layers, width);
                } else if !same || shape.layers != layers || shape.width != width {
                    trouble.get_or_insert_with(|| {
                        format!("{model}: layers of different widths do not fit into one array")
                    });
                }
            }
            shape.ids.push(text.id.clone());
            Ok(())
        })?;
        match trouble {
            None => Ok(shape),
            Some(trouble) => Err(InstrumentError::Usage(format!(
                "{trouble}\nhint: a .parquet file leaves out what is not there"
            ))),
        }
    }

    fn numbers(&self) -> usize {
        self.ids.len() * self.layers.len() * self.width
    }
}

fn at(path: &Path) -> impl Fn(io::Error) -> InstrumentError + '_ {
    move |source| InstrumentError::Write {
        path: path.to_owned(),
        source,
    }
}

/// Writes the numbers of one column and pool, text after text.
fn numbers(
    task: &ObserveTask,
    folder: &RunFolder,
    model: &str,
    (part, pool): (usize, usize),
    out: &mut impl Write,
) -> Result<(), InstrumentError> {
    observations(task, folder, model, &mut |_, found| {
        let found = found.unwrap_or_default();
        let layers = found.get(part).and_then(|p| p.get(pool));
        for layer in layers.iter().flat_map(|o| &o.layers) {
            for number in &layer.vector.0 {
                out.write_all(&number.to_le_bytes())
                    .map_err(at(Path::new("array")))?;
            }
        }
        Ok(())
    })
}

fn npy(
    task: &ObserveTask,
    folder: &RunFolder,
    model: &str,
    shape: &Shape,
    path: &Path,
) -> Result<Vec<PathBuf>, InstrumentError> {
    let mut out = BufWriter::new(File::create(path).map_err(at(path))?);
    let head = npy_head(&[shape.ids.len(), shape.layers.len(), shape.width]);
    out.write_all(&head).map_err(at(path))?;
    numbers(task, folder, model, (0, 0), &mut out)?;
    out.flush().map_err(at(path))?;
    // What the rows and layers of the array are.
    let beside = path.with_extension("json");
    let about = json!({
        "model": model,
        "pool": task.options().pools[0].name(),
        "layers": shape.layers,
        "ids": shape.ids,
    });
    std::fs::write(&beside, format!("{about}\n")).map_err(at(&beside))?;
    Ok(vec![path.to_owned(), beside])
}

/// The head of a NumPy array of 32-bit floats, version 1.0.
fn npy_head(shape: &[usize]) -> Vec<u8> {
    let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
    let mut text = format!(
        "{{'descr': '<f4', 'fortran_order': False, 'shape': ({}), }}",
        sizes.join(", ")
    );
    // The whole head is a multiple of 64 bytes and ends in a line feed.
    let length = 10 + text.len() + 1;
    text.push_str(&" ".repeat(length.next_multiple_of(64) - length));
    text.push('\n');
    let mut head = b"\x93NUMPY\x01\x00".to_vec();
    head.extend((text.len() as u16).to_le_bytes());
    head.extend(text.as_bytes());
    head
}

fn tensors(
    task: &ObserveTask,
    folder: &RunFolder,
    models: &[String],
    shapes: &[Shape],
    path: &Path,
) -> Result<Vec<PathBuf>, InstrumentError> {
    let options = task.options();
    let columns = options.columns();
    let mut header = serde_json::Map::new();
    let about = json!({
        "ids": serde_json::to_string(&shapes.first().map(|s| &s.ids)).unwrap_or_default(),
        "layers": serde_json::to_string(&shapes.iter().map(|s| &s.layers).collect::<Vec<_>>()).unwrap_or_default(),
        "made_by": format!("mary {}", env!("CARGO_PKG_VERSION")),
    });
    header.insert("__metadata__".into(), about);
    let mut order = Vec::new();
    let mut offset = 0;
    for (model, shape) in models.iter().zip(shapes) {
        for (part, column) in columns.iter().enumerate() {
            for (pool, kind) in options.pools.iter().enumerate() {
                let bytes = shape.numbers() * 4;
                let name = format!("{model}:{column}:{}", kind.name());
                let tensor = json!({
                    "dtype": "F32",
                    "shape": [shape.ids.len(), shape.layers.len(), shape.width],
                    "data_offsets": [offset, offset + bytes],
                });
                header.insert(name, tensor);
                order.push((model, part, pool));
                offset += bytes;
            }
        }
    }
    let mut text = serde_json::Value::Object(header).to_string();
    text.push_str(&" ".repeat(text.len().next_multiple_of(8) - text.len()));
    let mut out = BufWriter::new(File::create(path).map_err(at(path))?);
    out.write_all(&(text.len() as u64).to_le_bytes())
        .and_then(|()| out.write_all(text.as_bytes()))
        .map_err(at(path))?;
    for (model, part, pool) in order {
        numbers(task, folder, model, (part, pool), &mut out)?;
    }
    out.flush().map_err(at(path))?;
    Ok(vec![path.to_owned()])
}

const SCHEMA: &str = include_str!("vectors.schema");

/// Rows held before a group is written.
const GROUP: usize = 4096;

#[derive(Default)]
struct Group {
    texts: [Vec<ByteArray>; 4],
    layers: Vec<i64>,
    numbers: Vec<f32>,
    /// 0 where a vector begins, 1 where it goes on.
    places: Vec<i16>,
}

fn rows(
    task: &ObserveTask,
    folder: &RunFolder,
    models: &[String],
    path: &Path,
) -> Result<(), InstrumentError> {
    let mut out = TokenRows::create(task, path)?;
    let columns = task.options().columns();
    for model in models {
        observations(task, folder, model, &mut |text, found| {
            for (column, pools) in columns.iter().zip(found.unwrap_or_default()) {
                for pool in pools {
                    for layer in pool.layers {
                        let texts = [model.as_str(), &text.id, column, pool.pool];
                        out.group.push(texts, layer.layer, &layer.vector.0);
                    }
                }
            }
            out.flush(GROUP)
        })?;
    }
    out.finish()
}

/// Texts that are observed together, so that memory stays bounded.
const BLOCK: usize = 64;
/// Attention weights of a text that are held at once.
const WEIGHTS: usize = 1 << 24;

/// Vectors of every token as rows of a Parquet file, written as they come; `pool` holds the token's number and text.
pub struct TokenRows<'a> {
    task: &'a ObserveTask,
    path: &'a Path,
    out: SerializedFileWriter<File>,
    group: Group,
}

impl<'a> TokenRows<'a> {
    /// Begins the file.
    pub fn create(task: &'a ObserveTask, path: &'a Path) -> Result<Self, InstrumentError> {
        let file = File::create(path).map_err(at(path))?;
        let out = parquet_file(file, SCHEMA, made_by(), &[]).map_err(at(path))?;
        Ok(Self {
            task,
            path,
            out,
            group: Group::default(),
        })
    }

    /// Observes every text with a model and writes its tokens.
    pub fn observe(&mut self, name: &str, model: &dyn Model) -> Result<(), InstrumentError> {
        let (Some(observer), Some(tokens)) = (model.observer(), model.tokens()) else {
            return Err(InstrumentError::Usage(format!(
                "{name} does not tell its tokens\nhint: --pool none is for language models on this machine"
            )));
        };
        let options = self.task.options();
        let mut texts = self.task.texts()?.peekable();
        while texts.peek().is_some() {
            let (mut requests, mut asked) = (Vec::new(), Vec::new());
            for text in texts.by_ref().take(BLOCK) {
                let text = text?;
                for (part, column) in text.parts.iter().zip(options.columns()) {
                    let ids = tokens.encode(&part.text)?;
                    requests.push(Observe {
                        text: part.text.clone(),
                        picture: None,
                        pools: (0..ids.len()).map(Pool::Token).collect(),
                        layers: options.layers.clone(),
                        with_scores: false,
                    });
                    let pieces: Vec<String> = ids.iter().map(|&id| tokens.piece(id)).collect();
                    asked.push((text.id.clone(), column.clone(), pieces));
                }
            }
            let mut queue = Queue::new(requests, false);
            observer.observe(&mut queue);
            for ((id, column, pieces), answer) in asked.iter().zip(queue.answers) {
                let found = answer?;
                for (number, (pool, piece)) in found.pools.iter().zip(pieces).enumerate() {
                    for layer in &pool.layers {
                        let texts = [name, id, column, &format!("{number} {piece}")];
                        self.group.push(texts, layer.layer, &layer.vector.0);
                    }
                }
                self.flush(GROUP)?;
            }
        }
        Ok(())
    }

    /// Writes what every head of some blocks attends to, from every token; `pool` holds the head, the token's number and
    /// its text, the vector a weight for each token from the first on.
    pub fn attend(&mut self, name: &str, model: &dyn Model) -> Result<(), InstrumentError> {
        let subject = Subject::new(model)?;
        let (heads, last) = (subject.heads()?, subject.layers - 1);
        let options = self.task.options();
        let whole = |&n: &i32| if n < 0 { n + last as i32 + 1 } else { n };
        let block = |n: &i32| usize::try_from(whole(n)).unwrap_or(usize::MAX);
        let blocks: Vec<usize> = match &options.layers {
            Layers::All => (0..=last).collect(),
            Layers::Last => vec![last],
            Layers::These(some) => some.iter().map(block).collect(),
        };
        for text in self.task.texts()? {
            let text = text?;
            for (part, column) in text.parts.iter().zip(options.columns()) {
                let pieces = subject.pieces(&part.text)?;
                // As many blocks at once as keep the weights of a text within bounds.
                let weights = (pieces.len() + 1).pow(2) * heads;
                for some in blocks.chunks((WEIGHTS / weights).max(1)) {
                    let sites = some.iter().flat_map(|&b| (0..heads).map(move |h| (b, h)));
                    let states = sites
                        .clone()
                        .map(|(b, h)| (Site::Pattern(b, h), Place::All));
                    let found = subject.ask(vec![watching(&part.text, states)])?;
                    for ((block, head), rows) in sites.zip(found.iter().flat_map(|f| &f.states)) {
                        // A start token comes before the first.
                        let first = rows.len() - pieces.len();
                        for (at, row) in rows.iter().enumerate() {
                            let token = match at.checked_sub(first) {
                                Some(token) => format!("{head} {token} {}", pieces[token]),
                                None => format!("{head} start"),
                            };
                            self.group
                                .push([name, &text.id, column, &token], block, &row.0);
                        }
                        self.flush(GROUP)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn flush(&mut self, fewest: usize) -> Result<(), InstrumentError> {
        if self.group.layers.len() < fewest {
            return Ok(());
        }
        let written = std::mem::take(&mut self.group).write(&mut self.out);
        written.map_err(|e| at(self.path)(io::Error::other(e)))
    }

    /// Writes what is held back, and the end of the file.
    pub fn finish(mut self) -> Result<(), InstrumentError> {
        self.flush(0)?;
        let closed = self.out.close().map(drop);
        closed.map_err(|e| at(self.path)(io::Error::other(e)))
    }
}

impl Group {
    fn push(&mut self, texts: [&str; 4], layer: usize, vector: &[f32]) {
        for (column, text) in self.texts.iter_mut().zip(texts) {
            column.push(ByteArray::from(text.as_bytes().to_vec()));
        }
        self.layers.push(layer as i64);
        self.numbers.extend(vector);
        let goes_on = (0..vector.len()).map(|i| i16::from(i > 0));
        self.places.extend(goes_on);
    }

    fn write(self, out: &mut SerializedFileWriter<File>) -> Result<(), ParquetError> {
        if self.layers.is_empty() {
            return Ok(());
        }
        let mut group = out.next_row_group()?;
        let mut texts = self.texts.iter();
        let there = vec![1i16; self.numbers.len()];
        while let Some(mut writer) = group.next_column()? {
            match writer.untyped() {
                ColumnWriter::ByteArrayColumnWriter(w) => {
                    let values = texts.next().map_or(&[][..], Vec::as_slice);
                    w.write_batch(values, None, None)?;
                }
                ColumnWriter::Int64ColumnWriter(w) => {
                    w.write_batch(&self.layers, None, None)?;
                }
                ColumnWriter::FloatColumnWriter(w) => {
                    w.write_batch(&self.numbers, Some(&there), Some(&self.places))?;
                }
                _ => return Err(ParquetError::General("a column has another type".into())),
            }
            writer.close()?;
        }
        group.close()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_numpy_head_is_aligned_and_names_its_shape() {
        let head = npy_head(&[200, 13, 768]);
        assert_eq!(head.len() % 64, 0);
        assert_eq!(head.last(), Some(&b'\n'));
        let text = String::from_utf8_lossy(&head[10..]);
        assert!(text.contains("'shape': (200, 13, 768)"), "{text}");
        assert_eq!(
            usize::from(u16::from_le_bytes([head[8], head[9]])),
            head.len() - 10
        );
    }
}
