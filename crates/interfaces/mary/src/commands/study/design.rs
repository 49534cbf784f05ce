//! `mary study new` and `mary study power`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use mary_lab::TaskOptions;
use mary_lab::scale::{Scale, item_hash};
use mary_platform::counted;
use mary_stats::crossed::StudyPlan;
use mary_study::freeze::{Frozen, StudyTask, freeze};
use mary_study::lists::Lists;
use mary_study::presets::{Preset, preset, presets};
use mary_study::question::{NoneFits, Question};
use mary_study::settings::{Check, CheckKind, Consent, Language, Platform, PlatformKind, Rules};
use mary_study::{AdaptiveTest, Settings, Study, judgements, random_token, reading};
use serde::Deserialize;

use crate::cli::choices::{Choices, one_of};
use crate::commands::run::until;
use crate::commands::{print, tell};
use crate::exit::{Status, UsageError, usage_error};
use crate::settings::Place;

const LISTS: Choices<Lists> = &[("latin", Lists::Latin), ("balanced", Lists::Balanced)];

const NONE_FITS: Choices<NoneFits> =
    &[("beside", NoneFits::Beside), ("instead", NoneFits::Instead)];

const LANGUAGES: Choices<Language> = &[("en", Language::En), ("zh", Language::Zh)];

const PLATFORMS: Choices<PlatformKind> = &[
    ("none", PlatformKind::None),
    ("prolific", PlatformKind::Prolific),
    ("mturk", PlatformKind::Mturk),
];

#[derive(Debug, Args)]
pub struct NewStudyArgs {
    /// Tasks: ids, wildcards or task files (repeatable)
    #[arg(
        short,
        long,
        visible_alias = "task",
        value_delimiter = ',',
        required_unless_present_any = ["judge", "preset", "adaptive", "read"]
    )]
    pub tasks: Vec<String>,
    /// The design of a published study: yang-2025 (350 questions about objects in seven sets of 50, two sets
    /// a person, subtasks in one order)
    #[arg(long, value_name = "NAME", value_parser = known_preset, conflicts_with_all = ["tasks", "judge", "items", "per_person", "lists"])]
    pub preset: Option<&'static Preset>,
    /// Self-paced reading: uncover the sentences of this table (.csv, .tsv) word by word; columns `sentence`,
    /// `item`, `question`, `options` (parted by |) and `answer`, all others are conditions
    #[arg(long, value_name = "TABLE", conflicts_with_all = ["tasks", "preset", "judge", "adaptive", "items", "per_person", "lists", "set", "shots", "none_fits"])]
    pub read: Option<PathBuf>,
    /// Judge what the models of a stored run wrote, instead of answering items; -t then names the task
    #[arg(long, value_name = "RUN", conflicts_with_all = ["shots", "none_fits", "set"])]
    pub judge: Option<String>,
    /// Let the server choose each person's next item from this scale (`mary scale`), until enough is known
    #[arg(long, value_name = "SCALE", conflicts_with_all = ["tasks", "preset", "judge", "items", "lists", "set", "shots"])]
    pub adaptive: Option<PathBuf>,
    /// With --adaptive: standard error at which a person has answered enough; --per-person is the most
    #[arg(
        long,
        value_name = "RULE",
        value_delimiter = ',',
        requires = "adaptive",
        default_value = "se=0.4"
    )]
    pub until: Vec<String>,
    /// With --judge: which form of the task's family is asked, for example recall [default: its first]
    #[arg(long, value_name = "NAME", requires = "judge")]
    pub form: Option<String>,
    /// Folder to write
    #[arg(short, long, value_name = "DIR")]
    pub out: PathBuf,
    /// People wanted [default: 30, or as many as the preset has]
    #[arg(long)]
    pub people: Option<usize>,
    /// Items that each person answers [default: 40, or all where there are fewer]
    #[arg(long)]
    pub per_person: Option<usize>,
    /// Items in all, drawn by the seed [default: as many as each person answers]
    #[arg(long)]
    pub items: Option<usize>,
    /// How items are given to people
    #[arg(long, value_parser = one_of("design.lists", LISTS), default_value = "latin")]
    pub lists: Lists,
    /// Seed of items, lists and orders
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Task setting (repeatable)
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Labelled examples, for tasks that show some
    #[arg(long, alias = "num-fewshot")]
    pub shots: Option<usize>,
    /// People may say that none of the options fits: beside the answer that they give all the same, or instead of one
    #[arg(long, value_name = "HOW", value_parser = one_of("design.none-fits", NONE_FITS), num_args = 0..=1, require_equals = true, default_missing_value = "beside")]
    pub none_fits: Option<NoneFits>,
    /// Seconds for one question; 0 is no limit [default: what the task's protocol gives, or none]
    #[arg(long)]
    pub seconds: Option<u32>,
    /// Name of the study: letters, digits and hyphens [default: the folder's name]
    #[arg(long)]
    pub name: Option<String>,
    /// Language of the pages
    #[arg(long, value_parser = one_of("design.languages", LANGUAGES), default_value = "en")]
    pub language: Language,
    /// Where people come from
    #[arg(long, value_parser = one_of("design.platforms", PLATFORMS), default_value = "none")]
    pub platform: PlatformKind,
}

#[derive(Debug, Args)]
pub struct PowerArgs {
    /// Accuracy that is expected
    #[arg(long, default_value_t = 0.85)]
    pub accuracy: f64,
    /// Standard deviation of accuracy between people
    #[arg(long, default_value_t = 0.10)]
    pub sd_people: f64,
    /// Standard deviation of accuracy between items
    #[arg(long, default_value_t = 0.15)]
    pub sd_items: f64,
    /// Half the width of the interval that is wanted
    #[arg(long, default_value_t = 0.05)]
    pub half_width: f64,
    /// Items that each person answers
    #[arg(long, default_value_t = 40)]
    pub per_person: u64,
}

fn known_preset(name: &str) -> Result<&'static Preset, String> {
    preset(name).ok_or_else(|| {
        let names: Vec<&str> = presets().iter().map(|p| p.name.as_str()).collect();
        format!("there are: {}", names.join(", "))
    })
}

const PER_PERSON: usize = 40;
const PEOPLE: usize = 30;
/// Minutes without a sign of life after which a place is given to another.
const MINUTES: u32 = 60;
/// Bytes of a table of sentences.
const LARGEST_TABLE: u64 = 64 << 20;

pub fn new(place: &Place, args: &NewStudyArgs) -> anyhow::Result<Status> {
    let language = args.language;
    let scale = args.adaptive.as_deref().map(Scale::read).transpose()?;
    let mut per_person = args.per_person.or(args.preset.map(|p| p.per_person));
    let mut frozen = match (&args.judge, &scale, &args.read) {
        (Some(run), ..) => super::judging::frozen(place, run, args, language)?,
        (None, Some(scale), _) => of_scale(place, args, scale)?,
        (None, None, Some(table)) => {
            let name = table.display().to_string();
            let bytes =
                mary_platform::read_plain(table, LARGEST_TABLE).with_context(|| name.clone())?;
            let (frozen, each) = reading::frozen(&name, &bytes, language)?;
            per_person = Some(each);
            frozen
        }
        (None, None, None) => drawn(place, args)?,
    };
    frozen.keys.command = crate::words::words();
    let per_person = per_person.unwrap_or(PER_PERSON).min(frozen.questions.len());
    let people = args
        .people
        .or(args.preset.map(|p| p.people))
        .unwrap_or(PEOPLE);
    if let Some(preset) = args.preset {
        tell!("design: {}", preset.about);
    }
    let folder = args.out.file_name().unwrap_or_default().to_string_lossy();
    let name = args.name.clone().unwrap_or_else(|| folder.into_owned());
    let texts = Texts::in_language(language)?;
    let checks = match args.preset {
        Some(preset) if !preset.attention => vec![],
        _ => attention(&texts, per_person),
    };
    let instructions = match &frozen.keys.judging {
        Some(judging) if judging.measure == judgements::MEASURE => &texts.judging,
        Some(_) => &texts.judging_points,
        None if args.read.is_some() => &texts.reading,
        None => &texts.instructions,
    };
    let settings = Settings {
        title: texts.title.clone(),
        people,
        per_person,
        lists: match (args.preset, &args.read) {
            (Some(_), _) => Lists::Fixed,
            (None, Some(_)) => Lists::Balanced,
            (None, None) => args.lists,
        },
        seed: args.seed,
        minutes: MINUTES,
        consent: Consent {
            version: 1,
            text: texts.consent.clone(),
        },
        instructions: with_number(instructions, per_person),
        pay: String::new(),
        platform: platform(args.platform),
        rules: Rules {
            attention_failures: u32::try_from(checks.len()).unwrap_or(1),
            seconds: args.seconds.or(frozen.seconds).unwrap_or(0),
            ..Rules::default()
        },
        checks,
        name,
        language,
    };
    settings.check().map_err(UsageError::new)?;
    settings.reachable().map_err(UsageError::new)?;
    let study = Study::create(&args.out, &settings, &frozen)?;
    if let (Some(scale), Some(path)) = (&scale, &args.adaptive) {
        let until = until(path, &args.until)?;
        let after = settings.checks.iter().map(|check| check.after).max();
        let most = until.most.unwrap_or(per_person).min(per_person);
        let after = (after.unwrap_or(0), args.seed);
        AdaptiveTest::new(scale, &study.keys()?, (until.error, most), after)?.write(&study.path)?;
    }
    print(&format!("{}\n", study.path.display()))?;
    let untold = |q: &&Question| q.instruction.trim().is_empty() && q.reading.is_empty();
    let untold = study.questions.iter().filter(untold).count();
    if untold > 0 {
        tell!(
            "note: {} without a line that says what to do\n\
             hint: `[people] wording` in a task file of your own adds one, or say it in `instructions` of study.toml",
            counted(untold, "item")
        );
    }
    tell!(
        "{}, {}, {} a person, list by list ({:?})\n\
         fill in the parts in brackets in {}/study.toml, and look at its other texts, checks and rules\n\
         then: mary study serve {}",
        counted(study.questions.len(), "item"),
        counted(people, "person"),
        counted(per_person, "item"),
        settings.lists,
        study.path.display(),
        study.path.display()
    );
    Ok(Status::Done)
}

/// The items of a scale that people can be asked, as the scale's tasks give them.
fn of_scale(place: &Place, args: &NewStudyArgs, scale: &Scale) -> anyhow::Result<Frozen> {
    let mut wanted = Vec::new();
    for run in &scale.tasks {
        wanted.push(StudyTask {
            task: place.registry.recall(run)?.clone(),
            settings: run.settings.clone(),
            limit: None,
            none_fits: args.none_fits.unwrap_or_default(),
        });
    }
    let mut frozen = freeze(&wanted, &place.local_data(), args.seed)?;
    let bank = scale.bank(mary_lab::scale::PEOPLE);
    let (tasks, items) = (&frozen.keys.tasks, &frozen.keys.items);
    let on_scale: Vec<bool> = items
        .iter()
        .map(|key| {
            let hash = item_hash(&tasks[key.task].id, &key.item);
            bank.iter().any(|(_, item)| item.hash == hash)
        })
        .collect();
    if !on_scale.contains(&true) {
        return usage_error("none of the scale's items is among what its tasks ask people now");
    }
    let mut each = on_scale.iter();
    frozen.questions.retain(|_| each.next() == Some(&true));
    let mut each = on_scale.iter();
    frozen.keys.items.retain(|_| each.next() == Some(&true));
    Ok(frozen)
}

fn drawn(place: &Place, args: &NewStudyArgs) -> anyhow::Result<Frozen> {
    let named = args.preset.map_or(&args.tasks, |p| &p.tasks);
    let tasks = mary_lab::select_tasks(&place.registry, named)?;
    // What the user sets comes last and wins.
    let set = args
        .preset
        .into_iter()
        .flat_map(|p| &p.set)
        .chain(&args.set);
    let set: Vec<String> = set.cloned().collect();
    let options = TaskOptions {
        seed: args.seed,
        shots: args.shots,
        chat: false,
        set: TaskOptions::pairs(&set)?,
    };
    let count = tasks.len();
    let total = args.preset.map(|p| p.items).or(args.items);
    let total = total.or(args.per_person).unwrap_or(PER_PERSON);
    let wanted: Vec<StudyTask> = options
        .settings(&tasks)?
        .into_iter()
        .map(|(task, settings)| StudyTask {
            task,
            settings,
            limit: Some(total.div_ceil(count)),
            none_fits: args.none_fits.unwrap_or_default(),
        })
        .collect();
    let data = place.local_data();
    let frozen = freeze(&wanted, &data, args.seed)?;
    Ok(match args.preset {
        Some(preset) => frozen.in_sets(preset.sets_of),
        None => frozen,
    })
}

fn platform(kind: PlatformKind) -> Platform {
    // Codes that can be guessed are claimed without taking part.
    let code = || random_token().get(..8).unwrap_or_default().to_uppercase();
    let return_to = match kind {
        PlatformKind::Prolific => "https://app.prolific.com/submissions/complete?cc={code}",
        PlatformKind::None | PlatformKind::Mturk => "",
    };
    Platform {
        kind,
        finished: code(),
        screened_out: code(),
        no_consent: code(),
        return_to: return_to.into(),
    }
}

/// Items from which on a person is checked twice, and excluded only when both fail: one slip is no proof.
const TWO_CHECKS: usize = 10;

fn attention(texts: &Texts, per_person: usize) -> Vec<Check> {
    let check = |question: &str, answer: usize, after: usize| Check {
        kind: CheckKind::Attention,
        question: question.to_owned(),
        options: texts.answers.clone(),
        answer,
        after,
    };
    if per_person < TWO_CHECKS {
        return vec![check(&texts.choose_third, 3, (per_person / 2).max(1))];
    }
    vec![
        check(&texts.choose_third, 3, per_person / 3),
        check(&texts.choose_second, 2, 2 * per_person / 3),
    ]
}

pub fn power(args: &PowerArgs) -> anyhow::Result<Status> {
    let plan = StudyPlan {
        accuracy: args.accuracy,
        sd_people: args.sd_people,
        sd_items: args.sd_items,
    };
    let mut text = format!(
        "half-width of the 95 % interval over people and items, {} items a person\n{:>8}",
        args.per_person, "items"
    );
    let people = [10u64, 20, 30, 50, 100, 200];
    for n in people {
        text.push_str(&format!("{:>12}", format!("{n} people")));
    }
    text.push_str("   people for the wanted width\n");
    for items in [1u64, 2, 3, 5, 10, 25].map(|k| k * args.per_person) {
        text.push_str(&format!("{items:>8}"));
        for n in people {
            let half = plan.half_width(n, items, args.per_person)?;
            text.push_str(&format!("{:>12}", format!("±{:.1} %", 100.0 * half)));
        }
        let enough = plan.people_for(args.half_width, items, args.per_person)?;
        let enough = enough.map_or("none: the items alone leave more".into(), |n| n.to_string());
        text.push_str(&format!("   {enough}\n"));
    }
    text.push_str(&format!(
        "assumed: accuracy {}, standard deviation {} between people and {} between items; wanted: ±{}\n",
        args.accuracy, args.sd_people, args.sd_items, args.half_width
    ));
    print(&text)
}

/// The texts that a new study begins with, in the languages of its pages (`texts.toml`).
#[derive(Debug, Deserialize)]
pub struct Texts {
    pub title: String,
    pub consent: String,
    pub instructions: String,
    /// For sentences that are read word by word.
    pub reading: String,
    /// For judges of whole texts.
    pub judging: String,
    /// For judges of single points that a text may make.
    pub judging_points: String,
    pub choose_third: String,
    pub choose_second: String,
    pub answers: Vec<String>,
}

impl Texts {
    pub fn in_language(language: Language) -> anyhow::Result<Self> {
        let mut all: BTreeMap<String, Self> =
            toml::from_str(include_str!("texts.toml")).context("texts.toml")?;
        all.remove(language.name()).context("texts.toml")
    }
}

pub fn with_number(text: &str, n: usize) -> String {
    text.replace("{n}", &n.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_has_its_texts_and_a_place_for_the_number() {
        for language in [Language::En, Language::Zh] {
            let texts = Texts::in_language(language).unwrap();
            for text in [
                &texts.instructions,
                &texts.reading,
                &texts.judging,
                &texts.judging_points,
            ] {
                assert!(with_number(text, 7).contains(" 7 "), "{text}");
            }
            assert_eq!(texts.answers.len(), 4);
            assert!(texts.consent.contains("\n\n["));
        }
    }
}
