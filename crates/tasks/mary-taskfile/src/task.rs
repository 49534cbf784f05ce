//! A task file as a task.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use mary_contract::{
    Ask, Changes, Citation, DataSource, ErrorKind, FollowUp, ForPeople, InForce, Item, Items,
    Judgement, Measure, Metric, Needs, Param, Reference, Reply, Request, Sample, Sampling, Scoring,
    SettingDefault, Start, Task, TaskCard, TaskError, TaskSettings, Ties, Twin,
};

use crate::TaskFileError;
use crate::asking::AskSettings;
use crate::form::{JudgeKind, Order, RequestKind, Take, TiesForm, Unread};
use crate::items::ItemStream;
use crate::judge;
use crate::people;
use crate::plan::Plan;

const JUDGE_TOKENS: u32 = 256;

pub struct OwnTask {
    plan: Arc<Plan>,
    card: TaskCard,
}

impl OwnTask {
    /// Reads a task file, compiles its templates and hashes its data; rows are not looked at yet.
    pub fn read(path: &Path) -> Result<Self, TaskFileError> {
        Plan::read(path).map(Self::of_plan)
    }

    fn of_plan(plan: Plan) -> Self {
        Self {
            card: card(&plan),
            plan: Arc::new(plan),
        }
    }

    /// A dataset as Inspect has them (`input`, `choices`, `target`, `id`) as a task: a letter is asked for
    /// where there are choices, and else the target is looked for in the answer.
    pub fn of_dataset(path: &Path) -> Result<Self, TaskFileError> {
        crate::dataset::plan(path).map(Self::of_plan)
    }

    pub fn path(&self) -> &Path {
        &self.plan.path
    }

    pub fn data(&self) -> &Path {
        &self.plan.table.path
    }
}

fn card(plan: &Plan) -> TaskCard {
    let form = &plan.form;
    let (_, name) = plan.id.split_once('/').unwrap_or(("", &plan.id));
    let title = form.title.clone().unwrap_or_else(|| name.to_owned());
    let mut card = TaskCard::new(plan.id.clone(), title, form.about.clone());
    card.chance = form.judge.chance.or_else(|| chance(plan));
    let source = form.judge.human_source.clone();
    card.human = form.judge.human.map(|value| Reference {
        value,
        source: source.map_or(Cow::Borrowed("the task file"), Cow::Owned),
    });
    card.citation = Citation {
        text: form.citation.clone().into(),
        link: form.link.clone().into(),
    };
    card.params = Cow::Owned(params(plan));
    card.content = Some(plan.content.clone().into());
    // Version 1 showed pictures in a chat only.
    if !form.request.pictures.is_empty() {
        card.version = 2;
    }
    card
}

/// A guesser's score, where the form of the items gives it.
fn chance(plan: &Plan) -> Option<f64> {
    match plan.judge() {
        JudgeKind::Choice if plan.templates.has("good") => Some(0.5),
        JudgeKind::Choice => plan.options.map(|n| 1.0 / n as f64),
        JudgeKind::Triple => Some(0.5),
        _ => None,
    }
}

fn params(plan: &Plan) -> Vec<Param> {
    let param =
        |name: &'static str, default: String, values: &'static str, about: &'static str| Param {
            default: default.into(),
            ..Param::new(name, "", values, about)
        };
    let request = &plan.form.request;
    let mut params = Vec::new();
    match plan.kind() {
        RequestKind::Score => params.push(param(
            "normalisation",
            request.normalisation.name().into(),
            "none, token, byte, character, word, unconditional",
            "What log-probabilities are divided by (or, unconditional, what is taken from them) before they are compared.",
        ).changing(Changes::Judging)),
        RequestKind::Generate => {
            let (most, at) = (request.max_tokens, request.temperature);
            let about = "0 takes the most probable token.";
            params.push(param("max_tokens", most.to_string(), "a number", "Longest answer."));
            params.push(param("temperature", at.to_string(), "a number", about));
        }
        RequestKind::Observe => {}
    }
    if plan.asks_for_start() {
        let about = "What stands before the first token: the tokenizer's own start token or else end of text (auto), or a begin-of-sequence token as in lm-evaluation-harness.";
        params.push(param("start", "harness".into(), Start::VALUES, about));
    }
    if plan.judge() == JudgeKind::Number {
        let default = plan.form.judge.tolerance.to_string();
        let about = "How far from the right number an answer may be.";
        let tolerance = param("tolerance", default, "a number", about);
        params.push(tolerance.changing(Changes::Judging));
    }
    params
}

impl Task for OwnTask {
    fn card(&self) -> &TaskCard {
        &self.card
    }

    fn needs(&self, _: &TaskSettings) -> Needs {
        let kind = self.plan.kind();
        Needs {
            generate: kind == RequestKind::Generate,
            score: kind == RequestKind::Score,
            observe: kind == RequestKind::Observe,
            judge: self.plan.judge() == JudgeKind::Model,
            images: !self.plan.form.request.pictures.is_empty(),
            ..Needs::default()
        }
    }

    fn items(&self, settings: &TaskSettings, _: &dyn DataSource) -> Result<Items, TaskError> {
        Ok(Box::new(ItemStream::new(Arc::clone(&self.plan), settings)?))
    }

    fn default_for(&self, settings: &TaskSettings, _builtin: bool) -> SettingDefault {
        let open = self.plan.asks_for_start() && !settings.params.contains_key("start");
        open.then_some(("start", "auto"))
    }

    fn for_people(&self, _: &TaskSettings, item: &Item) -> Option<ForPeople> {
        people::shown(&self.plan, item)
    }

    fn follow_up(&self, settings: &TaskSettings, item: &Item, answers: &[Reply]) -> FollowUp {
        if self.plan.judge() != JudgeKind::Model || answers.len() != 1 {
            return Ok(Vec::new());
        }
        let question = judge::question(&self.plan, item, answers)?;
        let sampling = Sampling::greedy(JUDGE_TOKENS);
        let asked = question.map(|text| Request::words(settings.form, text, sampling));
        Ok(asked.map(Ask::judge).into_iter().collect())
    }

    fn judge(&self, settings: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement {
        match AskSettings::read(&self.plan, settings) {
            Ok(wanted) => judge::judge(&self.plan, &wanted, item, answers),
            Err(error) => Judgement::failed(ErrorKind::BadRequest, error.to_string()),
        }
    }

    fn overall(&self, _: &TaskSettings, samples: &mut dyn Iterator<Item = Sample>) -> Vec<Measure> {
        match self.plan.judge() {
            JudgeKind::Correlation => judge::correlations(samples),
            JudgeKind::Greedy | JudgeKind::Perplexity => judge::perplexities(samples),
            _ => Vec::new(),
        }
    }

    fn asked(&self, settings: &TaskSettings) -> InForce {
        let mut asked = settings.asked(&self.card);
        match settings.shots.unwrap_or(self.plan.form.shots.count) {
            // Only shots are drawn by the seed.
            0 => asked.remove("seed"),
            shots => asked.insert("shots".to_owned(), shots.to_string()),
        };
        asked
    }

    fn twin(&self, _: &TaskSettings) -> Option<Twin> {
        self.plan.twin.clone()
    }

    fn scoring(&self, _: &TaskSettings) -> Scoring {
        match (self.plan.kind(), self.plan.judge()) {
            (_, JudgeKind::Correlation | JudgeKind::Perplexity) => Scoring::number(Metric::Number),
            (RequestKind::Generate, _) | (_, JudgeKind::Greedy) => Scoring::WRITTEN,
            _ if self.plan.form.judge.ties == TiesForm::First => Scoring::share(Ties::First),
            (RequestKind::Score | RequestKind::Observe, _) => Scoring::share(Ties::Shared),
        }
    }

    fn conventions(&self, settings: &TaskSettings) -> BTreeMap<String, String> {
        let plan = &self.plan;
        let mut said = BTreeMap::new();
        let mut say = |name: &str, text: String| {
            said.insert(name.to_owned(), text);
        };
        let file = plan.table.path.file_name().unwrap_or_default();
        let file = file.to_string_lossy();
        say("data", format!("{file}, blake3 {}", plan.table.hash));
        let Ok(wanted) = AskSettings::read(plan, settings) else {
            return said;
        };
        match plan.kind() {
            RequestKind::Score => {
                say("normalisation", wanted.normalisation.name().into());
                if let Ok(start) = plan.start(settings) {
                    say("start", start.stated());
                }
            }
            RequestKind::Generate => {
                let (t, n) = (wanted.temperature, wanted.max_tokens);
                let how = format!("generated, temperature {t}, at most {n} tokens");
                say("answer", how);
            }
            RequestKind::Observe => say("pooling", format!("{:?}", plan.pool()).to_lowercase()),
        }
        let shots = settings.shots.unwrap_or(plan.form.shots.count);
        if shots > 0 {
            let order = match plan.form.shots.order {
                Order::Balanced => "balanced over the right answers, in random order",
                Order::Random => "random",
                Order::Fixed => "the same for every item",
            };
            say("shots", format!("{shots}, {order}"));
        }
        say("judge", judged(plan, &wanted));
        if let Some(twin) = &plan.twin {
            let how = format!("{} in words, here {}", twin.name, twin.shown.words());
            say("twin", how);
        }
        match plan.judge() {
            JudgeKind::Correlation => {
                let scored = plan.kind() == RequestKind::Score;
                say("scale", if scored { "logprob" } else { "cosine" }.into());
            }
            JudgeKind::Perplexity => say("scale", "bits per byte".into()),
            JudgeKind::Choice | JudgeKind::Triple => {
                let ties = match plan.form.judge.ties {
                    TiesForm::Shared => "share the point",
                    TiesForm::First => "the first of those that tie is taken",
                };
                say("ties", ties.into());
            }
            _ if plan.form.judge.unread == Unread::Wrong => say("unread answers", "wrong".into()),
            _ => {}
        }
        if let Some(people) = &plan.form.people {
            say("people's wording", people.wording.clone());
            if !people.answer.is_empty() {
                say("people's answer", people.answer.clone());
            }
        }
        said
    }
}

fn judged(plan: &Plan, wanted: &AskSettings) -> String {
    let which = match plan.take() {
        Take::First => "first",
        Take::Last => "last",
    };
    let unread = match plan.form.judge.unread {
        Unread::Unparsed => "unparsed",
        Unread::Wrong => "wrong",
    };
    match (plan.kind(), plan.judge()) {
        (RequestKind::Score, JudgeKind::Choice) => "the most probable text is chosen".into(),
        (_, JudgeKind::Choice) => "the option named by its letter or its words; none or several is unparsed".into(),
        (_, JudgeKind::Exact) => "the whole answer is equal".into(),
        (_, JudgeKind::Contains) => "the right words stand in the answer".into(),
        (_, JudgeKind::Regex) => format!("the {which} match of the pattern is equal; none is {unread}"),
        (_, JudgeKind::Number) => format!(
            "the {which} number is right within {} (or {} of it); none is {unread}",
            wanted.tolerance, plan.form.judge.relative
        ),
        (_, JudgeKind::Model) => "another model, by the rubric".into(),
        (_, JudgeKind::Correlation) => "the score is the mean value; `spearman` and `pearson` are its correlations over the items".into(),
        (_, JudgeKind::Greedy) => "right where every token is the model's first choice".into(),
        (_, JudgeKind::Perplexity) => "the score is the mean over the items; `bits_per_byte` and the perplexities are of all texts together".into(),
        (_, JudgeKind::Triple) => "the near text has the larger cosine".into(),
    }
}
