//! Forms on which people judge what models wrote of concepts (Yu et al. 2025, §5.2): whether a description
//! holds an error, and which of the concept's core properties it names. One line for each thing to judge, an
//! empty column for the verdict; `mary study` asks them in a browser or on paper, or a judge fills them in.
//!
//! A description is written from the concept's name alone, so that its judge is shown the name and no grid. A
//! property is one that grids were drawn for, and its judge is shown such a pair.

use std::collections::BTreeMap;

use mary_contract::Sample;
use mary_generators::stream;
use mary_platform::for_spreadsheet;

use crate::worlds::{self, Aspect, Concept, Level};

const TASK: &str = "physico/describe";
/// The heading of a verdict must begin with `0 =` and go on with `, 1 =`.
const ERROR: &str =
    "0 = there is a factual error about the concept or an unfaithful example, 1 = there is none";
const NAMED: &str = "0 = the description does not name this property or example, 1 = it names it";
/// What verdicts on properties become in the run; those on errors have the usual name.
const RECALL: &str = "recall_by_people";

/// The descriptions of a run, one line each. The rule is the paper's.
pub fn judgement_form(samples: impl Iterator<Item = Sample>) -> String {
    let mut form = Form::new(&["concept", "description"], ERROR);
    for sample in samples.filter(|s| s.id.task == TASK) {
        form.line(&sample, &[], &[concept(&sample), description(&sample)]);
    }
    form.0
}

/// The descriptions of a run with each core property of their concept, one line for each of both: the paper
/// asked the annotators of its grids which of the properties they had drawn a description covers.
pub fn recall_form(samples: impl Iterator<Item = Sample>) -> String {
    let shown = [
        "part",
        "measure",
        "concept",
        "property",
        "drawn as",
        "description",
    ];
    let mut form = Form::new(&shown, NAMED);
    // Many answers are of one concept, and drawing takes time.
    let mut pictures: BTreeMap<(&str, &str), String> = BTreeMap::new();
    for sample in samples.filter(|s| s.id.task == TASK) {
        let name = concept(&sample);
        let Some(known) = worlds::concept(&name) else {
            continue;
        };
        for (_, aspect) in known.shown(Level::Core) {
            let picture = pictures
                .entry((known.id, aspect.id))
                .or_insert_with(|| drawn(known, aspect));
            form.line(
                &sample,
                &[aspect.id, RECALL],
                &[
                    name.clone(),
                    aspect.rule.to_owned(),
                    picture.clone(),
                    description(&sample),
                ],
            );
        }
    }
    form.0
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

/// What was written first: a recognition, a judge and a question for more come after it.
fn description(sample: &Sample) -> String {
    let first = sample.exchanges.first();
    let reply = first.and_then(|e| e.reply.as_ref().ok());
    let written = reply.and_then(|r| r.answer.as_generated());
    written.map(|g| g.text.clone()).unwrap_or_default()
}

struct Form(String);

impl Form {
    fn new(columns: &[&str], verdict: &str) -> Self {
        let columns = columns.join(",");
        Self(format!("model,item,trial,{columns},\"{verdict}\",remark\n"))
    }

    /// A line of an answer: `ids` stand as they are, `shown` is what judges read.
    fn line(&mut self, sample: &Sample, ids: &[&str], shown: &[String]) {
        let cell = |text: &str| {
            // A spreadsheet must not take a model's words for a formula.
            let text = for_spreadsheet(text);
            format!("\"{}\"", text.replace('"', "\"\""))
        };
        let mut cells = vec![
            cell(&sample.id.model),
            cell(&sample.id.item),
            sample.id.trial.to_string(),
        ];
        cells.extend(ids.iter().map(|id| cell(id)));
        cells.extend(shown.iter().map(|text| cell(text)));
        self.0.push_str(&cells.join(","));
        self.0.push_str(",,\n");
    }
}
