//! "The same question": what two scores must share before anything sets them side by side.
//!
//! A [`Question`] is a task, its version and those settings that change what is asked. Settings that
//! only change how stored answers are judged stand beside it in [`Conditions`]: answers to one question
//! can be judged again (`rescore`), but scores judged in two ways make no common curve, table or
//! matrix. Whatever groups, pairs, merges or draws asks here and names what it left out.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::source::source_word;
use crate::{ItemSource, RunManifest, SOURCE, Start, Task, TaskCard, TaskRun, TaskSettings};

/// Settings by name, as they were in force: defaults are filled in.
pub type InForce = BTreeMap<String, String>;

/// What a parameter of a task changes. Whoever does not say so is taken to change the question:
/// too many groups are seen by every reader, one too few by none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Changes {
    /// What the model is asked: scores with different values are of different questions.
    #[default]
    Question,
    /// How answers are judged: stored answers can be judged again with another value.
    Judging,
    /// Neither (what is kept in the log, say).
    Nothing,
}

/// A task, its version and what of its settings changes what is asked.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Question {
    /// `family/task`.
    pub task: String,
    /// Raised by the task whenever items, prompts or judging change.
    pub version: u32,
    /// Hash of everything that makes the task, for one that is not built in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Settings that change what is asked.
    pub asked: InForce,
}

/// What a score rests on: the question, and how answers to it were judged.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Conditions {
    /// The task and the settings that change what is asked.
    pub question: Question,
    /// Settings that change how answers are judged.
    pub judging: InForce,
}

impl Conditions {
    /// Every setting that tells these conditions from others of the same task, the version among them.
    fn named(&self) -> BTreeMap<&str, String> {
        let settings = self.question.asked.iter().chain(&self.judging);
        let settings = settings.map(|(name, value)| (name.as_str(), value.clone()));
        let mut named: BTreeMap<&str, String> = settings.collect();
        named.insert("task version", self.question.version.to_string());
        if let Some(content) = &self.question.content {
            named.insert("task content", content.chars().take(8).collect());
        }
        named
    }

    /// The settings without task and version: what tasks of one family that are asked alike have in
    /// common.
    pub fn manner(&self) -> InForce {
        let mut settings = self.question.asked.clone();
        settings.extend(self.judging.clone());
        settings
    }

    /// Whether these conditions differ from others in these settings at most, and both judge alike.
    pub fn agrees_but_for(&self, other: &Self, settings: &[&str]) -> bool {
        self.question.task == other.question.task
            && self
                .differences(other)
                .iter()
                .all(|d| settings.contains(&d.setting.as_str()))
    }

    /// Whether conditions of two tasks are alike in every setting that both have, these apart: the
    /// tasks of a family are then asked in the same manner.
    pub fn alike_where_shared(&self, other: &Self, apart: &[&str]) -> bool {
        let theirs = other.manner();
        self.manner().iter().all(|(name, value)| {
            apart.contains(&name.as_str()) || theirs.get(name).is_none_or(|v| v == value)
        })
    }

    /// In which settings these conditions differ from others: name, own value, the other's value.
    ///
    /// ```
    /// use mary_contract::TaskRun;
    ///
    /// let asked = |shots: &str| TaskRun {
    ///     id: "mine/rhyme".into(),
    ///     asked: Some([("shots".to_owned(), shots.to_owned())].into()),
    ///     ..TaskRun::default()
    /// };
    /// let (four, none) = (asked("4").conditions(), asked("0").conditions());
    /// assert_eq!(four.differences(&none)[0].to_string(), "shots 4 against 0");
    /// ```
    pub fn differences(&self, other: &Self) -> Vec<Difference> {
        let (mut own, mut others) = (self.named(), other.named());
        // Tasks of whole texts did not say what stands before them while it was always the same.
        match (own.contains_key("start"), others.contains_key("start")) {
            (true, false) => others.insert("start", Start::Always.name().to_owned()),
            (false, true) => own.insert("start", Start::Always.name().to_owned()),
            _ => None,
        };
        let mut names: Vec<&str> = own.keys().chain(others.keys()).copied().collect();
        names.sort_unstable();
        names.dedup();
        let names = names.into_iter();
        let differing = names.filter(|name| own.get(name) != others.get(name));
        let differences = differing.map(|name| Difference {
            setting: name.to_owned(),
            own: own.get(name).cloned().unwrap_or_default(),
            other: others.get(name).cloned().unwrap_or_default(),
            judging: self.judging.contains_key(name) || other.judging.contains_key(name),
        });
        differences.collect()
    }
}

/// One setting in which two conditions differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Its name.
    pub setting: String,
    /// Here; empty where it is not set.
    pub own: String,
    /// There.
    pub other: String,
    /// Whether it changes only how answers are judged.
    pub judging: bool,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [own, other] = [&self.own, &self.other].map(|value| match value.as_str() {
            "" => "unset",
            set => set,
        });
        write!(f, "{} {own} against {other}", self.setting)
    }
}

/// For each of several conditions the settings in which they are not all alike (`shots = 4, mode =
/// score`); empty texts when they are.
pub fn variants(of: &[&Conditions]) -> Vec<String> {
    let settings: Vec<_> = of.iter().map(|c| c.named()).collect();
    tell_apart(&settings)
}

/// The same for settings without a task, as [`Conditions::manner`] gives them.
pub fn variants_of(manners: &[&InForce]) -> Vec<String> {
    let manners = manners
        .iter()
        .map(|m| m.iter().map(|(k, v)| (k.as_str(), v.clone())));
    let settings: Vec<BTreeMap<&str, String>> = manners.map(Iterator::collect).collect();
    tell_apart(&settings)
}

/// A name for each of several conditions: the task, with the settings that tell it from others of the
/// same task. Empty where there is only one, which needs no name.
pub fn question_names(questions: &[&Conditions]) -> Vec<String> {
    if questions.len() < 2 {
        return vec![String::new(); questions.len()];
    }
    let by_task = questions.iter().map(|q| (q.question.task.as_str(), *q));
    let by_task: Vec<(&str, &Conditions)> = by_task.collect();
    let name = |((task, _), variant): (&(&str, _), String)| match variant.as_str() {
        "" => (*task).to_owned(),
        variant => format!("{task} ({variant})"),
    };
    by_task.iter().zip(told_apart(&by_task)).map(name).collect()
}

/// For each result, known by a key, the settings that tell it from the others with the same key; empty
/// where nothing has to.
pub fn told_apart<K: PartialEq>(results: &[(K, &Conditions)]) -> Vec<String> {
    let variant = |(key, own): &(K, &Conditions)| {
        let same = results.iter().filter(|(other, _)| other == key);
        let alike: Vec<&Conditions> = same.map(|(_, conditions)| *conditions).collect();
        let place = alike.iter().position(|c| c == own)?;
        variants(&alike).into_iter().nth(place)
    };
    let all = results.iter().map(variant);
    all.map(Option::unwrap_or_default).collect()
}

fn tell_apart(settings: &[BTreeMap<&str, String>]) -> Vec<String> {
    let mut names: Vec<&str> = settings.iter().flat_map(|s| s.keys().copied()).collect();
    names.sort_unstable();
    names.dedup();
    let first = settings.first();
    names.retain(|name| {
        let value = first.and_then(|s| s.get(name));
        settings.iter().any(|s| s.get(name) != value)
    });
    let said = |s: &BTreeMap<&str, String>| {
        let part = |name: &&str| Some(format!("{name} = {}", s.get(name)?));
        let parts: Vec<String> = names.iter().filter_map(part).collect();
        parts.join(", ")
    };
    settings.iter().map(said).collect()
}

impl TaskSettings {
    /// What of these settings changes what is asked, by the card: seed, form, shots where the user set
    /// them, and every parameter that does not say otherwise.
    pub fn asked(&self, card: &TaskCard) -> InForce {
        let mut asked = self.in_force(card, Changes::Question);
        asked.extend(self.of_every_task());
        asked
    }

    /// Seed, form, and shots where there are any.
    fn of_every_task(&self) -> InForce {
        let shots = self.shots.filter(|k| *k > 0);
        let shots = shots.map(|k| ("shots", k.to_string()));
        let all = [
            ("seed", self.seed.to_string()),
            ("form", self.form.name().to_owned()),
        ];
        let all = all.into_iter().chain(shots);
        all.map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// As [`Self::asked`], for a task whose items and prompts do not depend on the seed.
    pub fn asked_whatever_the_seed(&self, card: &TaskCard) -> InForce {
        let mut asked = self.asked(card);
        asked.remove("seed");
        asked
    }

    /// What of these settings changes how answers are judged.
    pub fn judging(&self, card: &TaskCard) -> InForce {
        self.in_force(card, Changes::Judging)
    }

    fn in_force(&self, card: &TaskCard, changes: Changes) -> InForce {
        let params = card.params.iter().filter(|p| p.changes == changes);
        let named = params.map(|p| (p.name.to_string(), self.param(card, &p.name).to_owned()));
        named.collect()
    }
}

impl TaskRun {
    /// A task as it is run under these settings, without limit and dataset.
    pub fn of(task: &dyn Task, settings: TaskSettings) -> Self {
        let card = task.card();
        let mut run = Self {
            id: card.id.to_string(),
            version: card.version,
            content: card.content.as_deref().map(str::to_owned),
            conventions: task.conventions(&settings),
            twin: task.twin(&settings),
            settings,
            ..Self::default()
        };
        run.complete(task);
        run
    }

    /// Fills in what runs of earlier programs did not record and the task still knows. Nothing is
    /// known of the settings of an imported run, nor of a task that has changed since.
    pub fn complete(&mut self, task: &dyn Task) {
        let card = task.card();
        let changed =
            self.version != card.version || self.content.as_deref() != card.content.as_deref();
        if self.is_imported() || changed {
            return;
        }
        self.source = self.source.or_else(|| Some(task.source(&self.settings)));
        if self.asked.is_some() {
            return;
        }
        self.asked = Some(task.asked(&self.settings));
        self.judging = task.judging(&self.settings);
        self.scoring = Some(task.scoring(&self.settings));
    }

    /// Whether another program made the answers, so that nothing is known of the settings.
    pub fn is_imported(&self) -> bool {
        self.imported.is_some() || self.conventions.contains_key("imported")
    }

    /// Where its items came from: as recorded, or as its settings say.
    pub fn item_source(&self) -> Option<ItemSource> {
        let asked = self.asked.as_ref().and_then(|asked| asked.get(SOURCE));
        let word = || asked.or_else(|| self.settings.params.get(SOURCE));
        self.source
            .or_else(|| word().map(|word| ItemSource::by_word(word)))
    }

    /// The question and how answers were judged. Where an old run says no more, every setting that
    /// somebody made counts.
    pub fn conditions(&self) -> Conditions {
        let mut asked = self.asked.clone().unwrap_or_else(|| {
            let mut set = self.settings.params.clone();
            if !self.is_imported() {
                set.extend(self.settings.of_every_task());
            }
            set
        });
        // Families once had words of their own for where items come from.
        if let Some(word) = asked.get_mut(SOURCE) {
            *word = source_word(word).to_owned();
        }
        Conditions {
            question: Question {
                task: self.id.clone(),
                version: self.version,
                content: self.content.clone(),
                asked,
            },
            judging: self.judging.clone(),
        }
    }

    /// As an earlier program would have recorded it.
    fn as_set(&self) -> Self {
        Self {
            asked: None,
            judging: InForce::new(),
            ..self.clone()
        }
    }

    /// What was asked.
    pub fn question(&self) -> Question {
        self.conditions().question
    }

    /// What keeps samples of this run from being paired with those of another: settings that differ,
    /// and datasets where both are known and differ. (A dataset that one run did not have was not
    /// read by it.) Nothing is said against an imported run, whose settings are not known.
    pub fn differences(&self, other: &Self) -> Vec<Difference> {
        let known = self.asked.is_some() && other.asked.is_some();
        let conditions = |run: &Self| match known {
            true => run.conditions(),
            // One of the two recorded no more than what somebody set: go by that on both sides.
            false => run.as_set().conditions(),
        };
        let mut found = match (self.is_imported(), other.is_imported()) {
            (false, false) => conditions(self).differences(&conditions(other)),
            _ => Vec::new(),
        };
        let short = |hash: &str| hash.chars().take(8).collect::<String>();
        if let (Some(own), Some(others)) = (&self.dataset_hash, &other.dataset_hash)
            && own != others
        {
            found.push(Difference {
                setting: "dataset".into(),
                own: short(own),
                other: short(others),
                judging: false,
            });
        }
        found
    }
}

impl RunManifest {
    /// A task as it was run.
    pub fn task(&self, id: &str) -> Option<&TaskRun> {
        self.tasks.iter().find(|t| t.id == id)
    }

    /// What the scores of a task rest on.
    pub fn conditions(&self, task: &str) -> Option<Conditions> {
        Some(self.task(task)?.conditions())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(shots: &str, judging: &str) -> TaskRun {
        TaskRun {
            id: "f/t".into(),
            version: 2,
            asked: Some([("shots".to_owned(), shots.to_owned())].into()),
            judging: [("scoring".to_owned(), judging.to_owned())].into(),
            ..TaskRun::default()
        }
    }

    #[test]
    fn what_changes_the_question_is_told_from_what_changes_the_judging() {
        let (a, b, c) = (run("4", "sum"), run("2", "sum"), run("4", "mean"));
        assert_ne!(a.question(), b.question());
        assert_eq!(a.question(), c.question());
        assert_ne!(a.conditions(), c.conditions());
        let differences = a.conditions().differences(&b.conditions());
        assert_eq!(differences.len(), 1);
        assert_eq!(differences[0].to_string(), "shots 4 against 2");
        assert!(!differences[0].judging);
        assert!(a.conditions().differences(&c.conditions())[0].judging);
    }

    #[test]
    fn variants_name_only_what_differs() {
        let (a, b, c) = (run("4", "sum"), run("2", "sum"), run("4", "mean"));
        let all = [a.conditions(), b.conditions(), c.conditions()];
        let all: Vec<&Conditions> = all.iter().collect();
        assert_eq!(variants(&all[..2]), ["shots = 4", "shots = 2"]);
        assert_eq!(variants(&all)[2], "scoring = mean, shots = 4");
        assert_eq!(variants(&all[..1]), [""]);
    }

    #[test]
    fn another_version_and_another_dataset_are_another_question() {
        let a = run("4", "sum");
        let newer = TaskRun {
            version: 3,
            ..a.clone()
        };
        assert_ne!(a.question(), newer.question());
        let with = |hash: &str| TaskRun {
            dataset_hash: Some(hash.into()),
            ..a.clone()
        };
        assert!(a.differences(&with("0123456789")).is_empty());
        let said = with("abcdefghij").differences(&with("0123456789"));
        assert_eq!(said[0].to_string(), "dataset abcdefgh against 01234567");
    }

    #[test]
    fn a_run_that_did_not_say_its_start_token_had_the_harness_own() {
        let with = |start: &str| {
            let mut run = run("4", "sum");
            let asked = run.asked.get_or_insert_default();
            asked.insert("start".into(), start.into());
            run.conditions()
        };
        let old = run("4", "sum").conditions();
        assert!(with("harness").differences(&old).is_empty());
        let said = with("auto").differences(&old);
        assert_eq!(said[0].to_string(), "start auto against harness");
    }

    #[test]
    fn an_old_shard_and_a_new_one_of_the_same_run_agree() {
        let mut new = run("4", "sum");
        new.settings.shots = Some(4);
        let old = new.as_set();
        assert!(old.differences(&new).is_empty());
        let mut other = new.clone();
        other.settings.shots = Some(2);
        assert_eq!(old.differences(&other)[0].to_string(), "shots 4 against 2");
    }

    #[test]
    fn an_old_run_is_known_by_the_settings_somebody_made() {
        let mut old = TaskRun {
            id: "f/t".into(),
            version: 1,
            ..TaskRun::default()
        };
        old.settings.shots = Some(4);
        let mut other = old.clone();
        other.settings.shots = Some(2);
        assert_ne!(old.question(), other.question());
        assert_eq!(old.question(), old.clone().question());
    }
}
