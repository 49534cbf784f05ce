//! The low level: the concept from a masked definition, from a photograph, or from the model's own
//! description of it, always with the options of a high-level instance, so that what a model can say
//! is held against what it can see, concept by concept.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use mary_contract::{
    Ask, DataSource, Generate, Image, Item, Items, Judgement, Measure, Needs, Outcome, Param,
    Reference, Reply, Request, Response, Sample, Sampling, Scoring, Target, Task, TaskCard,
    TaskError, TaskSettings, UnscoredReason, text,
};
use mary_items::{below, shuffle, stream};
use serde_json::json;

use crate::definitions::{Entry, entry};
use crate::grid_task::{described, judge_choice};
use crate::instances::{Instance, Level, planned};
use crate::judging;
use crate::masking::{Masked, masked};
use crate::parse;
use crate::prompt;
use crate::setup::{CITATION, DEFINITION, DESCRIBE, Mode, PHOTO, Part, Setup};
use crate::worlds;

static DEFINITION_CARD: TaskCard = TaskCard {
    id: text("physico/definition"),
    family: text("physico"),
    version: 2,
    title: text("Concept from its definition"),
    about: text(
        "A definition of a physical concept in words, its names masked; which of four is it? The \
            option sets are those of the high-level instances with the same ids, so that low and high \
            are paired by concept and options.",
    ),
    chance: Some(0.25),
    human: None,
    params: Param::list(&DEFINITION),
    dataset: None,
    citation: CITATION,
    starter: Some(20),
    content: None,
};

static PHOTO_CARD: TaskCard = TaskCard {
    id: text("physico/photo"),
    family: text("physico"),
    version: 1,
    title: text("Concept from a photograph"),
    about: text(
        "A photograph of a phenomenon, from your own collection; which of four concepts is it? The \
            manifest names each picture and its concept.",
    ),
    chance: Some(0.25),
    human: None,
    params: Param::list(&PHOTO),
    dataset: None,
    citation: CITATION,
    starter: None,
    content: None,
};

static DESCRIBE_CARD: TaskCard = TaskCard {
    id: text("physico/describe"),
    family: text("physico"),
    version: 2,
    title: text("Concept described, then recognised"),
    about: text(
        "The model describes a concept; all its names are masked in the description, and the same \
            model has to recognise it among four. With judge=on a second model says whether the \
            description holds a factual error.",
    ),
    chance: Some(0.25),
    human: Some(Reference::new(
        1.0,
        "Yu et al. 2025, Table 2: descriptions of three of four models without factual error",
    )),
    params: Param::list(&DESCRIBE),
    dataset: None,
    citation: CITATION,
    starter: None,
    content: None,
};

/// The instances whose options the low level shares.
fn planned_instances(setup: &Setup) -> Result<Vec<Instance>, TaskError> {
    let levels: &[Level] = match setup.part {
        Part::Core | Part::Dev | Part::Test => &[Level::Core],
        Part::Associative => &[Level::Associative],
        Part::All => &[Level::Core, Level::Associative],
    };
    let mut found = Vec::new();
    for &level in levels {
        let of = planned(level, setup.seed, setup.per_concept)?;
        found.extend(of.iter().map(|p| p.bare()));
    }
    Ok(found)
}

fn words_for(concept: &str) -> Result<&'static Entry, TaskError> {
    entry(concept)
        .ok_or_else(|| TaskError::Generator(format!("physico: `{concept}` has no definition")))
}

/// `physico/definition`.
#[derive(Debug)]
pub struct Definition;

impl Task for Definition {
    fn card(&self) -> &TaskCard {
        &DEFINITION_CARD
    }

    fn needs(&self, settings: &TaskSettings) -> Needs {
        let mode = Setup::read(&DEFINITION_CARD, settings).map_or(Mode::Score, |s| s.mode);
        Needs {
            score: mode == Mode::Score,
            generate: mode == Mode::Generate,
            ..Needs::default()
        }
    }

    fn items(&self, settings: &TaskSettings, _: &dyn DataSource) -> Result<Items, TaskError> {
        let setup = Setup::read(&DEFINITION_CARD, settings)?;
        let instances = planned_instances(&setup)?;
        Ok(Box::new(instances.into_iter().map(move |instance| {
            let all = words_for(&instance.concept)?.definitions;
            let which = instance.turn % all.len().max(1);
            let text = all.get(which).copied().unwrap_or_default();
            let asked = prompt::guess(text, &instance.options);
            let ask = judging::ask(&setup, &[], &asked, &instance.options);
            Ok(described(&instance, text.to_owned(), vec![ask])
                .tagged("definition", format!("{}", which + 1)))
        })))
    }

    fn judge(&self, _: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement {
        judge_choice(item, answers)
    }

    fn overall(&self, _: &TaskSettings, samples: &mut dyn Iterator<Item = Sample>) -> Vec<Measure> {
        judging::by_run(samples)
    }

    fn scoring(&self, settings: &TaskSettings) -> Scoring {
        Setup::read(&DEFINITION_CARD, settings)
            .map_or(Scoring::WRITTEN, |setup| judging::scoring(&setup))
    }

    fn conventions(&self, settings: &TaskSettings) -> BTreeMap<String, String> {
        let Ok(setup) = Setup::read(&DEFINITION_CARD, settings) else {
            return BTreeMap::new();
        };
        let mut conventions = said(
            "Yu et al. 2025, Figure 5; options parted by commas",
            "our own masked definitions; options of the high-level instances of the same seed",
        );
        judging::conventions(&setup, &mut |name, text| {
            conventions.insert(name.to_owned(), text);
        });
        conventions
    }
}

fn said(template: &str, source: &str) -> BTreeMap<String, String> {
    [("template", template), ("source", source)]
        .map(|(name, text)| (name.to_owned(), text.to_owned()))
        .into()
}

/// `physico/photo`.
#[derive(Debug)]
pub struct Photo;

/// One line of the manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Photograph {
    /// Where the picture is.
    pub path: PathBuf,
    /// The concept it shows.
    pub concept: &'static str,
}

/// Reads a manifest: `image,label` lines, a head line and empty lines allowed, paths relative to it.
pub fn manifest(file: &Path) -> Result<Vec<Photograph>, TaskError> {
    let fault = |line: usize, message: String| TaskError::Record {
        file: file.display().to_string(),
        line,
        message,
    };
    let text = fs::read_to_string(file)
        .map_err(|e| fault(0, format!("expected a manifest of photographs: {e}")))?;
    let base = file.parent().unwrap_or(Path::new("."));
    let mut found = Vec::new();
    for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let (line_no, line) = (index + 1, line.trim());
        if line.is_empty() || (index == 0 && line.eq_ignore_ascii_case("image,label")) {
            continue;
        }
        let (path, label) = line
            .rsplit_once(',')
            .ok_or_else(|| fault(line_no, format!("expected `image,label`, found `{line}`")))?;
        let label = label.trim().trim_matches('"');
        let concept = worlds::concept(label).ok_or_else(|| {
            fault(
                line_no,
                format!("`{label}` is none of the 67 concepts (`mary physico concepts`)"),
            )
        })?;
        found.push(Photograph {
            path: base.join(path.trim().trim_matches('"')),
            concept: concept.name,
        });
    }
    Ok(found)
}

fn photograph(path: &Path) -> Result<Image, TaskError> {
    let kind = path
        .extension()
        .and_then(|e| e.to_str())
        .map(str::to_lowercase);
    let media_type = match kind.as_deref() {
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("webp") => "image/webp",
        Some("gif") => "image/gif",
        _ => {
            return Err(TaskError::Generator(format!(
                "{}: expected a .png, .jpg, .webp or .gif file",
                path.display()
            )));
        }
    };
    let data =
        fs::read(path).map_err(|e| TaskError::Generator(format!("{}: {e}", path.display())))?;
    Ok(Image {
        media_type: media_type.into(),
        data,
    })
}

/// The option set of a photograph: one of those in which its concept stands at the high level.
fn photo_instance(
    setup: &Setup,
    pool: &[Instance],
    index: usize,
    shown: &Photograph,
) -> Result<Instance, TaskError> {
    let of: Vec<&Instance> = pool.iter().filter(|i| i.concept == shown.concept).collect();
    let mut rng = stream(setup.seed, &format!("physico/photo/{index}"));
    let mut instance = of
        .get(below(&mut rng, of.len()))
        .copied()
        .cloned()
        .ok_or_else(|| {
            TaskError::Generator(format!("physico: no option set for `{}`", shown.concept))
        })?;
    shuffle(&mut rng, &mut instance.options);
    instance.correct = instance
        .options
        .iter()
        .position(|o| o == shown.concept)
        .unwrap_or(0);
    instance.id = format!("photo-{:03}", index + 1);
    instance.block = None;
    Ok(instance)
}

impl Task for Photo {
    fn card(&self) -> &TaskCard {
        &PHOTO_CARD
    }

    fn needs(&self, settings: &TaskSettings) -> Needs {
        let mode = Setup::read(&PHOTO_CARD, settings).map_or(Mode::Generate, |s| s.mode);
        Needs {
            score: mode == Mode::Score,
            generate: mode == Mode::Generate,
            images: true,
            ..Needs::default()
        }
    }

    fn items(&self, settings: &TaskSettings, _: &dyn DataSource) -> Result<Items, TaskError> {
        let setup = Setup::read(&PHOTO_CARD, settings)?;
        if setup.file.is_empty() {
            return Err(TaskError::Setting(
                "physico/photo needs your photographs: add --set manifest=FILE with lines `image,label`"
                    .into(),
            ));
        }
        let shown = manifest(Path::new(&setup.file))?;
        let pool = planned_instances(&Setup {
            part: Part::All,
            per_concept: 4,
            ..setup.clone()
        })?;
        Ok(Box::new(shown.into_iter().enumerate().map(
            move |(index, shown)| {
                let instance = photo_instance(&setup, &pool, index, &shown)?;
                let asked = prompt::photograph(photograph(&shown.path)?, &instance.options);
                let ask = judging::ask(&setup, &[], &asked, &instance.options);
                let name = shown
                    .path
                    .file_name()
                    .map(|n| n.to_string_lossy().into_owned());
                let mut item = described(&instance, name.unwrap_or_default(), vec![ask]);
                item.tags.remove("split");
                item.tags.remove("pair");
                item.stratum = String::new();
                Ok(item)
            },
        )))
    }

    fn judge(&self, _: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement {
        judge_choice(item, answers)
    }

    fn overall(&self, _: &TaskSettings, samples: &mut dyn Iterator<Item = Sample>) -> Vec<Measure> {
        judging::by_run(samples)
    }

    fn scoring(&self, settings: &TaskSettings) -> Scoring {
        Setup::read(&PHOTO_CARD, settings)
            .map_or(Scoring::WRITTEN, |setup| judging::scoring(&setup))
    }

    fn conventions(&self, settings: &TaskSettings) -> BTreeMap<String, String> {
        let Ok(setup) = Setup::read(&PHOTO_CARD, settings) else {
            return BTreeMap::new();
        };
        let mut conventions = said(
            "our words (the paper prints none for photographs); always chat",
            "the user's photographs; option sets of the high-level instances",
        );
        judging::conventions(&setup, &mut |name, text| {
            conventions.insert(name.to_owned(), text);
        });
        conventions
    }
}

/// `physico/describe`.
#[derive(Debug)]
pub struct Describe;

impl Describe {
    fn masked(item: &Item, answers: &[Reply]) -> Option<Masked> {
        let Target::Choice { question, .. } = &item.target else {
            return None;
        };
        let description = answers.first()?.answer.as_generated()?;
        Some(masked(entry(question)?, &description.text))
    }
}

impl Task for Describe {
    fn card(&self) -> &TaskCard {
        &DESCRIBE_CARD
    }

    fn needs(&self, settings: &TaskSettings) -> Needs {
        Needs {
            generate: true,
            judge: Setup::read(&DESCRIBE_CARD, settings).is_ok_and(|s| s.judge),
            ..Needs::default()
        }
    }

    fn items(&self, settings: &TaskSettings, _: &dyn DataSource) -> Result<Items, TaskError> {
        let setup = Setup::read(&DESCRIBE_CARD, settings)?;
        let instances = planned_instances(&setup)?;
        Ok(Box::new(instances.into_iter().map(move |instance| {
            words_for(&instance.concept)?;
            let asked = prompt::describe(&instance.concept);
            let whole = prompt::prompt(setup.form, &[], &asked, false);
            let ask = Ask::subject(Request::Generate(judging::generate(&setup, whole)));
            Ok(described(&instance, instance.concept.clone(), vec![ask]))
        })))
    }

    fn follow_up(
        &self,
        settings: &TaskSettings,
        item: &Item,
        answers: &[Reply],
    ) -> Result<Vec<Ask>, TaskError> {
        let setup = Setup::read(&DESCRIBE_CARD, settings)?;
        let (
            Some(masked),
            Target::Choice {
                question, options, ..
            },
            [first],
        ) = (Self::masked(item, answers), &item.target, answers)
        else {
            return Ok(vec![]);
        };
        let asked = prompt::guess(&masked.text, options);
        let whole = prompt::prompt(setup.form, &[], &asked, false);
        let mut asks = vec![Ask::subject(Request::Generate(judging::generate(
            &setup, whole,
        )))];
        if let (true, Response::Generated(description)) = (setup.judge, &first.answer) {
            let asked = prompt::judge(question, &description.text);
            asks.push(Ask::judge(Request::Generate(Generate {
                prompt: prompt::prompt(setup.form, &[], &asked, false),
                sampling: Sampling::greedy(8),
            })));
        }
        Ok(asks)
    }

    fn judge(&self, _: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement {
        let Target::Choice {
            options, correct, ..
        } = &item.target
        else {
            return judging::failed("a PHYSICO item has a choice as its target");
        };
        let (Some(masked), [_, guess, rest @ ..]) = (Self::masked(item, answers), answers) else {
            return judging::failed("expected a description and a guess");
        };
        let mut judgement = judging::judged(options, *correct, &guess.answer);
        if masked.text.trim().is_empty() {
            judgement.outcome = Outcome::Unscored(UnscoredReason::Unparsed);
        }
        if let Some(verdict) = rest
            .first()
            .and_then(|r| r.answer.as_generated())
            .and_then(|g| parse::verdict(&g.text))
        {
            judgement = judgement.measured("judged_correct", if verdict { 1.0 } else { 0.0 });
        }
        judgement.notes = json!({ "masked": {
            "text": masked.text, "names": masked.names, "giveaways": masked.giveaways,
        }});
        judgement
    }

    fn overall(&self, _: &TaskSettings, samples: &mut dyn Iterator<Item = Sample>) -> Vec<Measure> {
        judging::by_run(samples)
    }

    fn scoring(&self, settings: &TaskSettings) -> Scoring {
        Setup::read(&DESCRIBE_CARD, settings)
            .map_or(Scoring::WRITTEN, |setup| judging::scoring(&setup))
    }

    fn conventions(&self, settings: &TaskSettings) -> BTreeMap<String, String> {
        let Ok(setup) = Setup::read(&DESCRIBE_CARD, settings) else {
            return BTreeMap::new();
        };
        let mut conventions = said(
            "Yu et al. 2025, Figures 4 and 5; options parted by commas",
            "all names and inflections of the concept masked by word list",
        );
        let mut say = |name: &str, text: String| {
            conventions.insert(name.to_owned(), text);
        };
        judging::conventions(&setup, &mut say);
        if setup.judge {
            say(
                "judge",
                "`judged_correct`: share of descriptions in which the judge finds no factual error; our \
                 wording of the paper's rule"
                    .into(),
            );
        }
        conventions
    }
}

/// A form for people: the descriptions of a run, one line each, with an empty column for the verdict.
/// The rule is the paper's (§5.2).
pub fn judgement_form(samples: impl Iterator<Item = Sample>) -> String {
    let cell = |text: &str| {
        // A spreadsheet must not take a model's words for a formula.
        let text = mary_contract::for_spreadsheet(text);
        format!("\"{}\"", text.replace('"', "\"\""))
    };
    let mut lines = vec![
        "model,item,trial,concept,description,\"0 = any factual error about the concept or unfaithful \
         example, 1 = none\",remark"
            .to_owned(),
    ];
    for sample in samples.filter(|s| s.id.task == DESCRIBE_CARD.id) {
        let concept = sample.item.tags.get("concept").cloned().unwrap_or_default();
        let description = sample
            .exchanges
            .first()
            .and_then(|e| e.reply.as_ref().ok())
            .and_then(|r| r.answer.as_generated())
            .map(|g| g.text.as_str())
            .unwrap_or_default();
        lines.push(format!(
            "{},{},{},{},{},,",
            cell(&sample.id.model),
            cell(&sample.id.item),
            sample.id.trial,
            cell(&concept),
            cell(description)
        ));
    }
    lines.join("\n") + "\n"
}
