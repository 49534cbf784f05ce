//! The low level: the concept from a masked definition with the options of a high-level instance, so
//! that what a model can say is held against what it can see, concept by concept; and what the other
//! low-level tasks (photographs, descriptions) share with it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use mary_contract::{DataSource, Items, TaskError};

use crate::cards::card;
use crate::choice_task::ChoiceTask;
use crate::grid_task::described;
use crate::instances::{Instance, Level, planned};
use crate::judging;
use crate::masking::masked;
use crate::prompt;
use crate::setup::{Part, PhysicoSettings};
use crate::worlds::{self, Concept};

/// The instances whose options the low level shares.
pub(crate) fn planned_instances(setup: &PhysicoSettings) -> Result<Vec<Instance>, TaskError> {
    let levels: &[Level] = match setup.part {
        Part::Core | Part::Dev | Part::Test | Part::O1 => &[Level::Core],
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

pub(crate) fn defined(concept: &str) -> Result<&'static Concept, TaskError> {
    worlds::concept(concept)
        .ok_or_else(|| TaskError::Generator(format!("physico: `{concept}` has no definition")))
}

pub(crate) static DEFINITION_TASK: ChoiceTask = ChoiceTask {
    card: LazyLock::new(|| card("physico/definition")),
    seen: false,
    source: None,
    items: definitions,
    for_people: |shown| {
        shown.told(
            "A physical concept is described, and [PHENOMENON] stands for its name. Which concept is it?",
        )
    },
};

fn definitions(setup: PhysicoSettings, _: &dyn DataSource) -> Result<Items, TaskError> {
    let own = match setup.file.as_str() {
        "" => None,
        file => Some(read_definitions(Path::new(file))?),
    };
    let mut instances = planned_instances(&setup)?;
    if let Some(own) = &own {
        instances.retain(|i| own.contains_key(&i.concept));
    }
    Ok(Box::new(instances.into_iter().map(move |instance| {
        let concept = defined(&instance.concept)?;
        let own = own.as_ref().and_then(|o| o.get(&instance.concept));
        let all: Vec<String> = match (own, setup.long) {
            (Some(own), _) => own.clone(),
            (None, true) => vec![long(concept)],
            (None, false) => concept
                .definitions
                .iter()
                .map(|d| (*d).to_owned())
                .collect(),
        };
        let which = instance.turn % all.len().max(1);
        let text = all.get(which).map_or("", String::as_str);
        let asked = prompt::guess(text, &instance.options);
        let ask = judging::ask(&setup, &[], &asked, &instance.options);
        Ok(described(&instance, text.to_owned(), vec![ask])
            .tagged("definition", format!("{}", which + 1)))
    })))
}

/// All that is said of a concept: its definitions, and what each of its aspects shows, masked.
fn long(concept: &Concept) -> String {
    let aspects = concept.aspects.iter();
    let shown: Vec<String> = aspects.map(|a| format!("- {}", a.rule)).collect();
    let shown = masked(concept, &shown.join("\n")).text;
    let said = concept.definitions.join(" ");
    format!("{said}\nWhere [PHENOMENON] is at work, for example, this can be seen:\n{shown}")
}

/// The user's definitions by concept, masked: lines `concept,text`, or JSON lines with `concept` and `text`. A
/// concept may have several, which are asked in turn.
fn read_definitions(file: &Path) -> Result<BTreeMap<String, Vec<String>>, TaskError> {
    let fault = |line: usize, message: String| TaskError::record(file, line, message);
    let text = mary_platform::read_plain_text(file, mary_platform::LARGEST_DATA)
        .map_err(|e| fault(0, format!("expected a file of definitions: {e}")))?;
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || (index == 0 && line.eq_ignore_ascii_case("concept,text")) {
            continue;
        }
        let (name, words) = definition(line).map_err(|message| fault(index + 1, message))?;
        let concept = worlds::concept(&name).ok_or_else(|| {
            let message = format!("`{name}` is none of the 67 concepts (`mary physico concepts`)");
            fault(index + 1, message)
        })?;
        let known = found.entry(concept.name.to_owned()).or_default();
        known.push(masked(concept, &words).text);
    }
    if found.is_empty() {
        return Err(fault(0, "expected at least one line `concept,text`".into()));
    }
    Ok(found)
}

fn definition(line: &str) -> Result<(String, String), String> {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Record {
        concept: String,
        text: String,
    }
    let bare = |text: &str| text.trim().trim_matches('"').replace("\"\"", "\"");
    let read = if line.starts_with('{') {
        let record: Record = serde_json::from_str(line).map_err(|e| e.to_string())?;
        (record.concept, record.text)
    } else {
        let parts = line.split_once(',');
        let (concept, text) =
            parts.ok_or_else(|| format!("expected `concept,text`, found `{line}`"))?;
        (bare(concept), bare(text))
    };
    match read.1.trim().is_empty() {
        true => Err(format!("the definition of `{}` is empty", read.0)),
        false => Ok(read),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::masking::names_in;

    #[test]
    fn a_long_definition_says_everything_and_names_nothing() {
        let lengths: Vec<usize> = worlds::concepts()
            .iter()
            .map(|concept| {
                let text = long(concept);
                assert!(
                    names_in(concept, &text).is_empty(),
                    "{}: {text}",
                    concept.name
                );
                assert!(concept.definitions.iter().all(|d| text.contains(d)));
                assert_eq!(text.matches("\n- ").count(), concept.aspects.len());
                text.split_whitespace().count()
            })
            .collect();
        let mean = lengths.iter().sum::<usize>() / lengths.len();
        assert!((90..200).contains(&mean), "{mean} words");
    }

    #[test]
    fn a_users_definitions_are_read_masked_and_checked() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("definitions.csv");
        let write = |text: &str| std::fs::write(&file, text).expect("written");
        write(
            "concept,text\ngravity,\"Gravity pulls, as Newton saw\"\n\n{\"concept\": \"laser\", \"text\": \"A laser, page one\"}\n\
             gravity,All that has mass falls by gravitation\n",
        );
        let found = read_definitions(&file).expect("read");
        assert_eq!(
            found["gravity"],
            [
                "[PHENOMENON] pulls, as [MASK] saw",
                "All that has mass falls by [PHENOMENON]"
            ]
        );
        assert_eq!(found["laser"], ["A [PHENOMENON], page one"]);
        for (text, wanted) in [
            ("gravity\n", "concept,text"),
            ("levity,up\n", "none of the 67"),
            ("laser,\n", "empty"),
            ("\n", "at least one"),
        ] {
            write(text);
            let error = read_definitions(&file).expect_err("refused").to_string();
            assert!(error.contains(wanted), "{error}");
        }
    }
}
