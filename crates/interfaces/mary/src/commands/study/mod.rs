//! `mary study`: items for people, judged as models are. What is done lives in `mary-study`.

mod design;
mod judging;
mod people;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Subcommand, ValueEnum};
use design::{NewStudyArgs, PowerArgs};
use judging::ReadArgs;
use mary_platform::counted;
use mary_store::RunFolder;
use mary_study::simulate::{self, Behaviour, Simulation};
use mary_study::store::{Admission, StoreThread};
use mary_study::{Session, paper, server};
use people::{CloseArgs, ExportStudyArgs, ResultsArgs, StudyPathArgs, WithdrawArgs};

use super::{print, tell};
use crate::command::Command;
use crate::exit::{Status, UsageError, usage_error};
use crate::settings::Place;
use crate::{own, rundir};

#[derive(Debug, Args)]
pub struct StudyArgs {
    #[command(subcommand)]
    pub action: StudyAction,
}

#[derive(Debug, Subcommand)]
pub enum StudyAction {
    /// Draw items and write a study's folder
    New(Box<NewStudyArgs>),
    /// How many people and items an interval of a given width needs
    Power(PowerArgs),
    /// Serve a study's pages
    Serve(ServeStudyArgs),
    /// How a study stands
    Status(StudyPathArgs),
    /// End a study and write its answers as a run folder
    Close(CloseArgs),
    /// Scores, agreement, learning and times, of a study or of a run whose trials are people
    Results(ResultsArgs),
    /// Write a study's answers as jsPsych rows (CSV, JSON) and as a Psych-DS dataset
    Export(ExportStudyArgs),
    /// Delete a person with everything they answered
    Withdraw(WithdrawArgs),
    /// Let simulated people take part, by data or through the real page
    Simulate(SimulateArgs),
    /// Make sheets to print, with the key apart
    Print(PrintArgs),
    /// Take marks on paper back, or judgements of descriptions
    Read(ReadArgs),
}

#[derive(Debug, Args)]
pub struct ServeStudyArgs {
    /// The study's folder
    pub study: PathBuf,
    /// Port
    #[arg(long, default_value_t = 7676)]
    pub port: u16,
    /// Address to listen on; a reverse proxy with TLS belongs before any but this machine's own
    #[arg(long, default_value = "127.0.0.1")]
    pub host: std::net::IpAddr,
    /// Try the pages on this machine while texts are still to be filled in
    #[arg(long)]
    pub test: bool,
}

/// How simulated people answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BehaviourArg {
    /// Any option
    Random,
    /// By ability and difficulty
    Ability,
}

#[derive(Debug, Args)]
pub struct SimulateArgs {
    /// The study's folder: take a copy, since simulated people fill its places
    pub study: PathBuf,
    /// How many [default: as many as the study wants]
    #[arg(long)]
    pub people: Option<usize>,
    /// How they answer
    #[arg(long, value_enum, default_value_t = BehaviourArg::Ability)]
    pub answers: BehaviourArg,
    /// Answer as the model of a stored run did
    #[arg(long, value_name = "RUN", conflicts_with = "answers")]
    pub from: Option<String>,
    /// Median seconds for an answer
    #[arg(long, default_value_t = 4.0)]
    pub seconds: f64,
    /// Through the real page, over HTTP
    #[arg(long)]
    pub page: bool,
    /// With --page: how many at once
    #[arg(long, default_value_t = 50)]
    pub at_once: usize,
    /// Seed
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
}

#[derive(Debug, Args)]
pub struct PrintArgs {
    /// The study's folder
    pub study: PathBuf,
    /// Folder to write into [default: paper/ in the study's folder]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Sheets, one for each place from this one on
    #[arg(long, default_value_t = 1)]
    pub first: usize,
    /// How many sheets [default: all]
    #[arg(long)]
    pub sheets: Option<usize>,
}

impl Command for StudyArgs {
    const NAME: &str = "study";
    const ABOUT: &str = "Ask people the same items, in a browser or on paper";

    fn gather(&mut self, place: &mut Place) -> anyhow::Result<()> {
        match &mut self.action {
            StudyAction::New(args) => own::named(place, &mut args.tasks),
            StudyAction::Close(args) => own::of_study(place, &args.study),
            StudyAction::Results(args) => own::of_study(place, Path::new(&args.study)),
            StudyAction::Export(args) => own::of_study(place, &args.study),
            // They go on with what was to be deleted from a run folder. A task file that is no longer
            // there keeps that waiting, not them.
            StudyAction::Withdraw(WithdrawArgs { study, .. })
            | StudyAction::Status(StudyPathArgs { study, .. })
            | StudyAction::Serve(ServeStudyArgs { study, .. })
            | StudyAction::Simulate(SimulateArgs { study, .. })
            | StudyAction::Print(PrintArgs { study, .. }) => {
                let _ = own::of_study(place, study);
                Ok(())
            }
            StudyAction::Power(_) | StudyAction::Read(_) => Ok(()),
        }
    }

    fn run(&self, place: &Place) -> anyhow::Result<Status> {
        match &self.action {
            StudyAction::New(args) => design::new(place, args),
            StudyAction::Power(args) => design::power(args),
            StudyAction::Serve(args) => serve(place, args),
            StudyAction::Status(args) => people::status(place, &args.study, args.json),
            StudyAction::Close(args) => people::close(place, args),
            StudyAction::Results(args) => people::results(place, args),
            StudyAction::Export(args) => people::export(place, args),
            StudyAction::Withdraw(args) => people::withdraw(place, args),
            StudyAction::Simulate(args) => simulated(place, args),
            StudyAction::Print(args) => printed(place, args),
            StudyAction::Read(args) => read(place, args),
        }
    }
}

/// Opens a study, and goes on with what could not be deleted before.
fn opened(place: &Place, path: &Path) -> anyhow::Result<(Session, StoreThread)> {
    let (session, thread) = Session::open(path)?;
    if session.deletion_pending()? {
        session.know_run(&place.runs)?;
        let deletion = session.finish_deletions(Some(&place.registry))?;
        for line in &deletion.waiting {
            tell!("note: deleted answers are still in {line}");
        }
        deletion.notes.iter().for_each(|n| tell!("note: {n}"));
    }
    Ok((session, thread))
}

fn serve(place: &Place, args: &ServeStudyArgs) -> anyhow::Result<Status> {
    let (session, _thread) = opened(place, &args.study)?;
    let settings = &session.study.settings;
    let unready = |why: String| UsageError::new(format!("{}: {why}", args.study.display()));
    if args.test {
        if !args.host.is_loopback() {
            return usage_error(format!(
                "--test serves this machine alone, and --host is {}\nhint: leave --host out",
                args.host
            ));
        }
        settings.reachable().map_err(unready)?;
        tell!(
            "test: texts may still have to be filled in; answers count, so try it on a copy of the folder"
        );
    } else {
        settings.ready().map_err(unready)?;
    }
    // Whoever withdraws from a study that is closed already must be taken out of its run too.
    session.know_run(&place.runs)?;
    let entry = session.study.secrets.entry.clone();
    let address = SocketAddr::new(args.host, args.port);
    let here = match session.admission()? {
        Admission::Open => "participants go to",
        Admission::LettingFinish => {
            "no new participants are admitted (`close --let-finish`); whoever is taking part may finish at"
        }
        Admission::Closed => {
            "the study is closed: no answer is taken, and whoever took part may withdraw at"
        }
    };
    server::serve(session, address, &mut |bound| {
        tell!(
            "{here} http://{bound}/s/{entry}\n\
             status page: http://{bound}/admin (any name; the password is `admin` in {}/secrets.json)\n\
             Ctrl-C ends it; nothing that was answered is lost",
            args.study.display()
        );
        if !args.host.is_loopback() {
            tell!("note: answers travel unencrypted unless a reverse proxy with TLS stands in front of this server (docs/people.md)");
        }
    })
    .with_context(|| format!("port {} cannot be used; --port names another", args.port))?;
    Ok(Status::Done)
}

fn simulated(place: &Place, args: &SimulateArgs) -> anyhow::Result<Status> {
    let (session, _thread) = opened(place, &args.study)?;
    let keys = session.study.keys()?;
    let behaviour = match (&args.from, args.answers) {
        (Some(run), _) => Behaviour::AsModel(answers_of(&rundir::find(place, Some(run))?)?),
        (None, BehaviourArg::Random) => Behaviour::Random,
        (None, BehaviourArg::Ability) => Behaviour::Ability {
            mean: 1.5,
            sd_people: 0.7,
            sd_items: 0.9,
        },
    };
    let simulation = Simulation {
        behaviour,
        seconds: args.seconds,
        seed: args.seed,
    };
    let wanted = args.people.unwrap_or(session.study.settings.people);
    if !args.page {
        let taken = simulate::by_data(&session, &keys, &simulation, wanted)?;
        return print(&format!("{} took part\n", simulated_people(taken)));
    }
    let address = simulate::page::served(session.clone())?;
    let at_once = args.at_once;
    let report =
        simulate::through_page(&session, &keys, &simulation, wanted, at_once, &move || {
            address
        });
    let mut latencies = report.latencies.clone();
    latencies.sort_by(f64::total_cmp);
    let at = |p: f64| 1_000.0 * mary_stats::bootstrap::quantile_sorted(&latencies, p);
    print(&format!(
        "{} took part through the page, {} found no place\n\
         {} answers acknowledged in {:.1} s: {:.0} a second; latency {:.1} ms (median), {:.1} ms (99 %)\n",
        simulated_people(report.finished),
        report.turned_away,
        report.acknowledged.len(),
        report.seconds,
        report.acknowledged.len() as f64 / report.seconds.max(1e-9),
        at(0.5),
        at(0.99)
    ))?;
    Ok(Status::Done)
}

fn simulated_people(n: usize) -> String {
    format!("{n} simulated {}", if n == 1 { "person" } else { "people" })
}

fn answers_of(run: &Path) -> anyhow::Result<BTreeMap<(String, String), String>> {
    let folder = RunFolder::open(run)?;
    let models = &folder.manifest().models;
    let first = models.first().map(|m| m.model.to_string());
    let mut answers = BTreeMap::new();
    for verdict in folder.verdicts()? {
        let verdict = verdict?;
        if Some(&verdict.id.model) == first.as_ref()
            && verdict.id.trial == 0
            && let Some(parsed) = verdict.judgement.parsed
        {
            answers.insert((verdict.id.task, verdict.id.item), parsed);
        }
    }
    Ok(answers)
}

fn printed(place: &Place, args: &PrintArgs) -> anyhow::Result<Status> {
    let (session, _thread) = opened(place, &args.study)?;
    let all = session.study.settings.people;
    let first = args.first.saturating_sub(1).min(all);
    let last = first + args.sheets.unwrap_or(all).min(all - first);
    let out = args.out.clone().unwrap_or_else(|| args.study.join("paper"));
    for file in paper::print(&session, first..last, &out)? {
        print(&format!("{}\n", file.display()))?;
    }
    Ok(Status::Done)
}

fn read(place: &Place, args: &ReadArgs) -> anyhow::Result<Status> {
    match args.files.as_slice() {
        [study, marks] if study.is_dir() => {
            let (session, _thread) = opened(place, study)?;
            let sheets = paper::read(&session, marks)?;
            print(&format!("{} read\n", counted(sheets, "sheet")))
        }
        forms if forms.iter().all(|f| f.is_file()) => judging::read(place, forms, args),
        _ => usage_error(
            "expected a study's folder and a file of marks, or forms with judgements\n\
             hint: mary study read STUDY marks.csv",
        ),
    }
}
