//! People who judge what models wrote: a study made from the form that a family writes of a run
//! (`mary study new --judge RUN`), and forms filled in as spreadsheets, read back.

use std::path::PathBuf;

use mary_contract::{Arguments, Sample};
use mary_store::RunFolder;
use mary_study::Session;
use mary_study::forms::{self, Form, Source};
use mary_study::freeze::Frozen;
use mary_study::judgements::{self, Joining};
use mary_study::settings::Language;

use crate::cli::study::{NewStudyArgs, ReadArgs};
use crate::commands::{family, print, print_json, summary, tell};
use crate::exit::{Status, UsageError};
use crate::rundir;
use crate::settings::Place;

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
            let Some(task) = action.samples_of.as_ref().filter(|task| wanted(task)) else {
                continue;
            };
            known.push(task.to_string());
            forms_known.push(action.name.to_string());
            if !form_wanted(&action.name) {
                continue;
            }
            let mut samples = Vec::new();
            for sample in folder.samples()? {
                let sample = sample?;
                if *sample.id.task == **task {
                    samples.push(sample);
                }
            }
            if samples.is_empty() {
                continue;
            }
            let made = of
                .act(&action.name, &Arguments::default(), samples)
                .map_err(family::told)?;
            let Some((_, form)) = made.files.first() else {
                continue;
            };
            let form = forms::read(task, form)?;
            let source = Source {
                run: folder.manifest().id.clone(),
                path: std::path::absolute(&path)?.to_string_lossy().into_owned(),
                task: task.to_string(),
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
        return Err(UsageError::new(format!(
            "--form {form}: expected one of {}",
            forms_known.join(", ")
        ))
        .into());
    }
    known.dedup();
    Err(UsageError::new(format!(
        "{}: it holds nothing that people could judge; expected answers to {}\n\
         hint: run such a task first (`mary run -t TASK`)",
        path.display(),
        match known.as_slice() {
            [] => format!("a task with a form, not {}", args.tasks.join(", ")),
            some => some.join(", "),
        }
    ))
    .into())
}

/// What judges are told; `measure` is what their verdicts become.
pub fn instructions(language: Language, texts: usize, measure: &str) -> String {
    let whole = measure == judgements::MEASURE;
    match language {
        Language::En if !whole => format!(
            "You will see {texts} pages, one after the other. Each shows something that a language model wrote and \
             one thing that it may say. Judge whether it says it, in whatever words; do not judge whether it is \
             right. You cannot go back to a page."
        ),
        Language::Zh if !whole => format!(
            "您将依次看到 {texts} 个页面。每页有一段由语言模型写的文字，以及其中可能说到的一点。请判断文字是否说到了这一点\
             （用什么词都可以），不必判断说得对不对。判断后不能返回上一页。"
        ),
        Language::En => format!(
            "You will read {texts} texts that language models wrote, one after the other, and judge each. \
             Judge what is said about the subject and the examples that are given. A slip that has nothing to do \
             with the subject, such as a wrong year, does not count. You cannot go back to a text."
        ),
        Language::Zh => format!(
            "您将依次阅读 {texts} 段由语言模型写的文字，并逐一作出判断。请判断其中关于主题的说法和所举的例子。\
             与主题无关的小错（例如年份写错）不算错误。判断后不能返回上一段。"
        ),
    }
}

/// What the judges of a study say, model by model; nothing for a study of another kind.
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
    let marks = judgements::of_forms(&read);
    let found = judgements::by_model(&marks)?;
    if args.json {
        print_json(&found)?;
    } else {
        print(&judgements::table(&found, &measure))?;
    }
    let Some(run) = &args.run else {
        return Ok(Status::Done);
    };
    let run = RunFolder::open(&rundir::find(place, Some(run))?)?;
    let task = judged_task(place, &run)?;
    let joining = Joining {
        name: "forms",
        task: task.as_deref(),
        measure: &measure,
    };
    let (path, made) = judgements::write_run(&place.runs, &run, &place.registry, joining, &marks)?;
    if !args.json {
        summary::show(&made, false)?;
    }
    tell(&path.display().to_string());
    Ok(Status::Done)
}

/// What the verdicts of some forms become; forms of two kinds are not read together.
fn measure(read: &[(String, Form)]) -> anyhow::Result<String> {
    let mut names: Vec<&str> = read.iter().map(|(_, form)| form.measure.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    match names.as_slice() {
        [one] => Ok((*one).to_owned()),
        _ => Err(UsageError::new(format!(
            "expected forms of one kind, found {}\nhint: read each kind by itself",
            names.join(" and ")
        ))
        .into()),
    }
}

/// The task of a run that a family writes a form of: items of other tasks may have the same ids.
fn judged_task(place: &Place, run: &RunFolder) -> anyhow::Result<Option<String>> {
    let asked = |task: &str| run.manifest().tasks.iter().any(|t| t.id == task);
    let commands = place.registry.families().iter().filter_map(|f| f.command());
    let tasks = commands
        .flat_map(|c| c.actions)
        .filter_map(|a| a.samples_of);
    Ok(tasks.map(|t| t.to_string()).find(|t| asked(t)))
}
