//! `mary reading`: what a model's surprisal says of how people read, beyond length, frequency and position.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use mary_contract::{Cell, Exhibits, Figure, Point, Series, Table};
use mary_lab::texts::reading::{
    Analysis, Folds, Predictor, Reading, ReadingOptions, Settings, analyse,
};
use mary_lab::texts::score::{By, ScoreOptions, ScoreTask, tables};
use mary_stats::Interval;

use super::fit::told;
use super::{DECLARED, carry_out, instruments, summary};
use crate::cli::ModelArgs;
use crate::command::Command;
use crate::commands::chapters::write_page;
use crate::commands::{print, print_json, tell};
use crate::exit::{Status, usage_error};
use crate::settings::Place;

#[derive(Debug, Args)]
pub struct ReadingArgs {
    /// Table with a row for each word (and person): .csv, .tsv, .jsonl or .parquet
    pub file: PathBuf,
    #[command(flatten)]
    pub models: ModelArgs,
    /// Column of what was measured: a reading time, a fixation, an amplitude
    #[arg(long, value_name = "COLUMN")]
    pub measure: String,
    /// Column of the words
    #[arg(long, value_name = "COLUMN", default_value = "word")]
    pub word: String,
    /// Column that names the sentence or text of a word
    #[arg(long, value_name = "COLUMN", default_value = "sentence")]
    pub sentence: String,
    /// Column of a word's place in its sentence, from 0 or 1 [default: rows stand in order]
    #[arg(long, value_name = "COLUMN")]
    pub position: Option<String>,
    /// Column of the whole text, where not every word of it has a row
    #[arg(long, value_name = "COLUMN")]
    pub text: Option<String>,
    /// Column of persons: adds a mixed model of each person's measures
    #[arg(long, value_name = "COLUMN")]
    pub person: Option<String>,
    /// Columns that are tried as predictors beside the models: others' surprisals, cloze (comma-separated)
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub predictors: Vec<String>,
    /// Only those predictors: ask no model
    #[arg(long, requires = "predictors")]
    pub no_model: bool,
    /// Column of log frequency [default: Zipf, by the dataset wordfreq]
    #[arg(long, value_name = "COLUMN")]
    pub frequency: Option<String>,
    /// Column of length [default: characters without punctuation]
    #[arg(long, value_name = "COLUMN")]
    pub length: Option<String>,
    /// What stands between words [default: a blank; '' for Chinese and Japanese]
    #[arg(long, default_value = " ", hide_default_value = true)]
    pub joint: String,
    /// Also explain a measure by so many words before it
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub spill: usize,
    /// Folds of sentences for held-out likelihoods
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub folds: usize,
    /// Smallest and largest measure that counts
    #[arg(long, value_name = "LOW,HIGH", value_delimiter = ',', num_args = 1)]
    pub between: Vec<f64>,
    /// Leave out words that touch punctuation
    #[arg(long)]
    pub letters_only: bool,
    /// Words by the plain sum of their tokens, not corrected for the blank before them
    #[arg(long)]
    pub no_correction: bool,
    /// Print everything as JSON
    #[arg(long)]
    pub json: bool,
    /// Also write a page with the tables and, over several models, gains against perplexity and training (.html)
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub out: Option<PathBuf>,
}

impl Command for ReadingArgs {
    const NAME: &str = "reading";
    const ABOUT: &str = "Predict reading times from surprisal, on held-out sentences";

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        let known = match self.frequency {
            Some(_) => None,
            None => instruments::frequencies(place),
        };
        let file = instruments::input(place, &self.file)?;
        let reading = Reading::open(&file, &self.options()?, known.as_deref())?;
        reading.check()?;
        for note in &reading.notes {
            tell!("note: {note}");
        }
        let mut predictors = reading.given();
        let mut status = Status::Done;
        if !self.no_model {
            let (found, done) = self.ask(place, &reading)?;
            predictors.splice(0..0, found);
            status = done;
        }
        let settings = Settings {
            lags: (0..=self.spill).collect(),
            folds: Folds::Sentences(self.folds),
            letters_only: self.letters_only,
            ..Settings::default()
        };
        let found = told(analyse(&reading, &predictors, &settings))?;
        let mut shown = vec![added(&found)];
        shown.extend((!found.compared.is_empty()).then(|| compared(&found)));
        if let Some(out) = &self.out {
            let title = "What surprisal says of reading";
            let exhibits = Exhibits {
                tables: shown.clone(),
                figures: curves(&found),
                ..Exhibits::default()
            };
            write_page(&place.registry, (Self::NAME, title), exhibits, &[], out)?;
            tell!("report: {}", out.display());
        }
        if self.json {
            print_json(&found)?;
            return Ok(status);
        }
        summary::show_tables(&shown)?;
        print(&notes(&found))?;
        Ok(status)
    }
}

impl ReadingArgs {
    fn options(&self) -> anyhow::Result<ReadingOptions> {
        let between = match self.between.as_slice() {
            [] => None,
            [low, high] if low < high => Some((*low, *high)),
            _ => return usage_error("--between takes two numbers with a comma between: 100,3000"),
        };
        Ok(ReadingOptions {
            measure: self.measure.clone(),
            word: self.word.clone(),
            sentence: self.sentence.clone(),
            position: self.position.clone(),
            text: self.text.clone(),
            person: self.person.clone(),
            predictors: self.predictors.clone(),
            frequency: self.frequency.clone(),
            length: self.length.clone(),
            joint: self.joint.clone(),
            between,
        })
    }

    /// Scores the sentences as a run, and gives each model's surprisal of each word.
    fn ask(&self, place: &Place, reading: &Reading) -> anyhow::Result<(Vec<Predictor>, Status)> {
        let lines = reading.lines();
        let folder = place.cache.join("input");
        std::fs::create_dir_all(&folder)?;
        let name = blake3::hash(lines.as_bytes()).to_hex();
        let file = folder.join(format!("reading-{}.jsonl", &name.as_str()[..16]));
        mary_platform::replace_file(&file, lines.as_bytes())?;
        let options = ScoreOptions {
            words: Some("words".into()),
            correction: !self.no_correction,
            ..ScoreOptions::default()
        };
        let task = Arc::new(ScoreTask::open(&file, options)?);
        let files = (self.file.as_path(), file.as_path());
        let (lab, spec) = instruments::specified(place, task.clone(), files, &self.models, None)?;
        let prepared = lab.prepare(&spec)?;
        let mut run = prepared.open()?;
        let summary = carry_out::go(&mut run, self.models.quiet)?;
        let head = By::Word.head(task.options());
        let column = |name: &str| head.iter().position(|(n, _)| n == name);
        let [model, id, at, plain] = ["model", "id", "position", "surprisal"].map(column);
        let corrected = column("surprisal_corrected");
        let mut order: Vec<String> = Vec::new();
        let mut found: BTreeMap<String, BTreeMap<(String, usize), f64>> = BTreeMap::new();
        let mut uncorrected = 0;
        let done = tables(&task, run.folder(), &[By::Word], &mut |_, cells| {
            let text = |at: Option<usize>| {
                let cell = at.and_then(|at| cells.get(at)?.as_str());
                cell.unwrap_or_default().to_owned()
            };
            let number = |at: Option<usize>| at.and_then(|at| cells.get(at)?.as_f64());
            let name = text(model);
            if !order.contains(&name) {
                order.push(name.clone());
            }
            let bits = number(corrected).or_else(|| {
                uncorrected += usize::from(corrected.is_some());
                number(plain)
            });
            if let (Some(place), Some(bits)) = (number(at), bits) {
                let key = (text(id), place as usize - 1);
                found.entry(name).or_default().insert(key, bits);
            }
            Ok(())
        })?;
        if done.failed > 0 {
            instruments::tell_failures(&run, done.failed)?;
        }
        if uncorrected > 0 {
            tell!(
                "note: {uncorrected} words have their plain surprisal: their tokens do not tell where words begin"
            );
        }
        tell!("run:    {}", run.path().display());
        let each = order
            .iter()
            .filter_map(|name| Some((name, found.get(name)?)));
        let predictors = each
            .map(|(name, values)| reading.predictor(name, values))
            .collect();
        Ok((
            predictors,
            Status::done_if(summary.complete && done.failed == 0),
        ))
    }
}

fn thousandths(interval: &Interval) -> [String; 2] {
    let shown = |x: f64| format!("{:.2}", 1000.0 * x);
    [
        shown(interval.value),
        format!("[{}, {}]", shown(interval.low), shown(interval.high)),
    ]
}

fn added(found: &Analysis) -> Table {
    let rows = found.added.iter().map(|one| {
        let mut row = vec![one.name.clone(), format!("{:.3}", one.mean)];
        row.extend(thousandths(&one.gain));
        let curved = one.curved.as_ref().map(thousandths);
        row.extend(curved.unwrap_or_default());
        let persons = one.persons.iter().map(|p| ("persons: ", &p.slope));
        let slopes = one.slopes.iter().map(|slope| ("", slope)).chain(persons);
        let slopes = slopes.map(|(who, s)| format!("{who}{:.3} ± {:.3}", s.value, s.error));
        row.push(slopes.collect::<Vec<_>>().join("; "));
        row
    });
    let table = DECLARED.table("reading-added");
    table.with_rows(Cell::figures(rows.collect()))
}

fn compared(found: &Analysis) -> Table {
    let rows = found.compared.iter().map(|pair| {
        let bounds = pair.bounds.map_or_else(String::new, |(low, high)| {
            format!("[{:.2}, {:.2}]", 1000.0 * low, 1000.0 * high)
        });
        vec![
            format!("{} - {}", pair.names.0, pair.names.1),
            format!("{:.2}", 1000.0 * pair.value),
            bounds,
            pair.p.map_or_else(String::new, mary_contract::p_value),
        ]
    });
    let table = DECLARED.table("reading-compared");
    table.with_rows(Cell::figures(rows.collect()))
}

/// A model's name without the folders before it.
fn last(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Gains of models against their mean surprisal, and of checkpoints against their step.
fn curves(found: &Analysis) -> Vec<Figure> {
    let mut steps: BTreeMap<String, Vec<Point>> = BTreeMap::new();
    let mut all: BTreeMap<String, Vec<Point>> = BTreeMap::new();
    for one in &found.added {
        let (family, revision) = one.name.split_once('@').unwrap_or((&one.name, ""));
        let step = revision.trim_start_matches(|c: char| !c.is_ascii_digit());
        let bounds = [one.gain.low, one.gain.high].map(|gain| Some(1000.0 * gain));
        let point = |x: f64| Point {
            low: bounds[0],
            high: bounds[1],
            ..Point::new(last(&one.name), 1000.0 * one.gain.value).at(x)
        };
        let own = |of: &mut BTreeMap<String, Vec<Point>>, x| {
            of.entry(family.to_owned()).or_default().push(point(x));
        };
        own(&mut all, one.mean);
        if let Some(step) = step.parse().ok().filter(|step: &f64| *step > 0.0) {
            own(&mut steps, step);
        }
    }
    let figure = |id: &str, of: BTreeMap<String, Vec<Point>>| {
        let series = of.into_iter().map(|(name, mut points)| {
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            Series::measured(last(&name), points)
        });
        DECLARED.figure(id).with_series(series)
    };
    let mut figures = Vec::new();
    if found.added.len() > 1 {
        figures.push(figure("reading-perplexity", all));
    }
    if steps.values().any(|points| points.len() > 1) {
        figures.push(figure("reading-training", steps));
    }
    figures
}

fn notes(found: &Analysis) -> String {
    let mut lines = vec![
        format!(
            "{} words of {} sentences or texts; intervals clustered by them",
            found.words, found.sentences
        ),
        format!("baseline: {}", found.baseline.join(", ")),
    ];
    for one in &found.added {
        let Some(persons) = &one.persons else {
            continue;
        };
        let (statistic, freedom, p) = persons.test;
        let trouble = match (persons.converged, persons.singular) {
            (false, _) => "; the search did not settle: do not rely on it",
            (_, true) => "; singular: a spread of persons or sentences is zero",
            _ => "",
        };
        lines.push(format!(
            "{}: mixed model of {} measures (intercepts of persons and sentences), chi-squared {statistic:.2}, {freedom} degree(s) of freedom, p {}{trouble}",
            one.name,
            persons.rows,
            mary_contract::p_value(p)
        ));
    }
    lines.join("\n") + "\n"
}
