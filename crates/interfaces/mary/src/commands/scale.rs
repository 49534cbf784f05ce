//! `mary scale`: people and models on one scale, where there is one.

use std::path::{Path, PathBuf};

use clap::Args;
use mary_lab::scale::{self, Answers, Scale, ScaleOptions};
use mary_stats::irt::dif::DifTest;
use mary_stats::irt::scale::{Curve, Wanted};
use mary_store::RunFolder;
use mary_study::Session;
use serde::Deserialize;

use super::summary;
use crate::cli::choices::{Choices, one_of};
use crate::command::Command;
use crate::commands::chapters::write_page;
use crate::commands::{print, print_json, tell};
use crate::exit::{Status, usage_error};
use crate::settings::Place;
use crate::{own, rundir};

/// By a name of its own: the parser takes an `Option` for an argument that may be missing, and this one has a default.
type Chosen = Option<Curve>;
const CURVES: Choices<Chosen> = &[
    ("auto", None),
    ("1pl", Some(Curve::OnePl)),
    ("1pl-chance", Some(Curve::OnePlChance)),
    ("2pl", Some(Curve::TwoPl)),
    ("3pl", Some(Curve::ThreePl)),
];

const TESTS: Choices<DifTest> = &[
    ("wald", DifTest::Wald),
    ("mantel-haenszel", DifTest::MantelHaenszel),
    ("likelihood-ratio", DifTest::LikelihoodRatio),
];

#[derive(Debug, Default, Args, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScaleArgs {
    /// Runs, sweeps, folders of studies, and tables (.csv, .tsv) with the columns subject, item and score, perhaps
    /// group, lineage, kind, text and chance
    #[arg(required = true)]
    pub answers: Vec<String>,
    /// Folder to write [default: scale-N below the output path]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Curve of the items
    #[arg(long, default_value = "auto", value_parser = one_of("scale.curves", CURVES))]
    pub curve: Chosen,
    /// Test by which items are compared between two groups
    #[arg(long, default_value = "wald", value_parser = one_of("scale.tests", TESTS))]
    pub dif: DifTest,
    /// Subjects whose names begin so are of this lineage (repeatable); checkpoints, sizes and quantisations of one
    /// model are found by their names
    #[arg(long, value_name = "BEGINNING=LINEAGE")]
    pub lineage: Vec<String>,
    /// Calibrate on all members of a lineage, with clustered errors, instead of one of each
    #[arg(long)]
    pub cluster: bool,
    /// Put these answers onto a scale that exists, whose items stay as they are
    #[arg(long, value_name = "SCALE", conflicts_with_all = ["curve", "dif", "cluster", "only", "lineage"])]
    pub on: Option<PathBuf>,
    /// One group alone: people, models, or what a table calls it
    #[arg(long, value_name = "GROUP")]
    pub only: Option<String>,
    /// Answers below which a subject counts for items and has no ability of its own
    #[arg(long, default_value_t = 10)]
    pub fewest: usize,
    /// Seed
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Print the scale as JSON
    #[arg(long)]
    pub json: bool,
    /// No progress
    #[arg(short, long)]
    pub quiet: bool,
}

impl Command for ScaleArgs {
    const NAME: &str = "scale";
    const ABOUT: &str = "Put people and models on one scale (item response theory)";

    fn gather(&mut self, place: &mut Place) -> anyhow::Result<()> {
        for name in self.answers.iter().filter(|name| is_study(name)) {
            own::of_study(place, Path::new(name))?;
        }
        let runs: Vec<String> = self
            .answers
            .iter()
            .filter(|n| !is_table(n) && !is_study(n))
            .cloned()
            .collect();
        own::stored(place, &runs, true);
        Ok(())
    }

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        let (found, folder) = self.make(place)?;
        if self.json {
            print_json(&found)?;
        } else {
            for line in &found.findings {
                print(&format!("{line}\n"))?;
            }
            summary::show_table(&scale::subjects(&found))?;
        }
        tell!("report: {}", summary::report_path(&folder).display());
        tell!("scale:  {}", folder.display());
        Ok(Status::Done)
    }
}

fn is_table(name: &str) -> bool {
    let ending = Path::new(name).extension();
    ending.is_some_and(|e| e.eq_ignore_ascii_case("csv") || e.eq_ignore_ascii_case("tsv"))
}

fn is_study(name: &str) -> bool {
    Path::new(name).join("study.toml").exists()
}

impl ScaleArgs {
    /// Makes the scale and its page, and says where they are.
    pub fn make(&self, place: &Place) -> anyhow::Result<(Scale, PathBuf)> {
        let (answers, runs) = self.read(place)?;
        let options = ScaleOptions {
            wanted: Wanted {
                curve: self.curve,
                clustered: self.cluster,
                fewest_answers: self.fewest,
                seed: self.seed,
                dif: self.dif,
            },
            only: self.only.clone(),
            lineages: self.lineages()?,
        };
        let mut tell = |what: &str| {
            if !self.quiet {
                tell!("{what} …");
            }
        };
        tell(&format!(
            "{} subjects, {} items, {} answers",
            answers.subjects.len(),
            answers.items.len(),
            answers.scores.len()
        ));
        let (found, exhibits) = match &self.on {
            Some(on) => {
                let placed = scale::place(&Scale::read(on)?, &answers, self.fewest)?;
                let shown = scale::of_scale(&placed);
                (placed, shown)
            }
            None => {
                let built = scale::build(answers, &options, &mut tell)?;
                let shown = scale::of_built(&built);
                (built.scale, shown)
            }
        };
        let folder = self.out.clone();
        let folder = folder.unwrap_or_else(|| rundir::next(&place.runs, "scale"));
        found.write(&folder)?;
        // A page of many runs would bury the scale under their tables; each has a report of its own.
        let shown = if runs.len() > 3 { &[][..] } else { &runs };
        let (title, out) = (("scale", "Scale"), summary::report_path(&folder));
        write_page(&place.registry, title, exhibits, shown, &out)?;
        Ok((found, folder))
    }

    /// Everybody's answers, and the runs among where they come from.
    fn read(&self, place: &Place) -> anyhow::Result<(Answers, Vec<PathBuf>)> {
        let (mut answers, mut runs) = (Answers::default(), Vec::new());
        for name in &self.answers {
            if is_table(name) {
                answers.add_table(Path::new(name))?;
            } else if is_study(name) {
                let (session, _thread) = Session::open(Path::new(name))?;
                answers.add_tasks(&session.study.settings.name, &session.study.keys()?.tasks);
                for sample in &session.judged(&place.registry)?.samples {
                    answers.add_sample(sample, &[]);
                }
            } else {
                for run in rundir::find_all(place, std::slice::from_ref(name))? {
                    answers.add_run(&RunFolder::open(&run)?)?;
                    runs.push(run);
                }
            }
        }
        Ok((answers, runs))
    }

    fn lineages(&self) -> anyhow::Result<Vec<(String, String)>> {
        let pair = |text: &String| match text.rsplit_once('=') {
            Some((name, lineage)) if !name.is_empty() => Ok((name.to_owned(), lineage.to_owned())),
            _ => usage_error(format!(
                "--lineage {text}: expected the beginning of a name, `=` and a lineage"
            )),
        };
        self.lineage.iter().map(pair).collect()
    }
}
