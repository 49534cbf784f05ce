//! `mary study status`, `close`, `results`, `export` and `withdraw`.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use clap::Args;
use mary_contract::{Outcome, Sample, TaskRun, model_labels};
use mary_platform::{counted, grouped};
use mary_stats::bootstrap::{Bootstrap, Units, percentile};
use mary_store::RunFolder;
use mary_study::results::{self, Results};
use mary_study::status::{self as standing, Unfinished};
use mary_study::store::{Admission, PersonState};
use mary_study::{Participation, PeopleStatistics, Session, export as rows};
use serde::Serialize;

use super::opened;
use crate::commands::{print, print_json, summary, tell};
use crate::exit::{Status, UsageError, missing_error, usage_error};
use crate::rundir;
use crate::settings::Place;

#[derive(Debug, Args)]
pub struct StudyPathArgs {
    /// The study's folder
    pub study: PathBuf,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct CloseArgs {
    /// The study's folder
    pub study: PathBuf,
    /// Close at once, even while people are taking part; whoever has begun gets the completion code
    #[arg(long)]
    pub yes: bool,
    /// Let nobody new in, and let whoever is taking part finish; close it afterwards
    #[arg(long, conflicts_with = "yes")]
    pub let_finish: bool,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ResultsArgs {
    /// The study's folder, or a run folder whose trials are people
    pub study: String,
    /// Also count people whom the study's rules leave out
    #[arg(long)]
    pub with_excluded: bool,
    /// A run of models: paired with people, item by item
    #[arg(long, value_name = "RUN")]
    pub against: Option<String>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ExportStudyArgs {
    /// The study's folder
    pub study: PathBuf,
    /// Folder to write into [default: export/ in the study's folder]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct WithdrawArgs {
    /// The study's folder
    pub study: PathBuf,
    /// The person's participant number (p-…), or the platform's id of them
    #[arg(required_unless_present = "platform_ids")]
    pub person: Option<String>,
    /// Delete all ids of platforms instead, once everybody is paid
    #[arg(long, conflicts_with = "person")]
    pub platform_ids: bool,
}

pub fn status(place: &Place, study: &Path, json: bool) -> anyhow::Result<Status> {
    let (session, _thread) = opened(place, study)?;
    let (people, admission) = (session.people()?, session.admission()?);
    let mut all = standing::rows(&session.study, &people, admission);
    let pending = session.deletion_pending()?;
    all.push(("deletions pending".into(), pending.to_string()));
    if json {
        let all: BTreeMap<String, String> = all.into_iter().collect();
        print_json(&all)?;
    } else {
        for (name, value) in all {
            print(&format!("{name:<32} {value}\n"))?;
        }
    }
    let unfinished = Unfinished::among(&people);
    match admission {
        Admission::Open => {}
        Admission::LettingFinish => tell!(
            "note: nobody new is admitted; {} may finish",
            counted(session.inside()?, "person")
        ),
        Admission::Closed if unfinished.is_empty() => {}
        Admission::Closed => tell!("note: {unfinished}"),
    }
    Ok(Status::Done)
}

pub fn close(place: &Place, args: &CloseArgs) -> anyhow::Result<Status> {
    let (session, _thread) = opened(place, &args.study)?;
    let open = !session.is_closed()?;
    let inside = if open { session.inside()? } else { 0 };
    if inside > 0 && args.let_finish {
        session.stop_admission()?;
        print(&format!(
            "nobody new is admitted; {} may finish\n",
            counted(inside, "person")
        ))?;
        tell!("then: mary study close {}", args.study.display());
        return Ok(Status::Done);
    }
    let finished = |one: &Participation| one.person.state == PersonState::Finished;
    let ask = inside > 0 || open && !session.people()?.iter().any(finished);
    if ask && !args.yes && !may_close(inside)? {
        tell!("nothing was changed");
        return Ok(Status::Incomplete);
    }
    let Some((path, made, found)) = session.close(&place.registry, &place.runs)? else {
        let why = nobody_counts(&session.judged(&place.registry)?);
        if args.json {
            print_json(&serde_json::json!({"closed": true, "run": null}))?;
        } else {
            print("the study is closed\n")?;
        }
        tell!("note: no run was written: {why}");
        return Ok(Status::Done);
    };
    summary::show(&made, args.json)?;
    if !args.json {
        show(&found.samples)?;
        super::judging::show(&session, &found.samples)?;
    }
    note_unfinished(found.unfinished);
    tell!(
        "{} finished, {} of them excluded by the rules\n{}\n\
         next: mary report {} (add a run of models to compare), mary study results {} --against RUN",
        counted(found.finished, "person"),
        found.excluded,
        path.display(),
        path.display(),
        path.display()
    );
    Ok(Status::Done)
}

fn nobody_counts(found: &Results) -> String {
    let mut why = match found.finished {
        0 => "nobody has finished".to_owned(),
        n => format!("{} finished, excluded by the rules", counted(n, "person")),
    };
    if !found.unfinished.is_empty() {
        why.push_str(&format!("\n{}", found.unfinished));
    }
    why
}

fn note_unfinished(unfinished: Unfinished) {
    if !unfinished.is_empty() {
        tell!("note: {unfinished}");
    }
}

/// Asks whether a study is to be closed while people take part, or before anybody has finished; a script has to
/// say so beforehand.
fn may_close(inside: usize) -> anyhow::Result<bool> {
    let who = match inside {
        0 => {
            "nobody has finished, and a closed study cannot be opened again\nhint: --yes closes it"
                .into()
        }
        n => format!(
            "{} {} taking part at the moment\nhint: --let-finish admits nobody new and lets them finish; --yes \
             closes at once, and whoever has begun gets the completion code",
            counted(n, "person"),
            if n == 1 { "is" } else { "are" }
        ),
    };
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return usage_error(who);
    }
    tell!("{who}\nClose now? [y/N]");
    let mut said = String::new();
    std::io::stdin().read_line(&mut said)?;
    Ok(["y", "yes"].contains(&said.trim().to_ascii_lowercase().as_str()))
}

fn by_task(samples: &[Sample]) -> BTreeMap<&str, Vec<&Sample>> {
    grouped(samples.iter().map(|s| (s.id.task.as_str(), s)))
}

fn show(samples: &[Sample]) -> anyhow::Result<()> {
    for (task, of_task) in by_task(samples) {
        print(&format!(
            "\n{task}\n{}",
            PeopleStatistics::from_samples(&of_task)
        ))?;
    }
    Ok(())
}

#[derive(Serialize)]
struct TaskResult {
    task: String,
    #[serde(flatten)]
    statistics: PeopleStatistics,
}

/// Where people stand on the scale of an adaptive study.
fn abilities(session: &Session) -> anyhow::Result<()> {
    let Some(test) = &session.study.adaptive else {
        return Ok(());
    };
    let people = session.people()?;
    let finished = people
        .iter()
        .filter(|one| one.person.state == PersonState::Finished);
    for one in finished {
        if let Some((ability, answers)) =
            test.standing(one.answers.iter().map(|a| (a.item, &a.answer)))
        {
            let (low, high) = ability.bounds();
            print(&format!(
                "{:<14} ability {:>6.2} [{low:.2}, {high:.2}] from {}\n",
                one.person.pseudonym,
                ability.value,
                counted(answers, "answer")
            ))?;
        }
    }
    Ok(())
}

pub fn results(place: &Place, args: &ResultsArgs) -> anyhow::Result<Status> {
    let path = Path::new(&args.study);
    let is_study = path.join(mary_study::DATABASE).exists() || path.join("study.toml").exists();
    let samples = if is_study {
        let (session, _thread) = opened(place, path)?;
        let mut found = session.judged(&place.registry)?;
        let samples = std::mem::take(match args.with_excluded {
            true => &mut found.with_excluded,
            false => &mut found.samples,
        });
        if samples.is_empty() {
            let hint = match found.finished {
                0 => "",
                _ => "\nhint: --with-excluded counts them",
            };
            let why = nobody_counts(&found);
            return missing_error(format!("{}: {why}{hint}", args.study));
        }
        if !args.json {
            super::judging::show(&session, &samples)?;
            abilities(&session)?;
        }
        note_unfinished(found.unfinished);
        samples
    } else {
        let folder = RunFolder::open(&rundir::find(place, Some(&args.study))?)?;
        let people = |s: &Sample| s.id.model.starts_with(&format!("{}/", results::PEOPLE));
        let all = folder.samples()?.collect::<Result<Vec<_>, _>>()?;
        all.into_iter().filter(people).collect()
    };
    if samples.is_empty() {
        return missing_error(format!("{}: no answers of people", args.study));
    }
    let differences = match &args.against {
        Some(run) => Some(against(&samples, &rundir::find(place, Some(run))?)?),
        None => None,
    };
    if args.json {
        let tasks: Vec<TaskResult> = by_task(&samples)
            .into_iter()
            .map(|(task, of_task)| TaskResult {
                task: task.to_owned(),
                statistics: PeopleStatistics::from_samples(&of_task),
            })
            .collect();
        return match &differences {
            Some(against) => print_json(&serde_json::json!({"tasks": tasks, "against": against})),
            None => print_json(&tasks),
        };
    }
    show(&samples)?;
    for (at, one) in differences.iter().flatten().enumerate() {
        if at == 0 {
            print("\npeople minus model, paired by item (95 % interval by resampling items)\n")?;
        }
        print(&format!("{one}\n"))?;
    }
    Ok(Status::Done)
}

#[derive(Serialize)]
struct Difference {
    model: String,
    label: String,
    items: usize,
    #[serde(flatten)]
    found: Option<Bounds>,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Serialize)]
struct Bounds {
    difference: f64,
    low: f64,
    high: f64,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (label, items) = (&self.label, counted(self.items, "item"));
        match (&self.found, &self.error) {
            (Some(found), _) => write!(
                f,
                "{label}: {:+.2} [{:+.2}, {:+.2}] on {items}",
                100.0 * found.difference,
                100.0 * found.low,
                100.0 * found.high
            ),
            (None, error) => write!(
                f,
                "{label}: {items} in common; {}",
                error.as_deref().unwrap_or_default()
            ),
        }
    }
}

/// People minus each model of a run, item by item: the items that both have are drawn again. Models are called
/// as everywhere, by the label the user gave or the shortest name.
fn against(people: &[Sample], run: &Path) -> anyhow::Result<Vec<Difference>> {
    type Means = BTreeMap<(String, String), (f64, usize)>;
    let mut ours = Means::new();
    let mut models: BTreeMap<String, Means> = BTreeMap::new();
    fn add(means: &mut Means, sample: &Sample) {
        if let Outcome::Scored(score) = sample.judgement.outcome {
            let key = (sample.id.task.clone(), sample.id.item.clone());
            let mean = means.entry(key).or_default();
            mean.0 += score;
            mean.1 += 1;
        }
    }
    people.iter().for_each(|s| add(&mut ours, s));
    let path = run;
    let run = RunFolder::open(path)?;
    for sample in run.samples()? {
        let sample = sample?;
        add(models.entry(sample.id.model.clone()).or_default(), &sample);
    }
    let labels = model_labels(&run.manifest().models);
    let difference = |(model, theirs): (String, Means)| {
        let mean = |m: &(f64, usize)| m.0 / m.1 as f64;
        let pairs: Vec<f64> = ours
            .iter()
            .filter_map(|(key, own)| Some(mean(own) - mean(theirs.get(key)?)))
            .collect();
        let units = Units::singles(pairs.len());
        let of = |drawn: &[usize]| {
            let sum: f64 = drawn.iter().filter_map(|&i| pairs.get(i)).sum();
            sum / drawn.len() as f64
        };
        let (found, error) = match percentile(&units, of, &Bootstrap::default()) {
            Err(_) if pairs.len() < 2 => (None, Some("an interval needs two or more".into())),
            Ok(found) => {
                let bounds = Bounds {
                    difference: found.value,
                    low: found.low,
                    high: found.high,
                };
                (Some(bounds), None)
            }
            Err(error) => (None, Some(error.to_string())),
        };
        Difference {
            label: labels.get(&model).unwrap_or(&model).clone(),
            items: pairs.len(),
            model,
            found,
            error,
        }
    };
    let found: Vec<Difference> = models.into_iter().map(difference).collect();
    if found.iter().all(|one| one.items == 0) {
        return Err(nothing_in_common(people, &run.manifest().tasks, path).into());
    }
    Ok(found)
}

fn nothing_in_common(people: &[Sample], asked: &[TaskRun], run: &Path) -> UsageError {
    let tasks: Vec<&str> = by_task(people).into_keys().collect();
    let both = tasks.iter().any(|t| asked.iter().any(|run| *run.id == **t));
    let tasks = tasks.join(", ");
    let (why, hint) = if both {
        (
            format!("it has no scored answer to any of the items of {tasks} that people answered"),
            "ask the models with the seed and the settings with which the study was made",
        )
    } else {
        let own: Vec<&str> = asked.iter().map(|run| &*run.id).collect();
        (
            format!(
                "expected answers to {tasks}, which people were asked; found {}",
                own.join(", ")
            ),
            "name a run of the same task (`mary runs` lists them)",
        )
    };
    UsageError::new(format!("--against {}: {why}\nhint: {hint}", run.display()))
}

pub fn export(place: &Place, args: &ExportStudyArgs) -> anyhow::Result<Status> {
    let (session, _thread) = opened(place, &args.study)?;
    let found = session.judged(&place.registry)?;
    note_unfinished(found.unfinished);
    let beside = || args.study.join("export");
    let out = args.out.clone().unwrap_or_else(beside);
    for file in rows::write(&session, &found, &session.people()?, &out)? {
        print(&format!("{}\n", file.display()))?;
    }
    Ok(Status::Done)
}

/// Deletes a person from everything Mary knows of; what is left is named.
pub fn withdraw(place: &Place, args: &WithdrawArgs) -> anyhow::Result<Status> {
    let (session, _thread) = opened(place, &args.study)?;
    let (who, deletion) = match &args.person {
        None => {
            let (n, deletion) = session.forget_platform()?;
            (format!("{n} ids of platforms"), deletion)
        }
        Some(who) => {
            session.know_run(&place.runs)?;
            let Some(deletion) = session.withdraw(who, Some(&place.registry))? else {
                return missing_error(format!(
                    "nobody is called `{who}` in {}\nhint: the number on the person's last page, or the platform's id of them",
                    args.study.display()
                ));
            };
            (format!("{who} and all their answers"), deletion)
        }
    };
    deletion.notes.iter().for_each(|n| tell!("note: {n}"));
    if deletion.complete() {
        return print(&format!(
            "{who}: deleted from the database, its journal and every copy that Mary wrote\n"
        ));
    }
    print(&format!(
        "{who}: deleted from the study, not yet from every file\n"
    ))?;
    for line in &deletion.waiting {
        print(&format!("still in {line}\n"))?;
    }
    tell!(
        "a running `mary study serve` goes on with it, and so does every later command, for example:\n\
         mary study status {}",
        args.study.display()
    );
    Ok(Status::Incomplete)
}
