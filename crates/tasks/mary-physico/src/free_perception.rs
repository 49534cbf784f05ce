//! Does the model see the grid at all, as the paper asked it (RQ 5): it describes 60 pairs in words of its own,
//! and three people, or a judge model, say for each object whether shape, colour, position and what became of
//! it are all right. [`crate::perception`] asks the same with four options.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use mary_contract::{
    DataSource, FollowUp, ForPeople, Item, Items, Judgement, Needs, Part, PeopleAnswer, Reply,
    Scoring, Target, Task, TaskCard, TaskError, TaskSettings, UnscoredReason,
};
use mary_generators::{below, shuffle, stream};
use serde_json::json;

use crate::cards::{card, conventions};
use crate::grid::{COLOURS, Pair};
use crate::grid_task::{image, question};
use crate::judging;
use crate::parse;
use crate::prompt::{self, PromptContent, TEXTS, grid_text};
use crate::setup::PhysicoSettings;
use crate::worlds::{self, Change, Object, objects};

/// More would make a page of marks that nobody reads to its end.
const MOST_OBJECTS: usize = 8;
const ASKED: &str = "free_perception";

#[derive(Debug)]
pub(crate) struct FreePerception {
    card: LazyLock<TaskCard>,
    seen: bool,
}

pub(crate) static FREE_TEXT_TASK: FreePerception = FreePerception {
    card: LazyLock::new(|| card("physico/free-perception-text")),
    seen: false,
};
pub(crate) static FREE_VISUAL_TASK: FreePerception = FreePerception {
    card: LazyLock::new(|| card("physico/free-perception-visual")),
    seen: true,
};

/// An object in words, exact enough to be held against a description.
fn in_words(object: &Object) -> String {
    let colour = COLOURS.get(usize::from(object.colour)).copied();
    let span = |what: &str, first: i32, last: i32| match first == last {
        true => format!("{what} {}", first + 1),
        false => format!("{what}s {} to {}", first + 1, last + 1),
    };
    let [top, left, bottom, right] = object.bounds;
    format!(
        "{} {} at {}, {}",
        colour.unwrap_or("unknown"),
        object.shape,
        span("row", top, bottom),
        span("column", left, right)
    )
}

fn told(change: &Change) -> String {
    match change {
        Change::Still(o) => format!("{}: stays as it is", in_words(o)),
        Change::Recoloured { from, to } | Change::Reshaped { from, to } => {
            format!("{}: becomes {}", in_words(from), in_words(to))
        }
        Change::Moved { from, to, .. } => {
            format!("{}: moves, the same at {}", in_words(from), in_words(to))
        }
        Change::Appeared(o) => format!("only in the output: {}", in_words(o)),
        Change::Vanished(o) => format!("{}: is gone in the output", in_words(o)),
    }
}

/// A concept's id, a pair of its core instances, and the names of what is in it.
type Described = (&'static str, Pair, Vec<String>);

/// `n` pairs, each of another concept as long as there are any, with what there is to see in each.
fn pairs(seed: u64, n: usize) -> Result<Vec<Described>, TaskError> {
    const ATTEMPTS: usize = 400;
    let mut rng = stream(seed, "physico/free-perception");
    let mut all = worlds::concepts().to_vec();
    shuffle(&mut rng, &mut all);
    let mut found = Vec::with_capacity(n);
    // A concept whose scenes are all crowded is passed over.
    for concept in all.iter().cycle().take(4 * n.max(all.len())) {
        if found.len() == n {
            break;
        }
        for _ in 0..ATTEMPTS {
            let aspect = concept.aspects.get(below(&mut rng, concept.aspects.len()));
            let palette = worlds::Setting::palette(&mut rng);
            let pair = aspect.and_then(|a| worlds::plain_pair(concept, a, &mut rng, palette));
            let Some(pair) = pair else { continue };
            let seen = objects(&pair);
            if seen.background == 0 && (1..=MOST_OBJECTS).contains(&seen.changes.len()) {
                found.push((concept.name, pair, seen.changes.iter().map(told).collect()));
                break;
            }
        }
    }
    let enough = (found.len() == n).then_some(found);
    let fault = || format!("physico: fewer than {n} pairs to describe; lower n");
    enough.ok_or_else(|| TaskError::Generator(fault()))
}

impl Task for FreePerception {
    fn card(&self) -> &TaskCard {
        &self.card
    }

    fn needs(&self, settings: &TaskSettings) -> Needs {
        let judged = PhysicoSettings::read(&self.card, settings).is_ok_and(|s| s.judge);
        Needs {
            images: self.seen,
            ..Needs::GENERATE.judged(judged)
        }
    }

    fn items(&self, settings: &TaskSettings, _: &dyn DataSource) -> Result<Items, TaskError> {
        let setup = PhysicoSettings::read(&self.card, settings)?;
        let seen = self.seen;
        let all = pairs(setup.seed, setup.n)?.into_iter().enumerate();
        Ok(Box::new(all.map(
            move |(index, (concept, pair, objects))| {
                let own = std::slice::from_ref(&pair);
                let (picture, shown) = match seen {
                    true => (Some(image(own)?), String::new()),
                    false => {
                        let [a, b] = [&pair.input, &pair.output].map(|g| grid_text(g, setup.grid));
                        (None, format!("Input grid:\n{a}\n\nOutput grid:\n{b}\n\n"))
                    }
                };
                let asked = PromptContent {
                    picture,
                    ..PromptContent::words(format!("{shown}{}", TEXTS.get(ASKED)))
                };
                let ask = judging::words(&setup, &asked);
                let target = Target::Data(json!({ "grids": question(own), "objects": objects }));
                let id = format!("{}-pair-{index:03}", setup.seed);
                Ok(Item::new(id, target, vec![ask]).tagged("concept", concept))
            },
        )))
    }

    fn for_people(&self, _: &TaskSettings, item: &Item) -> Option<ForPeople> {
        grids_for_people(TEXTS.get(ASKED).trim(), item)
    }

    fn follow_up(&self, settings: &TaskSettings, item: &Item, answers: &[Reply]) -> FollowUp {
        let setup = PhysicoSettings::read(&self.card, settings)?;
        let (true, [only]) = (setup.judge, answers) else {
            return Ok(vec![]);
        };
        let (Some(written), Target::Data(data)) = (only.answer.as_generated(), &item.target) else {
            return Ok(vec![]);
        };
        let objects = data["objects"].as_array().into_iter().flatten();
        let objects = prompt::numbered(objects.filter_map(|o| o.as_str()));
        let places = [("said", written.text.trim()), ("objects", &objects)];
        let asked = PromptContent::say("described_pair", &places);
        Ok(vec![judging::to_judge(&setup, &asked, 64)])
    }

    fn judge(&self, settings: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement {
        let Target::Data(data) = &item.target else {
            return Judgement::fault("a pair to describe has data as its target");
        };
        let marked = PhysicoSettings::read(&self.card, settings).is_ok_and(|s| s.judge);
        let all = data["objects"].as_array().map_or(0, Vec::len);
        match answers {
            [_, verdict] if marked => {
                let said = verdict.answer.as_generated();
                match said.and_then(|said| parse::numbers(&said.text, all)) {
                    Some(right) => {
                        let share = right.len() as f64 / all.max(1) as f64;
                        let whole = if right.len() == all { 1.0 } else { 0.0 };
                        Judgement::scored(share).measured("all_objects", whole)
                    }
                    None => Judgement::unscored(UnscoredReason::Unparsed),
                }
            }
            [_] => to_be_marked(),
            other => Judgement::fault(format!(
                "expected a description and its marks, found {} answers",
                other.len()
            )),
        }
    }

    fn scoring(&self, _: &TaskSettings) -> Scoring {
        Scoring::WRITTEN
    }

    fn conventions(&self, settings: &TaskSettings) -> BTreeMap<String, String> {
        conventions(&self.card, settings)
    }
}

/// Grids to look at, about which people write.
pub(crate) fn grids_for_people(instruction: &str, item: &Item) -> Option<ForPeople> {
    let Target::Data(data) = &item.target else {
        return None;
    };
    let parts = vec![Part::Text(data["grids"].as_str()?.to_owned())];
    Some(ForPeople::new(parts, PeopleAnswer::Text).told(instruction))
}

/// The verdict is people's, and is not in yet.
pub(crate) fn to_be_marked() -> Judgement {
    Judgement::not_applicable("marked by people")
}

#[cfg(test)]
mod tests {
    use mary_contract::{Generated, NoData, Outcome, Request, Response};

    use super::*;

    #[test]
    fn sixty_pairs_are_described_freely_and_every_object_is_marked() {
        let task = &FREE_TEXT_TASK;
        let settings = TaskSettings::default();
        assert!(task.needs(&settings).judge);
        let items: Vec<Item> = task
            .items(&settings, &NoData)
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert_eq!(items.len(), 60);
        let words = |text: &str| Reply::bare(Response::Generated(Generated::whole(text.into())));
        let several = |i: &&Item| matches!(&i.target, Target::Data(d) if d["objects"].as_array().unwrap().len() == 2);
        let item = items.iter().find(several).unwrap();
        let said = words("A red square falls.");
        let asks = task
            .follow_up(&settings, item, std::slice::from_ref(&said))
            .unwrap();
        let Request::Generate(asked) = &asks[0].request else {
            panic!("written");
        };
        assert!(
            asked.prompt.text().contains("\n2. "),
            "{}",
            asked.prompt.text()
        );
        let verdict = |marks: &str| task.judge(&settings, item, &[said.clone(), words(marks)]);
        assert_eq!(verdict("1, 2").outcome, Outcome::Scored(1.0));
        let half = verdict("2");
        assert_eq!(
            (half.outcome, half.measures["all_objects"]),
            (Outcome::Scored(0.5), 0.0)
        );
        assert_eq!(verdict("0").outcome, Outcome::Scored(0.0));
        // Marked by people, nothing is scored before they have.
        let by_people = TaskSettings {
            params: [("judge".to_owned(), "off".to_owned())].into(),
            ..settings
        };
        assert!(!task.needs(&by_people).judge);
        assert!(
            task.follow_up(&by_people, item, std::slice::from_ref(&said))
                .unwrap()
                .is_empty()
        );
        let unmarked = task.judge(&by_people, item, std::slice::from_ref(&said));
        assert!(matches!(unmarked.outcome, Outcome::Unscored(_)));
    }
}
