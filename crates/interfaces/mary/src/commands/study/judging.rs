//! People who judge what models wrote: a study made from the form that a family writes of a run
//! (`mary study new --judge RUN`), and forms filled in as spreadsheets, read back.

use std::path::PathBuf;

use clap::Args;
use mary_contract::{Arguments, Sample};
use mary_store::RunFolder;
use mary_study::Session;
use mary_study::forms::{self, Form, FormOrigin};
use mary_study::freeze::Frozen;
use mary_study::judgements::{self, Joining};
use mary_study::settings::Language;

use super::design::NewStudyArgs;
use crate::commands::{family, print, print_json, summary, tell};
use crate::exit::{Status, usage_error};
use crate::rundir;
use crate::settings::Place;

#[derive(Debug, Args)]
pub struct ReadArgs {
    /// The study's folder and marks.csv; or forms of a family (one for each judge) with a column of 0 and 1
    #[arg(required = true, value_name = "STUDY MARKS | FORM…")]
    pub files: Vec<PathBuf>,
    /// With forms: the run they were written from; it is written again with the judgements beside its own
    #[arg(long, value_name = "RUN")]
    pub run: Option<String>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// What the models of a run wrote, as items of a study.
pub fn frozen(
    place: &Place,
    run: &str,
    args: &NewStudyArgs,
    language: Language,
) -> anyhow::Result<Frozen> {
    let path = rundir::find(place, Some(run))?;
    let folder = RunFolder::open(&path)?;
    let wanted = |task: &str| args.tasks.is_empty() || args.tasks.iter().any(|t| t == task);
    let form_wanted = |name: &str| args.form.as_deref().is_none_or(|form| form == name);
    let (mut known, mut forms_known) = (Vec::new(), Vec::new());
    for of in place.registry.families() {
        let actions = of.command().map(|c| c.actions).unwrap_or_default();
        for action in actions {
            let Some(pattern) = &action.samples_of else {
                continue;
            };
            known.push(pattern.to_string());
            let mut tasks = folder.manifest().tasks.iter().map(|t| t.id.as_str());
            let Some(task) = tasks.find(|t| family::reads(pattern, t) && wanted(t)) else {
                continue;
            };
            forms_known.push(action.name.to_string());
            if !form_wanted(&action.name) {
                continue;
            }
            let samples = family::samples(&folder, task)?;
            if samples.is_empty() {
                continue;
            }
            let made = of
                .act(&action.name, &Arguments::default(), samples)
                .map_err(family::told)?;
            // An action that writes something else of a run, and one that finds nothing to mark.
            let Some((_, form)) = made.form.filter(|(_, form)| !form.lines.is_empty()) else {
                continue;
            };
            let form = Form::from(&form);
            let source = FormOrigin {
                run: folder.manifest().id.clone(),
                path: std::path::absolute(&path)?.to_string_lossy().into_owned(),
                task: task.to_owned(),
            };
            let made = forms::frozen(&form, &source, language, args.items, args.seed)?;
            return Ok(made);
        }
    }
    if let Some(form) = args
        .form
        .as_ref()
        .filter(|form| !forms_known.contains(form))
    {
        return usage_error(format!(
            "--form {form}: expected one of {}",
            forms_known.join(", ")
        ));
    }
    known.dedup();
    usage_error(format!(
        "{}: it holds nothing that people could judge; expected answers to {}\n\
         hint: run such a task first (`mary run -t TASK`)",
        path.display(),
        match known.as_slice() {
            [] => format!("a task with a form, not {}", args.tasks.join(", ")),
            some => some.join(", "),
        }
    ))
}

pub fn show(session: &Session, samples: &[Sample]) -> anyhow::Result<()> {
    let keys = session.study.keys()?;
    let marks = session.verdicts(&keys, samples);
    if let Some(judging) = keys.judging.filter(|_| !marks.is_empty()) {
        let found = judgements::by_model(&marks)?;
        print(&format!(
            "\n{}",
            judgements::table(&found, &judging.measure)
        ))?;
    }
    Ok(())
}

/// Reads forms that were filled in, one for each judge; with a run, writes that run again with the
/// judgements beside its own.
pub fn read(place: &Place, files: &[PathBuf], args: &ReadArgs) -> anyhow::Result<Status> {
    let mut read = Vec::new();
    for file in files {
        let judge = file.file_stem().unwrap_or_default().to_string_lossy();
        let form = forms::read(
            &file.display().to_string(),
            &mary_platform::read_plain(file, 256 << 20)?,
        )?;
        read.push((judge.into_owned(), form));
    }
    let measure = measure(&read)?;
    let run = match &args.run {
        Some(run) => Some(RunFolder::open(&rundir::find(place, Some(run))?)?),
        None => None,
    };
    let mut task = None;
    if let Some(run) = &run {
        for (_, form) in &mut read {
            let answers = run.verdicts()?.filter_map(Result::ok).map(|v| v.id);
            task = form.named(answers)?;
        }
    }
    let marks = judgements::of_forms(&read);
    let found = judgements::by_model(&marks)?;
    if args.json {
        print_json(&found)?;
    } else {
        print(&judgements::table(&found, &measure))?;
    }
    let Some(run) = run else {
        if read
            .iter()
            .any(|(_, form)| form.lines.iter().any(|l| l.of.model == forms::BLIND))
        {
            tell!(
                "hint: --run RUN shows each model by itself, and writes the run again with the judgements"
            );
        }
        return Ok(Status::Done);
    };
    let task = task.or_else(|| judged_task(place, &run));
    let joining = Joining {
        name: "forms",
        task: task.as_deref(),
        measure: &measure,
    };
    let (path, made) = judgements::write_run(&place.runs, &run, &place.registry, joining, &marks)?;
    if !args.json {
        summary::show(&made, false)?;
    }
    tell!("{}", path.display());
    Ok(Status::Done)
}

/// What the verdicts of some forms become; forms of two kinds are not read together.
fn measure(read: &[(String, Form)]) -> anyhow::Result<String> {
    let mut names: Vec<&str> = read.iter().map(|(_, form)| form.measure.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    match names.as_slice() {
        [one] => Ok((*one).to_owned()),
        _ => usage_error(format!(
            "expected forms of one kind, found {}\nhint: read each kind by itself",
            names.join(" and ")
        )),
    }
}

/// The task of a run that a family writes a form of: items of other tasks may have the same ids.
fn judged_task(place: &Place, run: &RunFolder) -> Option<String> {
    let asked = |task: &str| run.manifest().tasks.iter().any(|t| t.id == task);
    let commands = place.registry.families().iter().filter_map(|f| f.command());
    let tasks = commands
        .flat_map(|c| c.actions)
        .filter_map(|a| a.samples_of);
    tasks.map(|t| t.to_string()).find(|t| asked(t))
}
