//! What `score` and `observe` share: their input, their run, their estimate and how tables are written.

use std::fs::File;
use std::io::{self, BufWriter, Read as _, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use mary_contract::{Limit, Task};
use mary_lab::texts::InstrumentError;
use mary_lab::texts::table::{Form, Head, Writer};
use mary_lab::{Laboratory, PreparedRun, RunSpec, TaskChoice};

use crate::cli::ModelArgs;
use crate::commands::{print, tell};
use crate::exit::{Status, UsageError, missing_error, usage_error};
use crate::settings::Place;
use crate::specification::{self, laboratory_with};

/// A user's texts, and which models are asked about them.
#[derive(Debug, Args)]
pub struct TextArgs {
    /// Texts: lines (.txt), or rows of .csv, .tsv, .jsonl or .parquet; `-` reads lines from standard
    /// input
    pub file: PathBuf,
    #[command(flatten)]
    pub models: ModelArgs,
    /// Column of the texts
    #[arg(
        long,
        value_name = "COLUMN",
        default_value = "text",
        conflicts_with = "pair"
    )]
    pub text: String,
    /// Column of ids [default: `id` where there is one, else the line]
    #[arg(long, value_name = "COLUMN")]
    pub id: Option<String>,
    /// Columns carried into the tables: conditions, items … (comma-separated or repeated)
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub keep: Vec<String>,
    /// Column with the words of a region of interest
    #[arg(long, value_name = "COLUMN", conflicts_with = "marks")]
    pub region: Option<String>,
    /// Regions of interest are marked in the texts, with these two marks
    #[arg(long, value_name = "OPEN CLOSE", num_args = 0..=1, default_missing_value = "[[ ]]")]
    pub marks: Option<String>,
    /// Items: a count (100) or a share (0.1)
    #[arg(short, long)]
    pub limit: Option<Limit>,
    /// Estimate requests and cost; send nothing
    #[arg(long, help_heading = "Output")]
    pub dry_run: bool,
}

impl TextArgs {
    /// A laboratory that also has the task made of these texts, and what is asked of the models there; `file` is
    /// where they lie.
    pub fn specified(
        &self,
        place: &Place,
        task: Arc<dyn Task>,
        file: &Path,
    ) -> anyhow::Result<(Laboratory, RunSpec)> {
        specified(place, task, (&self.file, file), &self.models, self.limit)
    }
}

/// The file of texts; what comes on standard input is kept in the cache folder, named by its content, so
/// that it can be read more than once and the same input continues the same run.
pub fn input(place: &Place, file: &Path) -> anyhow::Result<PathBuf> {
    if file != Path::new("-") {
        if !file.exists() {
            return missing_error(format!(
                "{}: there is no such file\nhint: texts come as lines (.txt) or as rows of .csv, .tsv, .jsonl \
                 or .parquet; `-` reads lines from standard input",
                file.display()
            ));
        }
        return Ok(file.to_owned());
    }
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes)?;
    if bytes.is_empty() {
        return usage_error("nothing came on standard input");
    }
    let folder = place.cache.join("input");
    std::fs::create_dir_all(&folder)?;
    let name = blake3::hash(&bytes).to_hex();
    let path = folder.join(format!("stdin-{}.txt", &name.as_str()[..16]));
    mary_platform::replace_file(&path, &bytes)?;
    Ok(path)
}

/// A laboratory that also has the task made of a file of texts, and what is asked of the models there.
pub fn specified(
    place: &Place,
    task: Arc<dyn Task>,
    (given, file): (&Path, &Path),
    models: &ModelArgs,
    limit: Option<Limit>,
) -> anyhow::Result<(Laboratory, RunSpec)> {
    let mut choice = TaskChoice::new(task.card().id.to_string());
    choice.limit = limit;
    let mut place = place.clone();
    place.registry.add_task(task)?;
    let words = crate::words::words_about(given, file);
    let lab = laboratory_with(&place, |providers| providers, words);
    let spec = specification::of_models(&lab, models, vec![choice])?;
    Ok((lab, spec))
}

/// How frequent words are, where the list is available; else a message says how to get it.
pub fn frequencies(place: &Place) -> Option<Arc<mary_lab::texts::Frequencies>> {
    match mary_lab::texts::Frequencies::frequencies(&place.local_data(), "en") {
        Ok(known) => Some(Arc::new(known)),
        Err(error) => {
            tell!("note: frequencies are left out: {error}");
            None
        }
    }
}

pub type TableWriter = Writer<BufWriter<Box<dyn Write + Send>>>;

/// Begins a table in a file, whose folder is made where it is missing, or on standard output.
pub fn table(form: Form, head: Head, path: Option<&Path>) -> Result<TableWriter, InstrumentError> {
    let out: Box<dyn Write + Send> = match path {
        None => Box::new(crate::terminal::Piped::new()),
        Some(path) => {
            if let Some(parent) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
                std::fs::create_dir_all(parent).map_err(|e| cannot_write(Some(parent), e))?;
            }
            Box::new(File::create(path).map_err(|e| cannot_write(Some(path), e))?)
        }
    };
    let out = BufWriter::with_capacity(1 << 16, out);
    Writer::new(form, head, out).map_err(|e| cannot_write(path, e))
}

pub fn cannot_write(path: Option<&Path>, source: io::Error) -> InstrumentError {
    InstrumentError::Write {
        path: path.unwrap_or(Path::new("standard output")).to_owned(),
        source,
    }
}

pub fn dry_run(prepared: &PreparedRun<'_>) -> anyhow::Result<Status> {
    let dry = prepared.estimate()?;
    print(&format!("{}\n", dry.to_string().trim_end()))?;
    tell!("nothing was asked");
    Ok(Status::Done)
}

/// Says how many texts have no answer, and why the first of them has none: a table says it in its last column
/// only, and without the hint.
pub fn tell_failures(run: &mary_lab::Run<'_>, failed: usize) -> anyhow::Result<()> {
    for sample in run.folder().samples()? {
        let sample = sample?;
        let mut errors = sample
            .exchanges
            .iter()
            .filter_map(|e| e.reply.as_ref().err());
        if let Some(error) = errors.next_back() {
            let hint = error.hint.iter().map(|h| format!("\nhint: {h}"));
            tell!(
                "warning: {failed} have no score; the first of them (`{}`): {error}{}",
                sample.id.item,
                hint.collect::<String>()
            );
            break;
        }
    }
    Ok(())
}

pub fn pair(columns: &[String]) -> Result<Option<(String, String)>, UsageError> {
    match columns {
        [] => Ok(None),
        [left, right] => Ok(Some((left.clone(), right.clone()))),
        _ => Err(UsageError::new(
            "--pair takes two columns with a comma between: --pair good,bad",
        )),
    }
}

pub fn marks(given: Option<&str>) -> Result<Option<(String, String)>, UsageError> {
    let Some(given) = given else {
        return Ok(None);
    };
    match given.split_once(' ') {
        Some((open, close)) => Ok(Some((open.to_owned(), close.to_owned()))),
        None => Err(UsageError::new(format!(
            "--marks takes two marks with a space between, for example '[[ ]]', not `{given}`"
        ))),
    }
}
