//! `mary score`: texts of one's own as a run, and its tidy tables on standard output or in files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use mary_contract::{RunSummary, Start, StartError};
use mary_lab::Run;
use mary_lab::texts::score::{By, ScoreOptions, ScoreTask, Tables, tables};
use mary_lab::texts::table::Form;
use mary_platform::counted;
use mary_store::RunFolder;

use super::carry_out;
use super::instruments::{self, TableWriter, TextArgs};
use crate::cli::choices::{Choices, one_of};
use crate::command::Command;
use crate::commands::tell;
use crate::exit::{Status, UsageError};
use crate::settings::Place;

const ROWS: Choices<By> = &[
    ("text", By::Text),
    ("pair", By::Pair),
    ("word", By::Word),
    ("region", By::Region),
    ("token", By::Token),
];

const FORMS: Choices<Form> = &[
    ("csv", Form::Csv),
    ("tsv", Form::Tsv),
    ("jsonl", Form::Jsonl),
    ("parquet", Form::Parquet),
];

#[derive(Debug, Args)]
pub struct ScoreArgs {
    #[command(flatten)]
    pub texts: TextArgs,
    /// Minimal pairs: columns of the acceptable and of the other text
    #[arg(long, value_name = "GOOD,BAD", value_delimiter = ',', num_args = 1)]
    pub pair: Vec<String>,
    /// Column of what stands before each text
    #[arg(long, value_name = "COLUMN")]
    pub context: Option<String>,
    /// What stands between context and text
    #[arg(long, default_value = " ", hide_default_value = true)]
    pub separator: String,
    /// What stands before the first token of a text: auto (the tokenizer's own start token, or else end of
    /// text), harness (as lm-evaluation-harness does it), model (what the tokenizer puts there), none, a
    /// token such as '<|endoftext|>', or compare (auto, harness and none side by side) [default: auto]
    #[arg(long, value_name = "CONVENTION")]
    pub start: Option<StartArg>,
    /// Also the entropy of each next-token distribution, in bits
    #[arg(long)]
    pub entropy: bool,
    /// Also each token's rank (of a word: its first token's)
    #[arg(long)]
    pub rank: bool,
    /// Column with the words of each text (a list, or with blanks between them), for writing without blanks
    #[arg(long, value_name = "COLUMN")]
    pub words: Option<String>,
    /// Also each word's length and its frequency (Zipf; needs the dataset wordfreq)
    #[arg(long)]
    pub predictors: bool,
    /// Also the surprisals of so many words after each word
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub next: usize,
    /// Also the N likeliest tokens in the place of each word, with their probabilities (models with open weights)
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub top: u32,
    /// Words by the plain rule alone
    #[arg(long)]
    pub no_correction: bool,
    /// What a row of the printed table is [default: pair for pairs, else text]
    #[arg(long, value_parser = one_of("score.rows", ROWS), help_heading = "Output")]
    pub by: Option<By>,
    /// How tables are written [default: by the file's ending, else csv]
    #[arg(long, value_parser = one_of("score.forms", FORMS), help_heading = "Output")]
    pub format: Option<Form>,
    /// A file for one table, or a folder for all of them [default: standard output]
    #[arg(short, long, value_name = "PATH", help_heading = "Output")]
    pub out: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartArg {
    One(Start),
    Compare,
}

impl std::str::FromStr for StartArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "compare" => Ok(Self::Compare),
            one => one.parse().map(Self::One).map_err(|error: StartError| {
                let known = error.to_string();
                known.replacen(Start::VALUES, &format!("compare, {}", Start::VALUES), 1)
            }),
        }
    }
}

impl Command for ScoreArgs {
    const NAME: &str = "score";
    const ABOUT: &str = "Surprisal of your own texts, per token, word and text";
    const WORDS_WITH_DEFAULTS: bool = true;

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        let mut options = options(self)?;
        if self.predictors {
            options.frequency = instruments::frequencies(place);
        }
        let wanted = wanted(self, &options)?;
        let file = instruments::input(place, &self.texts.file)?;
        let task = Arc::new(ScoreTask::open(&file, options)?);
        let (lab, spec) = self.texts.specified(place, task.clone(), &file)?;
        let prepared = lab.prepare(&spec)?;
        if self.texts.dry_run {
            return instruments::dry_run(&prepared);
        }
        let mut run = prepared.open()?;
        let summary = carry_out::go(&mut run, self.texts.models.quiet)?;
        let status = written(&task, &run, &summary, &wanted)?;
        tell!("run:    {}", run.path().display());
        Ok(status)
    }
}

pub fn task(args: &ScoreArgs, file: &Path) -> anyhow::Result<ScoreTask> {
    Ok(ScoreTask::open(file, options(args)?)?)
}

/// Prints what the arguments ask for, where they name no file for it.
pub fn printed(args: &ScoreArgs, run: &Run<'_>, summary: &RunSummary) -> anyhow::Result<Status> {
    let task = task(args, &args.texts.file)?;
    let mut wanted = wanted(args, task.options())?;
    wanted.tables.retain(|(_, path)| path.is_none());
    written(&task, run, summary, &wanted)
}

fn written(
    task: &ScoreTask,
    run: &Run<'_>,
    summary: &RunSummary,
    wanted: &ScoreOutput,
) -> anyhow::Result<Status> {
    let done = write(task, run.folder(), wanted)?;
    for note in start_notes(task, summary) {
        tell!("{note}");
    }
    if done.without_words > 0 {
        tell!(
            "warning: {} without words: the tokens, as the model names them, do not make up the text",
            counted(done.without_words, "text")
        );
    }
    if done.failed > 0 {
        instruments::tell_failures(run, done.failed)?;
    }
    Ok(Status::done_if(summary.complete && done.failed == 0))
}

/// What is said of the tokens before the texts: where the tokenizer would put another one, and how many
/// verdicts depend on it.
fn start_notes(task: &ScoreTask, summary: &RunSummary) -> Vec<String> {
    let options = task.options();
    let mut notes = Vec::new();
    for card in &summary.manifest.models {
        let full = card.model.to_string();
        let model = card.label.as_ref().unwrap_or(&full);
        if let Some(starts) = card.starts.as_ref().filter(|_| !options.compare) {
            let said = starts.overriding(&options.start);
            notes.extend(said.map(|said| format!("note: {model}: {said}")));
            if options.pair.is_some() && starts.auto != starts.harness {
                notes.push(format!(
                    "hint: `--start compare` shows whether verdicts depend on it; start=harness puts {} there",
                    starts.shown(&Start::Always)
                ));
            }
        }
        let depending = card
            .remarks
            .iter()
            .filter(|r| r.contains("depend on the start token"));
        if options.compare {
            let shared = options.beginnings(card).into_iter();
            let shared = shared.filter(|begin| begin.conventions.contains(','));
            notes.extend(shared.map(|begin| {
                let (conventions, token) = (begin.conventions.replace(", ", " and "), begin.token);
                format!(
                    "note: {model}: {conventions} put the same token before a text, {token}: asked once, in one row"
                )
            }));
        }
        let before = notes.len();
        notes.extend(depending.map(|said| format!("{model}: {said}")));
        if options.compare && options.pair.is_some() && notes.len() == before {
            notes.push(format!(
                "note: {model}: no verdict depends on the start token"
            ));
        }
    }
    notes
}

fn options(args: &ScoreArgs) -> Result<ScoreOptions, UsageError> {
    let pair = instruments::pair(&args.pair)?;
    let marks = instruments::marks(args.texts.marks.as_deref())?;
    Ok(ScoreOptions {
        text: args.texts.text.clone(),
        pair,
        context: args.context.clone(),
        id: args.texts.id.clone(),
        keep: args.texts.keep.clone(),
        region: args.texts.region.clone(),
        marks,
        separator: args.separator.clone(),
        start: match &args.start {
            Some(StartArg::One(start)) => start.clone(),
            Some(StartArg::Compare) | None => Start::Text,
        },
        compare: args.start == Some(StartArg::Compare),
        entropy: args.entropy,
        top: args.top,
        rank: args.rank,
        words: args.words.clone(),
        predictors: args.predictors,
        frequency: None,
        next: args.next.min(20),
        correction: !args.no_correction,
    })
}

struct ScoreOutput {
    form: Form,
    tables: Vec<(By, Option<PathBuf>)>,
}

fn wanted(args: &ScoreArgs, options: &ScoreOptions) -> Result<ScoreOutput, UsageError> {
    let there = By::of(options);
    let usual = match options.pair {
        Some(_) => By::Pair,
        None => By::Text,
    };
    let by = args.by.unwrap_or(usual);
    if !there.contains(&by) {
        let needed = if by == By::Pair {
            "--pair"
        } else {
            "--region or --marks"
        };
        return Err(UsageError::new(format!(
            "there is no table of {} here\nhint: {needed} names them",
            by.name()
        )));
    }
    let ending = args.out.as_ref().and_then(|p| p.extension());
    let by_ending = ending.and_then(|e| Form::of_ending(&e.to_string_lossy()));
    let form = args.format.or(by_ending).unwrap_or(Form::Csv);
    let tables = match &args.out {
        None if form == Form::Parquet => {
            return Err(UsageError::new(
                "a Parquet file is not printed\nhint: --out names a file or a folder",
            ));
        }
        None => vec![(by, None)],
        Some(file) if by_ending.is_some() => vec![(by, Some(file.clone()))],
        Some(folder) => {
            let place = |by: &By| folder.join(format!("{}.{}", by.name(), form.ending()));
            there.iter().map(|by| (*by, Some(place(by)))).collect()
        }
    };
    Ok(ScoreOutput { form, tables })
}

fn write(task: &ScoreTask, folder: &RunFolder, wanted: &ScoreOutput) -> anyhow::Result<Tables> {
    let mut writers: BTreeMap<By, TableWriter> = BTreeMap::new();
    for (by, path) in &wanted.tables {
        let head = by.head(task.options());
        writers.insert(*by, instruments::table(wanted.form, head, path.as_deref())?);
    }
    let by: Vec<By> = writers.keys().copied().collect();
    let done = tables(task, folder, &by, &mut |by, cells| {
        writers
            .get_mut(&by)
            .map_or(Ok(()), |writer| writer.row(cells))
    })?;
    for (by, path) in &wanted.tables {
        if let Some(writer) = writers.remove(by) {
            let cannot = |e| instruments::cannot_write(path.as_deref(), e);
            writer.finish().map_err(cannot)?;
        }
        if let Some(path) = path {
            tell!("{}: {}", by.name(), path.display());
        }
    }
    Ok(done)
}
