//! Shots: rows shown with their answers before the question. A bounded pool is drawn from the data by
//! the seed; each item takes its shots from it, never itself.

use std::collections::BTreeMap;

use mary_contract::{TaskError, TaskSettings};
use mary_generators::{shuffle, stream};

use crate::asking::RowView;
use crate::form::Order;
use crate::items::id_of;
use crate::plan::Plan;

/// Rows kept of each right answer, at least.
const KEPT: usize = 64;

/// Different right answers that are balanced; more are one group.
const GROUPS: usize = 64;

const MOST: usize = 1000;

struct Shot {
    id: String,
    text: String,
}

pub(crate) struct Pool {
    groups: Vec<Vec<Shot>>,
    count: usize,
    order: Order,
    seed: u64,
    task: String,
}

impl Pool {
    /// Reads the data for shots once; nothing when none are wanted.
    pub fn read(plan: &Plan, settings: &TaskSettings) -> Result<Option<Self>, TaskError> {
        let count = settings.shots.unwrap_or(plan.form.shots.count);
        if count == 0 {
            return Ok(None);
        }
        let refused = |why: &str| Err(TaskError::Setting(format!("{}: {why}", plan.id)));
        if count > MOST {
            return refused(&format!(
                "{count} shots are more than the {MOST} that are allowed"
            ));
        }
        if !plan.templates.has("prompt") || !plan.templates.has("answer") {
            return refused(
                "shots need `prompt` and `answer`; minimal pairs, vectors and rubrics have none",
            );
        }
        let keep = KEPT.max(count + 1);
        let mut groups: BTreeMap<String, BTreeMap<(u64, String), String>> = BTreeMap::new();
        for row in plan.shots.rows()? {
            let row = row?;
            if !plan.keeps("shots.where", &row)? {
                continue;
            }
            let mut id = id_of(plan, &row)?;
            let other = plan.form.shots.path.is_some() || plan.form.shots.split.is_some();
            if other && plan.form.data.id.is_none() {
                // A line of another file is not the item of the same line.
                id.insert_str(0, "shots:");
            }
            let seen = RowView::new(plan, &row)?;
            let mut label = seen.label()?;
            if groups.len() >= GROUPS && !groups.contains_key(&label) {
                label.clear();
            }
            let group = groups.entry(label).or_default();
            let place = (rank(settings.seed, &id), id);
            let enough = group.len() >= keep;
            let last = group.last_key_value().map(|(last, _)| last);
            if enough && last.is_some_and(|last| *last < place) {
                continue;
            }
            group.insert(place, seen.shot()?);
            if enough {
                group.pop_last();
            }
        }
        let groups = groups.into_values().map(|group| {
            let shots = group.into_iter();
            shots.map(|((_, id), text)| Shot { id, text }).collect()
        });
        Ok(Some(Self {
            groups: groups.collect(),
            count,
            order: plan.form.shots.order,
            seed: settings.seed,
            task: plan.id.clone(),
        }))
    }

    /// The shots of one item; an error says how many there are.
    pub fn draw(&self, item: &str) -> Result<Vec<String>, String> {
        let mut rng = stream(self.seed, &format!("{}/shots/{item}", self.task));
        let others = self
            .groups
            .iter()
            .map(|group| group.iter().filter(|s| s.id != item));
        let mut groups: Vec<Vec<&Shot>> = others.map(Iterator::collect).collect();
        let there: usize = groups.iter().map(Vec::len).sum();
        if there < self.count {
            return Err(format!(
                "{} shots are wanted and there are {there} other rows to take them from",
                self.count
            ));
        }
        let mut chosen: Vec<&Shot> = match self.order {
            Order::Random => {
                let mut all: Vec<&Shot> = groups.into_iter().flatten().collect();
                shuffle(&mut rng, &mut all);
                all.truncate(self.count);
                all
            }
            Order::Balanced => {
                for group in &mut groups {
                    shuffle(&mut rng, group);
                }
                shuffle(&mut rng, &mut groups);
                let mut chosen = rounds(&groups, self.count);
                shuffle(&mut rng, &mut chosen);
                chosen
            }
            // The same for every item, but for the item itself.
            Order::Fixed => rounds(&groups, self.count),
        };
        Ok(chosen.drain(..).map(|s| s.text.clone()).collect())
    }
}

/// One of each group in turn.
fn rounds<'a>(groups: &[Vec<&'a Shot>], count: usize) -> Vec<&'a Shot> {
    let longest = groups.iter().map(Vec::len).max().unwrap_or(0);
    let turns = (0..longest).flat_map(|turn| groups.iter().filter_map(move |g| g.get(turn)));
    turns.take(count).copied().collect()
}

/// Order of a row in the draw, by the seed and its id alone.
fn rank(seed: u64, id: &str) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"shots");
    hasher.update(&seed.to_le_bytes());
    hasher.update(id.as_bytes());
    hash(&hasher)
}

fn hash(hasher: &blake3::Hasher) -> u64 {
    let mut first = [0u8; 8];
    hasher.finalize_xof().fill(&mut first);
    u64::from_le_bytes(first)
}
