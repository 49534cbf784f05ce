//! `mary study new` and `mary study power`.

use mary_fetch::datasets::LocalData;
use mary_platform::counted;
use mary_stats::crossed::StudyPlan;
use mary_study::freeze::{Frozen, Wanted, freeze};
use mary_study::lists::Lists;
use mary_study::question::Question;
use mary_study::settings::{Check, CheckKind, Consent, Language, Platform, PlatformKind, Rules};
use mary_study::{Settings, Study, random_token};

use crate::cli::study::{LanguageArg, ListsArg, NewStudyArgs, PlatformArg, PowerArgs};
use crate::commands::{print, tell};
use crate::exit::{Status, UsageError};
use crate::settings::Place;
use crate::suite::{self, TaskOptions};

/// Items that a person answers unless something else is said.
const PER_PERSON: usize = 40;
/// Minutes without a sign of life after which a place is given to another.
const MINUTES: u32 = 60;

/// Draws items and writes the folder.
pub fn new(place: &Place, args: &NewStudyArgs) -> anyhow::Result<Status> {
    let language = match args.language {
        LanguageArg::En => Language::En,
        LanguageArg::Zh => Language::Zh,
    };
    let mut frozen = match &args.judge {
        Some(run) => super::judging::frozen(place, run, args, language)?,
        None => drawn(place, args)?,
    };
    frozen.keys.command = crate::own::words();
    let per_person = args
        .per_person
        .unwrap_or(PER_PERSON)
        .min(frozen.questions.len());
    let folder = args.out.file_name().unwrap_or_default().to_string_lossy();
    let name = args.name.clone().unwrap_or_else(|| folder.into_owned());
    let checks = attention(language, per_person);
    let settings = Settings {
        title: match language {
            Language::En => "A study of language".into(),
            Language::Zh => "语言研究".into(),
        },
        people: args.people,
        per_person,
        lists: match args.lists {
            ListsArg::Latin => Lists::Latin,
            ListsArg::Balanced => Lists::Balanced,
        },
        seed: args.seed,
        minutes: MINUTES,
        consent: Consent {
            version: 1,
            text: consent(language).into(),
        },
        instructions: match &frozen.keys.judging {
            Some(judging) => super::judging::instructions(language, per_person, &judging.measure),
            None => instructions(language, per_person),
        },
        pay: String::new(),
        platform: platform(args.platform),
        rules: Rules {
            attention_failures: u32::try_from(checks.len()).unwrap_or(1),
            ..Rules::default()
        },
        checks,
        name,
        language,
    };
    settings.check().map_err(UsageError::new)?;
    settings.reachable().map_err(UsageError::new)?;
    let study = Study::create(&args.out, &settings, &frozen)?;
    print(&format!("{}\n", study.path.display()))?;
    let untold = |q: &&Question| q.instruction.trim().is_empty();
    let untold = study.questions.iter().filter(untold).count();
    if untold > 0 {
        tell(&format!(
            "note: {} without a line that says what to do\n\
             hint: `[people] wording` in a task file of your own adds one, or say it in `instructions` of study.toml",
            counted(untold, "item")
        ));
    }
    tell(&format!(
        "{}, {}, {} a person, list by list ({:?})\n\
         fill in what stands in brackets in {}/study.toml, and look at its other texts, checks and rules\n\
         then: mary study serve {}",
        counted(study.questions.len(), "item"),
        counted(args.people, "person"),
        counted(per_person, "item"),
        settings.lists,
        study.path.display(),
        study.path.display()
    ));
    Ok(Status::Done)
}

/// The items of tasks, drawn by the seed.
fn drawn(place: &Place, args: &NewStudyArgs) -> anyhow::Result<Frozen> {
    let tasks = suite::select(&place.registry, &args.tasks)?;
    let options = TaskOptions {
        seed: args.seed,
        shots: args.shots,
        chat: false,
        set: TaskOptions::pairs(&args.set)?,
    };
    let count = tasks.len();
    let total = args.items.or(args.per_person).unwrap_or(PER_PERSON);
    let wanted: Vec<Wanted> = options
        .settings(&tasks)?
        .into_iter()
        .map(|(task, settings)| Wanted {
            task,
            settings,
            limit: Some(total.div_ceil(count)),
            none_fits: args.none_fits,
        })
        .collect();
    let data = LocalData::new(place.data.clone(), place.datasets());
    Ok(freeze(&wanted, &data, args.seed)?)
}

fn platform(kind: PlatformArg) -> Platform {
    // Codes that can be guessed are claimed without taking part.
    let code = || random_token().get(..8).unwrap_or_default().to_uppercase();
    let (kind, return_to) = match kind {
        PlatformArg::None => (PlatformKind::None, ""),
        PlatformArg::Prolific => (
            PlatformKind::Prolific,
            "https://app.prolific.com/submissions/complete?cc={code}",
        ),
        PlatformArg::Mturk => (PlatformKind::Mturk, ""),
    };
    Platform {
        kind,
        finished: code(),
        screened_out: code(),
        no_consent: code(),
        return_to: return_to.into(),
    }
}

fn consent(language: Language) -> &'static str {
    match language {
        Language::En => {
            "You are invited to answer questions that language models were asked too. Your answers, the \
             time they take, the size of the window and whether it loses the focus are saved under a \
             random number. No address and no name of a browser is kept.\n\n\
             Taking part is voluntary. You may stop at any time and have everything deleted.\n\n\
             [TO FILL IN: who runs the study, who approved it, what is done with the answers, and whom to \
             ask]"
        }
        Language::Zh => {
            "邀请您回答一些同样向语言模型提出的问题。您的回答、作答时间、窗口大小以及窗口是否失去焦点会以随机\
             编号保存。不保存网络地址和浏览器名称。\n\n\
             参加是自愿的。您可以随时停止，并要求删除全部内容。\n\n\
             [请填写：研究负责人、批准机构、数据用途和联系方式]"
        }
    }
}

fn instructions(language: Language, questions: usize) -> String {
    match language {
        Language::En => format!(
            "You will be asked {questions} questions, one after the other. Answer each as well as you can, by \
             yourself and without looking anything up. You cannot go back to a question."
        ),
        Language::Zh => format!(
            "您将依次回答 {questions} 个问题。请独立作答，不要查阅任何资料。回答后不能返回上一题。"
        ),
    }
}

/// Items from which on a person is checked twice, and excluded only when both fail: one slip is no proof.
const TWO_CHECKS: usize = 10;

/// The attention checks of a study, spread over a person's items.
fn attention(language: Language, per_person: usize) -> Vec<Check> {
    let of = |answer: usize, after: usize| {
        let (question, options) = match (language, answer) {
            (Language::En, 3) => (
                "To show that you are reading, choose the third answer.",
                ["The first", "The second", "The third", "The fourth"],
            ),
            (Language::En, _) => (
                "To show that you are reading, choose the second answer.",
                ["The first", "The second", "The third", "The fourth"],
            ),
            (Language::Zh, 3) => (
                "为表明您在认真阅读，请选择第三个答案。",
                ["第一个", "第二个", "第三个", "第四个"],
            ),
            (Language::Zh, _) => (
                "为表明您在认真阅读，请选择第二个答案。",
                ["第一个", "第二个", "第三个", "第四个"],
            ),
        };
        Check {
            kind: CheckKind::Attention,
            question: question.into(),
            options: options.map(String::from).to_vec(),
            answer,
            after,
        }
    };
    if per_person < TWO_CHECKS {
        vec![of(3, (per_person / 2).max(1))]
    } else {
        vec![of(3, per_person / 3), of(2, 2 * per_person / 3)]
    }
}

/// Says how wide intervals will be.
pub fn power(args: &PowerArgs) -> anyhow::Result<Status> {
    let plan = StudyPlan {
        accuracy: args.accuracy,
        sd_people: args.sd_people,
        sd_items: args.sd_items,
    };
    let mut text = format!(
        "half the width of the 95 % interval over people and items, {} items a person\n{:>8}",
        args.per_person, "items"
    );
    let people = [10u64, 20, 30, 50, 100, 200];
    for n in people {
        text.push_str(&format!("{:>9}", format!("{n} people")));
    }
    text.push_str("   people for the wanted width\n");
    for items in [1u64, 2, 3, 5, 10, 25].map(|k| k * args.per_person) {
        text.push_str(&format!("{items:>8}"));
        for n in people {
            let half = plan.half_width(n, items, args.per_person)?;
            text.push_str(&format!("{:>9}", format!("±{:.1} %", 100.0 * half)));
        }
        let enough = plan.people_for(args.half_width, items, args.per_person)?;
        let enough = enough.map_or("none: the items alone leave more".into(), |n| n.to_string());
        text.push_str(&format!("   {enough}\n"));
    }
    text.push_str(&format!(
        "assumed: accuracy {}, standard deviation {} between people and {} between items; wanted: ±{}\n",
        args.accuracy, args.sd_people, args.sd_items, args.half_width
    ));
    print(&text)?;
    Ok(Status::Done)
}
