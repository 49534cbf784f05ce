//! Naming the rule, as the paper's people were asked to (Lee & Lim 2024, Appendix E): they see the shots of a
//! task and state in words, within three minutes, what tells A from B. Others, or a judge model, say whether it
//! is the rule. One item for each of the paper's ten tasks.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use mary_contract::{
    Ask, DataSource, Estimate, FollowUp, ForPeople, InForce, Item, Items, Judgement,
    LabelledExample, MarkingForm, Measure, Needs, Outcome, Part, PeopleAnswer, Reply, Request,
    RunSummary, Sample, Sampling, Scoring, Target, Task, TaskCard, TaskError, TaskSettings,
};

use super::ab_task::{AbTask, FILE, card, verdict};
use super::dataset::{Example, SHOT_POOL, mixed};
use super::direct::sampling;
use super::prompt;
use super::tasks::AB_TASKS;
use super::upstream;

pub(super) const RULES: &str = "htest/name-the-rule";
/// The paper's limit: a later answer is wrong.
const SECONDS: u32 = 180;
/// What people's marks become.
const NAMED: &str = "rule_named_by_people";
/// What a model or a person named of all that it was asked, by trial or person.
const COUNT: &str = "rules_named";
/// What the paper told its people.
const TOLD: &str = "Sentences A and B are different based on a linguistic rule.";

static CARD: LazyLock<TaskCard> = LazyLock::new(|| card(RULES));

#[derive(Debug)]
pub struct NameTheRule;

pub static NAME_THE_RULE: NameTheRule = NameTheRule;

/// What tells A from B, in our words.
pub(super) fn rule_in_words(task: &str) -> Option<&'static str> {
    let name = task.strip_prefix("htest/").unwrap_or(task);
    let lines = include_str!("rules.txt").lines();
    let mut rules = lines.filter_map(|line| line.split_once('\t'));
    rules.find(|(own, _)| *own == name).map(|(_, rule)| rule)
}

fn judged(settings: &TaskSettings) -> bool {
    settings.param(&CARD, "judge") == "on"
}

fn shots_of(settings: &TaskSettings) -> usize {
    settings.shots.unwrap_or(SHOT_POOL)
}

fn shots(
    task: &AbTask,
    settings: &TaskSettings,
    data: &dyn DataSource,
) -> Result<Vec<Example>, TaskError> {
    let (k, seed) = (shots_of(settings), settings.seed);
    if settings.param(&CARD, "source") == "published" {
        let mut pool = upstream::shot_pool(data, task.upstream.unwrap_or_default())?;
        pool.truncate(k);
        return Ok(pool);
    }
    let (mut draws, _) = task.rule.draws((seed, 2), (k, 1), &[])?;
    let mut shots = draws.pop().unwrap_or_default();
    mixed(&mut shots, seed, task.rule.name, 0);
    Ok(shots)
}

impl Task for NameTheRule {
    fn card(&self) -> &TaskCard {
        &CARD
    }

    fn needs(&self, settings: &TaskSettings) -> Needs {
        Needs::GENERATE.judged(judged(settings))
    }

    fn items(&self, settings: &TaskSettings, data: &dyn DataSource) -> Result<Items, TaskError> {
        settings.check(&CARD)?;
        if shots_of(settings) < 2 {
            return Err(TaskError::Setting(format!(
                "{RULES}: a rule is found from labelled examples; expected two shots or more (-k)"
            )));
        }
        let sampling = sampling(&CARD, settings)?;
        let mut items = Vec::new();
        for task in AB_TASKS.iter().filter(|t| t.upstream.is_some()) {
            let shots = shots(task, settings, data)?;
            let words = prompt::rule_question(&shots, TOLD);
            let ask = Ask::subject(Request::words(settings.form, words, sampling.clone()));
            let name = task.card.id.trim_start_matches("htest/");
            let rule = Target::Text(rule_in_words(name).unwrap_or_default().to_owned());
            items.push(Ok(Item::new(name, rule, vec![ask]).tagged("rule", name)));
        }
        Ok(Box::new(items.into_iter()))
    }

    /// As in the paper: the examples, the sentence it told its people, three minutes.
    fn for_people(&self, _: &TaskSettings, item: &Item) -> Option<ForPeople> {
        let Request::Generate(asked) = &item.asks.first()?.request else {
            return None;
        };
        let examples: Vec<LabelledExample> = prompt::shown_examples(&asked.prompt.text());
        let words = "What is the rule that tells A from B? State it as precisely as you can.";
        Some(ForPeople {
            instruction: TOLD.to_owned(),
            examples,
            parts: vec![Part::Text(words.to_owned())],
            answer: PeopleAnswer::Text,
            seconds: Some(SECONDS),
        })
    }

    fn follow_up(&self, settings: &TaskSettings, item: &Item, answers: &[Reply]) -> FollowUp {
        let (true, [only], Target::Text(rule)) = (judged(settings), answers, &item.target) else {
            return Ok(vec![]);
        };
        let said = only.answer.as_generated().map_or("", |g| g.text.as_str());
        let words = prompt::is_the_rule(rule, said);
        let asked = Request::words(settings.form, words, Sampling::greedy(5));
        Ok(vec![Ask::judge(asked)])
    }

    fn judge(&self, _: &TaskSettings, _: &Item, answers: &[Reply]) -> Judgement {
        match answers {
            [said] => match said.answer.as_generated().map(|g| g.text.trim()) {
                Some("") => Judgement::scored(0.0),
                Some(_) => Judgement::not_applicable("marked by people"),
                None => Judgement::fault("expected a rule in words"),
            },
            [_, reading] => verdict(reading),
            other => Judgement::fault(format!(
                "expected a rule and its reading, found {}",
                other.len()
            )),
        }
    }

    fn overall(&self, _: &TaskSettings, samples: &mut dyn Iterator<Item = Sample>) -> Vec<Measure> {
        let mut each: BTreeMap<u32, (f64, usize)> = BTreeMap::new();
        for sample in samples {
            if let Some(named) = named(&sample) {
                let count = each.entry(sample.id.trial).or_default();
                count.0 += f64::from(named);
                count.1 += 1;
            }
        }
        let measure = |(trial, (named, asked)): (u32, (f64, usize))| {
            let (name, share) = (format!("{COUNT}[{trial}]"), named / asked.max(1) as f64);
            let estimate = Estimate::new(share, (share, share), asked, "count");
            Measure::new(name, estimate)
        };
        each.into_iter().map(measure).collect()
    }

    fn asked(&self, settings: &TaskSettings) -> InForce {
        let mut asked = settings.asked(&CARD);
        asked.insert("shots".into(), shots_of(settings).to_string());
        // Who reads the statement changes nothing of what is asked.
        asked.remove("judge");
        asked
    }

    fn scoring(&self, _: &TaskSettings) -> Scoring {
        Scoring::WRITTEN
    }

    fn conventions(&self, settings: &TaskSettings) -> BTreeMap<String, String> {
        FILE.conventions(&CARD, settings, &[])
    }
}

/// Whether an answer names the rule; nothing where nobody has read it yet.
fn named(sample: &Sample) -> Option<bool> {
    let measures = &sample.judgement.measures;
    let seconds = measures.get("seconds");
    let late = seconds.is_some_and(|s| *s > f64::from(SECONDS));
    match (measures.get(NAMED), &sample.judgement.outcome) {
        _ if late || sample.written().trim().is_empty() => Some(false),
        (Some(share), _) => Some(*share > 0.5),
        (None, Outcome::Scored(score)) => Some(*score > 0.5),
        (None, _) => None,
    }
}

/// The statements of a run, to be marked by people who do not know whose they are.
pub(super) fn rules_form(samples: &[Sample]) -> MarkingForm {
    let mut form = MarkingForm::new(
        "the statement is another rule, or says less than the rule",
        "the statement is this rule, in whatever words",
        &["rule", "statement"],
    )
    .measured(NAMED);
    for sample in samples.iter().filter(|s| !s.written().trim().is_empty()) {
        if let Target::Text(rule) = &sample.item.target {
            let shown = vec![rule.clone(), sample.written().trim().to_owned()];
            form.line(&sample.id, "", shown);
        }
    }
    form
}

/// A line of Table 7: who named how many rules from how many shots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RulesNamed {
    pub who: String,
    pub k: usize,
    pub named: usize,
    pub of: usize,
}

/// What people and models of some runs named. Nobody is listed before their statements were read.
pub(super) fn rules_named(runs: &[RunSummary]) -> Vec<RulesNamed> {
    let mut found: Vec<RulesNamed> = Vec::new();
    for run in runs {
        let Some(task) = run.manifest.task(RULES) else {
            continue;
        };
        for row in run.rows.iter().filter(|row| row.task == RULES) {
            let counts: Vec<(&str, &Estimate)> = row
                .measures
                .iter()
                .filter_map(|m| {
                    let trial = m.name.strip_prefix(COUNT)?.strip_prefix('[')?;
                    Some((trial.strip_suffix(']')?, &m.estimate))
                })
                .collect();
            let several = counts.len() > 1;
            for (trial, count) in counts {
                let number: usize = trial.parse().unwrap_or(0);
                let (who, person) = (&row.model, row.model.starts_with("people/"));
                let who = match (person, several) {
                    (true, _) => format!("{who}, person {}", number + 1),
                    (false, true) => format!("{who}, run {}", number + 1),
                    (false, false) => who.clone(),
                };
                let line = RulesNamed {
                    who,
                    k: shots_of(&task.settings),
                    named: (count.value * count.n as f64).round() as usize,
                    of: count.n,
                };
                if !found.contains(&line) {
                    found.push(line);
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use mary_contract::{Generated, NoData, Response};

    use super::*;

    fn words(text: &str) -> Reply {
        Reply::bare(Response::Generated(Generated::whole(text.into())))
    }

    #[test]
    fn people_see_the_shots_of_ten_tasks_and_have_three_minutes() {
        let settings = TaskSettings {
            shots: Some(14),
            ..TaskSettings::default()
        };
        let items = NAME_THE_RULE.items(&settings, &NoData).unwrap();
        let items: Vec<Item> = items.map(Result::unwrap).collect();
        assert_eq!(items.len(), 10);
        for item in &items {
            let shown = NAME_THE_RULE.for_people(&settings, item).unwrap();
            assert_eq!((shown.examples.len(), shown.seconds), (14, Some(180)));
            let rule = rule_in_words(&item.id).unwrap();
            assert!(!serde_json::to_string(&shown).unwrap().contains(rule));
        }
        let item = &items[0];
        let asks = NAME_THE_RULE
            .follow_up(&settings, item, &[words("x")])
            .unwrap();
        assert_eq!(asks.len(), 1);
        let verdict = |said: &str| NAME_THE_RULE.judge(&settings, item, &[words("x"), words(said)]);
        assert_eq!(verdict("1").outcome, Outcome::Scored(1.0));
        assert_eq!(verdict("0.").outcome, Outcome::Scored(0.0));
        assert!(matches!(verdict("well").outcome, Outcome::Unscored(_)));
    }
}
