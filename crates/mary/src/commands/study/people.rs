//! `mary study status`, `close`, `results`, `export` and `withdraw`.

use std::collections::BTreeMap;
use std::path::Path;

use mary_contract::{Outcome, Sample};
use mary_stats::bootstrap::{Bootstrap, Units, percentile};
use mary_store::RunFolder;
use mary_study::{PeopleStatistics, Session, export as rows, results, status as standing};
use serde::Serialize;

use crate::cli::study::{ExportStudyArgs, ResultsArgs, WithdrawArgs};
use crate::commands::{print, print_json, summary, tell};
use crate::exit::{MissingError, Status};
use crate::rundir;
use crate::settings::Place;

/// How the study stands.
pub fn status(study: &Path, json: bool) -> anyhow::Result<Status> {
    let (session, _thread) = Session::open(study)?;
    let mut all = standing::rows(&session.study, &session.people()?);
    all.push(("closed".into(), session.is_closed()?.to_string()));
    if json {
        let all: BTreeMap<String, String> = all.into_iter().collect();
        print_json(&all)?;
    } else {
        for (name, value) in all {
            print(&format!("{name:<32} {value}\n"))?;
        }
    }
    Ok(Status::Done)
}

/// Ends it and writes the run folder.
pub fn close(place: &Place, study: &Path, json: bool) -> anyhow::Result<Status> {
    let (session, _thread) = Session::open(study)?;
    let (path, made, found) = session.close(&place.registry, &place.runs)?;
    summary::show(&made, json)?;
    if !json {
        show(&found.samples)?;
        super::judging::show(&session, &found.samples)?;
    }
    tell(&format!(
        "{} people finished, {} of them left out by the rules\n{}\n\
         next: mary report {} (with a run of models beside it), mary study results {} --against RUN",
        found.finished,
        found.excluded,
        path.display(),
        path.display(),
        path.display()
    ));
    Ok(Status::Done)
}

/// The samples by task.
fn by_task(samples: &[Sample]) -> BTreeMap<&str, Vec<&Sample>> {
    let mut tasks: BTreeMap<&str, Vec<&Sample>> = BTreeMap::new();
    for sample in samples {
        tasks.entry(&sample.id.task).or_default().push(sample);
    }
    tasks
}

fn show(samples: &[Sample]) -> anyhow::Result<()> {
    for (task, of_task) in by_task(samples) {
        print(&format!("\n{task}\n{}", PeopleStatistics::of(&of_task)))?;
    }
    Ok(())
}

#[derive(Serialize)]
struct TaskResult {
    task: String,
    #[serde(flatten)]
    statistics: PeopleStatistics,
}

/// Scores, agreement, learning, times.
pub fn results(place: &Place, args: &ResultsArgs) -> anyhow::Result<Status> {
    let path = Path::new(&args.study);
    let is_study = path.join(mary_study::DATABASE).exists() || path.join("study.toml").exists();
    let samples = if is_study {
        let (session, _thread) = Session::open(path)?;
        let found = session.judged(&place.registry)?;
        let samples = if args.with_excluded {
            found.with_excluded
        } else {
            found.samples
        };
        if !args.json {
            super::judging::show(&session, &samples)?;
        }
        samples
    } else {
        let folder = RunFolder::open(&rundir::find(place, Some(&args.study))?)?;
        let people = |s: &Sample| s.id.model.starts_with(&format!("{}/", results::PEOPLE));
        let all = folder.samples()?.collect::<Result<Vec<_>, _>>()?;
        all.into_iter().filter(people).collect()
    };
    if samples.is_empty() {
        return Err(MissingError(format!("{}: no answers of people", args.study)).into());
    }
    if args.json {
        let all: Vec<TaskResult> = by_task(&samples)
            .into_iter()
            .map(|(task, of_task)| TaskResult {
                task: task.to_owned(),
                statistics: PeopleStatistics::of(&of_task),
            })
            .collect();
        print_json(&all)?;
    } else {
        show(&samples)?;
    }
    if let Some(run) = &args.against {
        against(&samples, &rundir::find(place, Some(run))?)?;
    }
    Ok(Status::Done)
}

/// People less a model, item by item: the items that both have are drawn again.
fn against(people: &[Sample], run: &Path) -> anyhow::Result<()> {
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
    for sample in RunFolder::open(run)?.samples()? {
        let sample = sample?;
        add(models.entry(sample.id.model.clone()).or_default(), &sample);
    }
    print("\npeople less model, paired by item (95 % interval: items drawn again)\n")?;
    for (model, theirs) in models {
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
        match percentile(&units, of, &Bootstrap::default()) {
            Ok(found) => print(&format!(
                "{model}: {:+.2} [{:+.2}, {:+.2}] on {} items\n",
                100.0 * found.value,
                100.0 * found.low,
                100.0 * found.high,
                pairs.len()
            ))?,
            Err(error) => print(&format!(
                "{model}: {} items in common; {error}\n",
                pairs.len()
            ))?,
        }
    }
    Ok(())
}

/// Rows for others.
pub fn export(place: &Place, args: &ExportStudyArgs) -> anyhow::Result<Status> {
    let (session, _thread) = Session::open(&args.study)?;
    let found = session.judged(&place.registry)?;
    let out = args
        .out
        .clone()
        .unwrap_or_else(|| args.study.join("export"));
    for file in rows::write(&session, &found, &session.people()?, &out)? {
        print(&format!("{}\n", file.display()))?;
    }
    Ok(Status::Done)
}

/// Deletes a person; a run folder that was written with them is written again.
pub fn withdraw(place: &Place, args: &WithdrawArgs) -> anyhow::Result<Status> {
    let (session, _thread) = Session::open(&args.study)?;
    let Some(who) = &args.person else {
        let n = session.forget_platform()?;
        print(&format!("{n} ids of platforms deleted\n"))?;
        return Ok(Status::Done);
    };
    if !session.withdraw(who)? {
        return Err(MissingError(format!(
            "nobody is called `{who}` in {}\nhint: the number on the person's last page, or the platform's id of them",
            args.study.display()
        ))
        .into());
    }
    print(&format!("{who} and all their answers are deleted\n"))?;
    if session.is_closed()? {
        match session.close(&place.registry, &place.runs) {
            Ok((path, ..)) => tell(&format!("written again without them: {}", path.display())),
            Err(error) => tell(&format!("note: {error}")),
        }
    }
    Ok(Status::Done)
}
