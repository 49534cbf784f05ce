//! The low level with the user's photographs: a manifest names each picture, what it shows and perhaps
//! four options of its own. Those that take the options of a grid instance have their part in the
//! parrot gap.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use mary_contract::{DataSource, Image, ItemSource, Items, Part as PromptPart, TaskError};
use mary_generators::{below, shuffle, stream};
use serde::Deserialize;

use crate::cards::card;
use crate::choice_task::ChoiceTask;
use crate::grid_task::described;
use crate::instances::{Instance, Split};
use crate::judging;
use crate::low_level::planned_instances;
use crate::prompt;
use crate::setup::{Part, PhysicoSettings};
use crate::worlds;

pub(crate) static PHOTO_TASK: ChoiceTask = ChoiceTask {
    card: LazyLock::new(|| card("physico/photo")),
    seen: true,
    source: Some(ItemSource::File),
    items,
    for_people: |mut shown| {
        let parts = &mut shown.parts;
        parts.retain(|part| matches!(part, PromptPart::Image(_)));
        shown.told("Which physical concept does the photograph show?")
    },
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Photograph {
    pub path: PathBuf,
    /// What it shows: a concept, or any label among options of its own.
    pub concept: String,
    /// Options of its own; empty: those of a high-level instance of the concept.
    pub options: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PhotoRecord {
    image: String,
    label: String,
    #[serde(default)]
    options: Vec<String>,
}

/// Reads a manifest: lines `image,label`, or JSON lines with `image`, `label` and perhaps `options`; a
/// head line and empty lines allowed, paths relative to it.
pub fn manifest(file: &Path) -> Result<Vec<Photograph>, TaskError> {
    let fault = |line: usize, message: String| TaskError::record(file, line, message);
    let text = mary_platform::read_plain_text(file, mary_platform::LARGEST_DATA)
        .map_err(|e| fault(0, format!("expected a manifest of photographs: {e}")))?;
    let base = file.parent().unwrap_or(Path::new("."));
    let mut found = Vec::new();
    for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let (line_no, line) = (index + 1, line.trim());
        if line.is_empty() || (index == 0 && line.eq_ignore_ascii_case("image,label")) {
            continue;
        }
        let read = if line.starts_with('{') {
            serde_json::from_str(line).map_err(|e| e.to_string())
        } else {
            plain_line(line)
        };
        let shown = read.and_then(|line| checked(line, base));
        found.push(shown.map_err(|message| fault(line_no, message))?);
    }
    Ok(found)
}

fn plain_line(line: &str) -> Result<PhotoRecord, String> {
    let parts = line.rsplit_once(',');
    let (path, label) = parts.ok_or_else(|| format!("expected `image,label`, found `{line}`"))?;
    let bare = |text: &str| text.trim().trim_matches('"').to_owned();
    Ok(PhotoRecord {
        image: bare(path),
        label: bare(label),
        options: vec![],
    })
}

/// A label is one of the 67 concepts, or one of four options that the line brings.
fn checked(line: PhotoRecord, base: &Path) -> Result<Photograph, String> {
    let label = line.label.trim();
    let concept = if line.options.is_empty() {
        let known = worlds::concept(label).ok_or_else(|| {
            format!(
                "`{label}` is none of the 67 concepts (`mary physico concepts`)\nhint: give four \
                 `options` of your own in a JSON line"
            )
        })?;
        known.name.to_owned()
    } else {
        let mut distinct = line.options.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let all = &line.options;
        if all.len() != 4 || distinct.len() != 4 {
            return Err(format!("expected four different options, found {all:?}"));
        }
        let own = all.iter().find(|o| o.eq_ignore_ascii_case(label));
        own.cloned()
            .ok_or_else(|| format!("expected the label `{label}` among the options {all:?}"))?
    };
    Ok(Photograph {
        path: base.join(&line.image),
        concept,
        options: line.options,
    })
}

fn photograph(path: &Path) -> Result<Image, TaskError> {
    let fault = |e: &dyn Display| TaskError::Generator(format!("{}: {e}", path.display()));
    let ending = path.extension().and_then(|e| e.to_str());
    let kind = ending.map(str::to_lowercase);
    let media_type = match kind.as_deref() {
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("webp") => "image/webp",
        Some("gif") => "image/gif",
        _ => return Err(fault(&"expected a .png, .jpg, .webp or .gif file")),
    };
    let data = mary_platform::read_plain(path, mary_platform::LARGEST_SETTINGS << 4)
        .map_err(|e| fault(&e))?;
    Ok(Image {
        media_type: media_type.into(),
        data,
    })
}

/// A photograph as an instance: with the option set of one of the high-level instances of its concept,
/// with which it is then paired, or with its own options, which no instance shares.
fn photo_instance(
    setup: &PhysicoSettings,
    pool: &[Instance],
    index: usize,
    shown: &Photograph,
) -> Result<Instance, TaskError> {
    let mut rng = stream(setup.seed, &format!("physico/photo/{index}"));
    let of: Vec<&Instance> = pool.iter().filter(|i| i.concept == shown.concept).collect();
    let mut instance = if shown.options.is_empty() {
        let found = of.get(below(&mut rng, of.len())).copied().cloned();
        found.ok_or_else(|| {
            TaskError::Generator(format!("physico: no option set for `{}`", shown.concept))
        })?
    } else {
        Instance {
            id: String::new(),
            concept: shown.concept.clone(),
            split: Split::of_core(&shown.concept).unwrap_or(Split::Associative),
            aspect: None,
            pairs: vec![],
            options: shown.options.clone(),
            correct: 0,
            block: None,
            turn: 0,
        }
    };
    shuffle(&mut rng, &mut instance.options);
    let mut options = instance.options.iter();
    instance.correct = options.position(|o| *o == shown.concept).unwrap_or(0);
    instance.id = format!("photo-{:03}", index + 1);
    instance.block = None;
    Ok(instance)
}

fn items(setup: PhysicoSettings, _: &dyn DataSource) -> Result<Items, TaskError> {
    if setup.file.is_empty() {
        let message = "physico/photo needs your photographs: add --set manifest=FILE with lines `image,label` or JSON lines";
        return Err(TaskError::Setting(message.into()));
    }
    let shown = manifest(Path::new(&setup.file))?;
    let pool = planned_instances(&PhysicoSettings {
        part: Part::All,
        per_concept: 4,
        ..setup.clone()
    })?;
    Ok(Box::new(shown.into_iter().enumerate().map(
        move |(index, shown)| {
            let instance = photo_instance(&setup, &pool, index, &shown)?;
            let asked = prompt::photograph(photograph(&shown.path)?, &instance.options);
            let ask = judging::ask(&setup, &[], &asked, &instance.options);
            let name = shown.path.file_name().unwrap_or_default().to_string_lossy();
            let mut item = described(&instance, name.into_owned(), vec![ask]);
            item.tags.remove("split");
            if !shown.options.is_empty() {
                // Other options than any grid has: no part in the parrot gap.
                item.tags.remove("pair");
            }
            item.stratum = String::new();
            Ok(item)
        },
    )))
}
