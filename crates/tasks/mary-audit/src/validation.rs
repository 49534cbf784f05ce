//! Cross-validation of a baseline, and what the same baseline reaches on meaningless answers.

use std::collections::BTreeMap;

use mary_stats::Moments;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::features::{Memory, Text};
use crate::forest::credit;
use crate::learner::{Lifts, Telling};
use crate::sees::sees;
use crate::{AuditError, AuditSettings, Example, Finding, Form, folds};

/// What is predicted: one of the labels, or right against wrong for every option.
pub(crate) struct Classes {
    pub(crate) names: Vec<String>,
    /// For every example the label that is right, or the position of the right option.
    pub(crate) right: Vec<usize>,
    pub(crate) labels: bool,
}

impl Classes {
    pub(crate) fn from_examples(examples: &[Example], form: &Form) -> Self {
        match form {
            Form::Labels(names) => Self {
                right: examples
                    .iter()
                    .map(|e| names.iter().position(|l| l == e.answer()).unwrap_or(0))
                    .collect(),
                names: names.clone(),
                labels: true,
            },
            Form::Options => Self {
                names: vec!["wrong".to_owned(), "right".to_owned()],
                right: examples.iter().map(|e| e.correct).collect(),
                labels: false,
            },
        }
    }
}

/// What one baseline sees of every example.
pub(crate) struct Sheet {
    pub(crate) name: &'static str,
    pub(crate) features: Features,
    pub(crate) names: Vec<String>,
    /// The majority baseline sees nothing but how often each label is right.
    pub(crate) prior_only: bool,
}

/// Example by example, one row of features for the question (labels) or for each option.
pub(crate) type Rows = Vec<Vec<Vec<u32>>>;

pub(crate) enum Features {
    Fixed(Rows),
    /// Of the answers before in the file.
    Order,
    /// Of what was seen in training: all texts, and how many words they have.
    Remembered(Vec<Text>, usize),
}

/// Answers further than this from each other share one feature of the order.
pub(crate) const MOST_OPTIONS: usize = 32;

pub(crate) struct Set<'a> {
    pub(crate) examples: &'a [Example],
    pub(crate) groups: Vec<usize>,
    pub(crate) folds: usize,
    pub(crate) seed: u64,
    pub(crate) classes: Classes,
}

impl Set<'_> {
    pub(crate) fn finding(
        &self,
        sheet: &Sheet,
        settings: &AuditSettings,
    ) -> Result<Finding, AuditError> {
        let credits = self.cross_validate(sheet, &self.classes.right);
        let mut moments = Moments::new();
        for (credit, group) in credits.iter().zip(&self.groups) {
            moments.push_clustered(*credit, *group)?;
        }
        Ok(Finding {
            baseline: sheet.name,
            sees: sees(sheet.name, self.classes.labels),
            p: self.permutation_p(sheet, &credits, settings.permutations),
            accuracy: moments.interval()?,
            chance: self.chance(sheet),
            p_holm: 1.0,
            beats_chance: false,
            expected: settings.expected.iter().any(|name| name == sheet.name),
            telling: self.telling(sheet),
        })
    }

    /// How often a set with the same texts but meaningless answers is scored as well.
    ///
    /// A baseline learns its direction from the data, so that even by cross-validation its hits
    /// are not coin tosses; only doing the same to shuffled answers says what chance can reach.
    /// Drawing stops once 15 draws did as well (Besag and Clifford 1991).
    fn permutation_p(&self, sheet: &Sheet, credits: &[f64], most: usize) -> f64 {
        const ENOUGH: usize = 15;
        let observed = credits.iter().sum::<f64>() - 1e-9;
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed ^ 0x5eed_a0d1);
        let mut as_well = 0;
        for drawn in 1..=most {
            let right = if sheet.prior_only || !self.classes.labels {
                self.draw(&mut rng)
            } else {
                self.shuffle(&mut rng)
            };
            if self.cross_validate(sheet, &right).iter().sum::<f64>() >= observed {
                as_well += 1;
                if as_well == ENOUGH {
                    return as_well as f64 / drawn as f64;
                }
            }
        }
        (as_well + 1) as f64 / (most + 1) as f64
    }

    /// The labels shuffled, as far as the set would allow it if they meant nothing: within a group that
    /// holds several labels (twins) among its members, else over the groups. Twins keep one label each;
    /// shuffled over whole groups they would share one, and a baseline that cannot tell them apart,
    /// right in exactly one half, would seem to do better than shuffled answers.
    fn shuffle(&self, rng: &mut ChaCha8Rng) -> Vec<usize> {
        let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (index, group) in self.groups.iter().enumerate() {
            members.entry(*group).or_default().push(index);
        }
        let label = |i: &usize| self.classes.right.get(*i).copied().unwrap_or(0);
        let mut shuffled = self.classes.right.clone();
        let mut give = |index: usize, label: usize| {
            if let Some(slot) = shuffled.get_mut(index) {
                *slot = label;
            }
        };
        let (mut alike, mut labels) = (Vec::new(), Vec::new());
        for group in members.values() {
            let mut own: Vec<usize> = group.iter().map(label).collect();
            match own.first() {
                Some(&first) if own.iter().all(|l| *l == first) => {
                    alike.push(group);
                    labels.push(first);
                }
                _ => {
                    own.shuffle(rng);
                    for (index, label) in group.iter().zip(own) {
                        give(*index, label);
                    }
                }
            }
        }
        labels.shuffle(rng);
        for (group, label) in alike.into_iter().zip(labels) {
            for index in group {
                give(*index, label);
            }
        }
        shuffled
    }

    /// Any option (any label) as likely right as any other, the same for repeats of a question.
    fn draw(&self, rng: &mut ChaCha8Rng) -> Vec<usize> {
        let draws: Vec<f64> = self.groups.iter().map(|_| rng.random()).collect();
        let drawn = |(group, example): (&usize, &Example)| {
            let draw = draws.get(*group).copied().unwrap_or(0.0);
            if self.classes.labels {
                return (draw * self.classes.names.len() as f64) as usize;
            }
            let mut order: Vec<usize> = (0..example.options.len()).collect();
            order.sort_by_key(|&i| example.options.get(i));
            let chosen = (draw * order.len() as f64) as usize;
            order.get(chosen).copied().unwrap_or(0)
        };
        self.groups.iter().zip(self.examples).map(drawn).collect()
    }

    fn chance(&self, sheet: &Sheet) -> f64 {
        if self.classes.labels && sheet.prior_only {
            return 1.0 / self.classes.names.len() as f64;
        }
        self.chance_of(self.examples.len())
    }

    /// What guessing reaches on the first examples: for labels the most frequent one, for options one in
    /// so many.
    pub(crate) fn chance_of(&self, first: usize) -> f64 {
        let n = first.min(self.examples.len()).max(1);
        if self.classes.labels {
            let right = || self.classes.right.iter().take(n);
            let share = |c| right().filter(|r| **r == c).count() as f64 / n as f64;
            let classes = 0..self.classes.names.len();
            return classes.map(share).fold(0.0, f64::max);
        }
        let guess = |e: &Example| 1.0 / e.options.len() as f64;
        self.examples.iter().take(n).map(guess).sum::<f64>() / n as f64
    }

    /// Credit of every example: 1 for right, a share where several options tie.
    fn cross_validate(&self, sheet: &Sheet, right: &[usize]) -> Vec<f64> {
        let fold = folds::assign(&self.groups, right, self.folds, self.seed);
        let mut credits = vec![0.0; self.examples.len()];
        let order;
        let fixed = match &sheet.features {
            Features::Fixed(rows) => Some(rows),
            Features::Order => {
                order = self.order_rows(right);
                Some(&order)
            }
            Features::Remembered(..) => None,
        };
        // Everything is counted once; each part is forgotten while it is tested.
        let mut lifts = Lifts::new(sheet.names.len(), self.classes.names.len());
        if let Some(rows) = fixed {
            self.learn(&mut lifts, rows, right, (1.0, &|_| true));
        }
        for part in 0..self.folds {
            let held_out = |index: usize| fold.get(index) == Some(&part);
            let made;
            let rows = match &sheet.features {
                Features::Remembered(texts, vocabulary) => {
                    made = self.remember((texts, *vocabulary), right, held_out);
                    lifts = Lifts::new(sheet.names.len(), self.classes.names.len());
                    self.learn(&mut lifts, &made, right, (1.0, &|i| !held_out(i)));
                    &made
                }
                Features::Fixed(_) | Features::Order => {
                    let Some(rows) = fixed else { continue };
                    self.learn(&mut lifts, rows, right, (-1.0, &held_out));
                    rows
                }
            };
            for (index, row) in rows.iter().enumerate().filter(|(i, _)| held_out(*i)) {
                if let (Some(credit), Some(&answer)) = (credits.get_mut(index), right.get(index)) {
                    *credit = self.credit(&lifts, row, answer);
                }
            }
            if fixed.is_some() {
                self.learn(&mut lifts, rows, right, (1.0, &held_out));
            }
        }
        credits
    }

    /// Counts the examples chosen, or with a weight of -1 forgets them.
    fn learn(
        &self,
        lifts: &mut Lifts,
        rows: &Rows,
        right: &[usize],
        (weight, chosen): (f64, &dyn Fn(usize) -> bool),
    ) {
        let cases = rows.iter().zip(right).enumerate();
        for (_, (row, &answer)) in cases.filter(|(i, _)| chosen(*i)) {
            for (place, features) in row.iter().enumerate() {
                lifts.add(features, self.class(answer, place), weight);
            }
        }
    }

    /// The class of a row: the label itself, or whether the option in this place is right.
    fn class(&self, answer: usize, place: usize) -> usize {
        if self.classes.labels {
            answer
        } else {
            usize::from(place == answer)
        }
    }

    fn credit(&self, lifts: &Lifts, row: &[Vec<u32>], answer: usize) -> f64 {
        let scores: Vec<f64> = if self.classes.labels {
            let features = row.first().map_or(&[][..], Vec::as_slice);
            let classes = 0..self.classes.names.len();
            classes
                .map(|class| lifts.log_share(features, class))
                .collect()
        } else {
            row.iter().map(|f| lifts.log_odds(f, 1)).collect()
        };
        credit(&scores, answer)
    }

    /// Word memory: training texts do not remember themselves.
    fn remember(
        &self,
        (texts, vocabulary): (&[Text], usize),
        right: &[usize],
        held_out: impl Fn(usize) -> bool,
    ) -> Rows {
        let mut memory = Memory::new(vocabulary, self.classes.names.len());
        let mut start = 0;
        let mut spans = Vec::with_capacity(self.examples.len());
        for (index, (example, &answer)) in self.examples.iter().zip(right).enumerate() {
            let width = if self.classes.labels {
                1
            } else {
                example.options.len()
            };
            let own = texts.get(start..start + width).unwrap_or(&[]);
            start += width;
            if !held_out(index) {
                for (place, text) in own.iter().enumerate() {
                    memory.add(text, self.class(answer, place));
                }
            }
            spans.push((own, answer));
        }
        let recall = |(index, (own, answer)): (usize, (&[Text], usize))| -> Vec<Vec<u32>> {
            let known = |place| (!held_out(index)).then(|| self.class(answer, place));
            let texts = own.iter().enumerate();
            texts
                .map(|(place, text)| memory.recall(text, known(place)))
                .collect()
        };
        spans.into_iter().enumerate().map(recall).collect()
    }

    /// The place in the file and the answer before, for these answers.
    fn order_rows(&self, right: &[usize]) -> Rows {
        let before = |i: usize| i.checked_sub(1).and_then(|i| right.get(i)).copied();
        let row = |(i, example): (usize, &Example)| -> Vec<Vec<u32>> {
            if self.classes.labels {
                let mut features = vec![i % 2, 2 + i % 3, 5 + i % 4];
                features.extend(before(i).map(|class| 9 + class));
                return vec![features.into_iter().map(|f| f as u32).collect()];
            }
            let shift = |place: usize| {
                before(i)
                    .map(|b| (place.min(MOST_OPTIONS) + MOST_OPTIONS - b.min(MOST_OPTIONS)) as u32)
            };
            let places = 0..example.options.len();
            places.map(|p| shift(p).into_iter().collect()).collect()
        };
        self.examples.iter().enumerate().map(row).collect()
    }

    fn telling(&self, sheet: &Sheet) -> Vec<String> {
        let right = &self.classes.right;
        let made;
        let rows = match &sheet.features {
            Features::Fixed(rows) => rows,
            Features::Order => {
                made = self.order_rows(right);
                &made
            }
            Features::Remembered(texts, vocabulary) => {
                made = self.remember((texts, *vocabulary), right, |_| false);
                &made
            }
        };
        let mut lifts = Lifts::new(sheet.names.len(), self.classes.names.len());
        self.learn(&mut lifts, rows, right, (1.0, &|_| true));
        let all = lifts.telling();
        let name = |t: &Telling| {
            let name = sheet.names.get(t.feature as usize);
            name.map_or("", String::as_str)
        };
        let mut lines: Vec<String> = Vec::new();
        if !self.classes.labels {
            lines.extend(never_right(&all, name));
        }
        let shown = all
            .iter()
            .filter(|t| t.z.abs() > 2.5)
            // Of two labels one tells all; of right and wrong, right.
            .filter(|t| {
                if self.classes.labels {
                    t.z > 0.0
                } else {
                    t.class == 1
                }
            });
        for t in shown.take(5) {
            let class = self.classes.names.get(t.class).map_or("", String::as_str);
            lines.push(format!(
                "{}: {class} in {} of {} (by chance {:.0})",
                name(t),
                t.with_class,
                t.seen,
                t.expected
            ));
        }
        lines
    }
}

/// Frequent option texts that are hardly ever right, said in one sentence.
fn never_right<'n>(telling: &[Telling], name: impl Fn(&Telling) -> &'n str) -> Option<String> {
    let against = |t: &&Telling| t.class == 1 && t.seen >= 10.0 && t.z < -2.5;
    let options = |t: &&Telling| name(t).starts_with("option `");
    let rare = telling.iter().filter(against).filter(options);
    let rare: Vec<&Telling> = rare.take(12).collect();
    if rare.is_empty() {
        return None;
    }
    let bare = |t: &&Telling| name(t).trim_start_matches("option `").trim_end_matches('`');
    let names: Vec<&str> = rare.iter().map(bare).collect();
    let sum = |of: fn(&Telling) -> f64| rare.iter().map(|t| of(t)).sum::<f64>();
    Some(format!(
        "an option in {{{}}} is right in {} of {} (by chance {:.0})",
        names.join(", "),
        sum(|t| t.with_class),
        sum(|t| t.seen),
        sum(|t| t.expected),
    ))
}
