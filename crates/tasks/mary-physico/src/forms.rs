//! Forms on which people mark what was written (Yu et al. 2025): whether a description of a concept holds an
//! error and which of its core properties it names (§5.2), which objects of a pair a free description has
//! right (RQ 5), and whether a concept explains the grids that somebody gave it to (the associative set).
//! One line for each thing to mark; `mary study` asks them in a browser, on paper or as a spreadsheet.
//!
//! A description is written from the concept's name alone, so that its judge is shown the name and no grid. A
//! property is one that grids were drawn for, and its judge is shown such a pair.

use std::collections::BTreeMap;

use mary_contract::{Cell, MarkingForm, Sample, Table, Target};
use mary_generators::stream;

use crate::relabel::label;
use crate::worlds::{self, Aspect, Concept, Level};

/// What verdicts become in the run; those on errors have the usual name.
const RECALL: &str = "recall_by_people";
pub(crate) const SEEN: &str = "seen_by_people";
const CONFIRMED: &str = "confirmed_by_people";

/// The descriptions of a run, one line each. The rule is the paper's.
pub fn judgement_form(samples: &[Sample]) -> MarkingForm {
    let mut form = MarkingForm::new(
        "there is a factual error about the concept or an unfaithful example",
        "there is none",
        &["concept", "description"],
    );
    for sample in samples {
        let shown = vec![concept(sample), sample.written().to_owned()];
        form.line(&sample.id, "", shown);
    }
    form
}

/// The descriptions of a run with each core property of their concept, one line for each of both: the paper
/// asked the annotators of its grids which of the properties they had drawn a description covers.
pub fn recall_form(samples: &[Sample]) -> MarkingForm {
    let mut form = MarkingForm::new(
        "the description does not name this property or example",
        "it names it",
        &["concept", "property", "drawn as", "description"],
    )
    .measured(RECALL);
    // Many answers are of one concept, and drawing takes time.
    let mut pictures: BTreeMap<(&str, &str), String> = BTreeMap::new();
    for sample in samples {
        let name = concept(sample);
        let Some(known) = worlds::concept(&name) else {
            continue;
        };
        for (_, aspect) in known.shown(Level::Core) {
            let picture = pictures.entry((known.id, aspect.id));
            let picture = picture.or_insert_with(|| drawn(known, aspect));
            let (rule, written) = (aspect.rule.to_owned(), sample.written().to_owned());
            let shown = vec![name.clone(), rule, picture.clone(), written];
            form.line(&sample.id, aspect.id, shown);
        }
    }
    form
}

/// Free descriptions of pairs, one line for each object: it is right where shape, colour, position and what
/// became of it all are.
pub fn seen_form(samples: &[Sample]) -> MarkingForm {
    let mut form = MarkingForm::new(
        "its shape, color, position or change is wrong or missing in the description",
        "shape, color, position and change are all right",
        &["grids", "object", "description"],
    )
    .measured(SEEN);
    for sample in samples {
        let Target::Data(data) = &sample.item.target else {
            continue;
        };
        let grids = data["grids"].as_str().unwrap_or_default();
        let objects = data["objects"].as_array().into_iter().flatten();
        for (number, object) in objects.filter_map(|o| o.as_str()).enumerate() {
            let shown = [grids, object, sample.written()].map(str::to_owned);
            form.line(&sample.id, &format!("object {}", number + 1), shown.into());
        }
    }
    form
}

/// The concepts that people gave to grids of ARC, to be confirmed by others.
pub fn validation_form(samples: &[Sample]) -> MarkingForm {
    let mut form = MarkingForm::new(
        "the concept does not explain how each grid turns into the other",
        "it explains it",
        &["grids", "concept"],
    )
    .measured(CONFIRMED);
    for sample in samples {
        if let (Target::Data(data), Some(label)) = (&sample.item.target, label(sample.written())) {
            let grids = data["grids"].as_str().unwrap_or_default();
            form.line(&sample.id, "", vec![grids.to_owned(), label]);
        }
    }
    form
}

/// A label of a task: its verdicts, the share that confirms it, and how many gave it.
#[derive(Default)]
struct Proposed {
    verdicts: usize,
    confirmed: f64,
    people: usize,
}

/// The labels that more than half of at least `validators` people confirmed, as lines `task,concept` that
/// `--set source=arc --set labels=FILE` reads; of several for one task the one with the most agreement. With
/// them, what became of all.
pub fn labels_file(samples: &[Sample], validators: usize) -> (String, Table) {
    let mut tasks: BTreeMap<&str, BTreeMap<String, Proposed>> = BTreeMap::new();
    for sample in samples {
        let of_task = tasks.entry(&sample.id.item).or_default();
        let Some(label) = label(sample.written()) else {
            continue;
        };
        let own = of_task.entry(label).or_default();
        own.people += 1;
        let verdicts = sample.judgement.notes[CONFIRMED].as_array();
        own.verdicts = own.verdicts.max(verdicts.map_or(0, Vec::len));
        let confirmed = sample.judgement.measures.get(CONFIRMED);
        own.confirmed = *confirmed.unwrap_or(&own.confirmed);
    }
    let mut file = String::from("task,concept\n");
    let (mut proposed, mut labelled, mut confirmed) = (0, 0, 0);
    for (task, labels) in &tasks {
        proposed += labels.len();
        labelled += usize::from(!labels.is_empty());
        let agreed = |p: &Proposed| p.verdicts >= validators && p.confirmed > 0.5;
        let kept = labels.iter().filter(|(_, p)| agreed(p)).max_by(|a, b| {
            let by_share = a.1.confirmed.total_cmp(&b.1.confirmed);
            by_share.then(a.1.people.cmp(&b.1.people))
        });
        if let Some((label, _)) = kept {
            confirmed += 1;
            file.push_str(&format!("{task},{label}\n"));
        }
    }
    let table = Table {
        head: [
            "tasks looked at",
            "with a concept",
            "concepts proposed",
            "confirmed and written",
        ]
        .map(String::from)
        .to_vec(),
        rows: vec![
            [tasks.len(), labelled, proposed, confirmed]
                .map(Cell::count)
                .to_vec(),
        ],
        ..Table::default()
    };
    (file, table)
}

/// One pair of grids of a property as digits, the same in every form; pages draw it in colours.
fn drawn(concept: &'static Concept, aspect: &Aspect) -> String {
    let mut rng = stream(0, &format!("physico/recall/{}/{}", concept.id, aspect.id));
    let palette = worlds::Setting::palette(&mut rng);
    worlds::plain_pair(concept, aspect, &mut rng, palette)
        .map(|pair| format!("{}\n->\n{}", pair.input, pair.output))
        .unwrap_or_default()
}

fn concept(sample: &Sample) -> String {
    sample.item.tags.get("concept").cloned().unwrap_or_default()
}
