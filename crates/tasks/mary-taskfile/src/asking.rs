//! From a row to what is asked and what would be right.

use mary_contract::{
    Ask, Details, Generate, Part, Prompt, PromptForm, Request, Sampling, Score, Speaker, Target,
    TaskError, TaskSettings, Turn,
};
use minijinja::value::ValueKind;
use serde_json::{Value, json};

use crate::form::{AnswerIs, Choices, JudgeKind, Normalisation, RequestKind};
use crate::judge::number;
use crate::pictures;
use crate::plan::Plan;
use crate::rows::{Columns, Row};

/// How an option follows the prompt, unless the file says otherwise.
const FOLLOWS: &str = " ";

const NO_LIST: &str = "`choices` gives no list; expected [\"…\", \"…\"]\n\
    hint: a column of text is split with {{ column.split(\"|\") }}";

/// What stands before an option for its unconditional probability (Brown et al. 2020).
const UNCONDITIONAL: &str = "Answer:";

pub(crate) const LETTERS: usize = 26;

pub(crate) fn letter(at: usize) -> String {
    let offset = u8::try_from(at.min(LETTERS - 1)).unwrap_or(0);
    char::from(b'A' + offset).to_string()
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct AskSettings {
    pub normalisation: Normalisation,
    pub max_tokens: u32,
    pub temperature: f64,
    pub tolerance: f64,
}

impl AskSettings {
    /// Reads `--set`; what is not set is as the file says.
    pub fn read(plan: &Plan, settings: &TaskSettings) -> Result<Self, TaskError> {
        let given = |name: &str| settings.params.get(name).map(|text| text.trim());
        let wrong = |name: &str, text: &str, expected: &str| {
            let id = &plan.id;
            TaskError::Setting(format!(
                "{id}: `{name}` cannot be `{text}`; expected {expected}"
            ))
        };
        let number = |name: &str, default: f64| match given(name) {
            None => Ok(default),
            Some(text) => match text.parse::<f64>() {
                Ok(x) if x.is_finite() && x >= 0.0 => Ok(x),
                _ => Err(wrong(name, text, "a number from 0")),
            },
        };
        let request = &plan.form.request;
        let known = "none, token, byte, character, word or unconditional";
        Ok(Self {
            normalisation: match given("normalisation") {
                None => request.normalisation,
                Some(text) => {
                    Normalisation::named(text).ok_or_else(|| wrong("normalisation", text, known))?
                }
            },
            max_tokens: match given("max_tokens") {
                None => request.max_tokens,
                Some(text) => match text.parse() {
                    Ok(n) if n > 0 => n,
                    _ => return Err(wrong("max_tokens", text, "a number from 1")),
                },
            },
            temperature: number("temperature", request.temperature)?,
            tolerance: number("tolerance", plan.form.judge.tolerance)?,
        })
    }
}

/// A row with what its templates see: its columns, and `choices` and `lettered` where it has options.
pub(crate) struct RowView<'a> {
    plan: &'a Plan,
    row: &'a Row,
    columns: Columns,
    pub choices: Vec<String>,
}

impl<'a> RowView<'a> {
    pub fn new(plan: &'a Plan, row: &'a Row) -> Result<Self, TaskError> {
        let mut columns = row.columns.clone();
        let choices = match plan.choices() {
            None => Vec::new(),
            Some(Choices::Each(each)) => (0..each.len())
                .map(|n| plan.text(&format!("choices[{n}]"), row, &columns))
                .collect::<Result<_, _>>()?,
            Some(Choices::List(_)) => {
                list(&plan.value("choices", row, &columns)?).ok_or_else(|| row.wrong(NO_LIST))?
            }
        };
        if plan.form.request.choices.is_some() {
            let n = choices.len();
            if !(2..=LETTERS).contains(&n) {
                let why = format!("expected 2 to {LETTERS} options in `choices`, found {n}");
                return Err(row.wrong(why));
            }
            let lettered = choices.iter().enumerate();
            let lettered = lettered.map(|(at, choice)| format!("{}. {choice}", letter(at)));
            let lettered: Vec<String> = lettered.collect();
            columns.insert("choices".into(), json!(choices));
            columns.insert("lettered".into(), json!(lettered.join("\n")));
        }
        Ok(Self {
            plan,
            row,
            columns,
            choices,
        })
    }

    fn text(&self, name: &str) -> Result<String, TaskError> {
        self.plan.text(name, self.row, &self.columns)
    }

    fn text_if(&self, name: &str) -> Result<Option<String>, TaskError> {
        let has = self.plan.templates.has(name);
        has.then(|| self.text(name)).transpose()
    }

    pub fn accepted(&self) -> Result<Vec<String>, TaskError> {
        if !self.plan.templates.has("answer") {
            return Ok(Vec::new());
        }
        let value = self.plan.value("answer", self.row, &self.columns)?;
        let accepted = list(&value).unwrap_or_else(|| vec![value.to_string()]);
        if accepted.is_empty() || accepted.iter().any(|a| a.trim().is_empty()) {
            return Err(self.row.wrong("`answer` gives nothing for this row"));
        }
        Ok(accepted)
    }

    pub fn correct(&self) -> Result<usize, TaskError> {
        let accepted = self.accepted()?;
        let [answer] = accepted.as_slice() else {
            let why = "`answer` gives several; expected the one right option";
            return Err(self.row.wrong(why));
        };
        let answer = answer.trim();
        let same = |c: &String| c.trim() == answer;
        let text = self.choices.iter().position(same);
        let repeated = self.choices.iter().filter(|c| same(c)).count() > 1;
        let within = |n: &usize| *n < self.choices.len();
        let index = answer.parse::<usize>().ok().filter(within);
        let letters = (0..self.choices.len()).find(|n| letter(*n).eq_ignore_ascii_case(answer));
        let by_place = self.plan.form.judge.answer_is == Some(AnswerIs::Index);
        let found = match self.plan.form.judge.answer_is {
            Some(AnswerIs::Text) => text,
            Some(AnswerIs::Index) => index,
            Some(AnswerIs::Letter) => letters,
            None => match (text, index.or(letters)) {
                (Some(a), Some(b)) if a != b => {
                    return Err(self.row.wrong(format!(
                        "`answer` is `{answer}`, which is option {} by its text and option {} by its place\n\
                         hint: set `answer_is = \"text\"`, `\"index\"` (from 0) or `\"letter\"` under [judge]",
                        letter(a),
                        letter(b)
                    )));
                }
                (a, b) => a.or(b),
            },
        };
        if repeated && text == found && !by_place {
            let why = format!("two options are `{answer}`, the right answer");
            return Err(self.row.wrong(why));
        }
        found.ok_or_else(|| {
            self.row.wrong(format!(
                "`answer` is `{answer}`, which is none of the options (as text, as place from 0, or as letter): {}",
                self.choices.join(" | ")
            ))
        })
    }

    fn continuation(&self, at: usize, choice: &str) -> Result<String, TaskError> {
        if !self.plan.templates.has("continuation") {
            let asked = self.plan.templates.has("prompt");
            let follows = if asked { FOLLOWS } else { "" };
            return Ok(format!("{follows}{choice}"));
        }
        self.of_option("continuation", at, choice)
    }

    /// A template that sees one of the options.
    fn of_option(&self, name: &str, at: usize, choice: &str) -> Result<String, TaskError> {
        let mut columns = self.columns.clone();
        columns.insert("choice".into(), json!(choice));
        columns.insert("letter".into(), json!(letter(at)));
        self.plan.text(name, self.row, &columns)
    }

    /// The prompt; where each option has one of its own, that of the option at this place.
    fn question(&self, at: usize) -> Result<String, TaskError> {
        match self.choices.get(at) {
            Some(choice) if self.plan.prompt_per_option() => self.of_option("prompt", at, choice),
            _ => Ok(self.text_if("prompt")?.unwrap_or_default()),
        }
    }

    fn continuations(&self) -> Result<Vec<String>, TaskError> {
        let options = self.choices.iter().enumerate();
        let of_option = |(at, choice): (usize, &String)| self.continuation(at, choice);
        options.map(of_option).collect()
    }

    /// What shots are balanced by: the right option, where there are options.
    pub fn label(&self) -> Result<String, TaskError> {
        if self.choices.is_empty() {
            return Ok(String::new());
        }
        // With lettered options it is the place that must be balanced, else the words themselves.
        let at = self.correct()?;
        Ok(match self.plan.options {
            Some(_) => letter(at),
            None => self.choices.get(at).cloned().unwrap_or_default(),
        })
    }

    pub fn shot(&self) -> Result<String, TaskError> {
        let generate = self.plan.kind() == RequestKind::Generate;
        let option = |at: usize| self.choices.get(at).cloned().unwrap_or_default();
        let answer = match (self.choices.is_empty(), generate) {
            (true, _) => self.accepted()?.into_iter().next().unwrap_or_default(),
            (false, true) => letter(self.correct()?),
            (false, false) => option(self.correct()?),
        };
        if self.plan.templates.has("shots.template") {
            let mut columns = self.columns.clone();
            columns.insert("reference".into(), json!(answer));
            return self.plan.text("shots.template", self.row, &columns);
        }
        if !self.choices.is_empty() && !generate {
            let at = self.correct()?;
            return Ok(self.question(at)? + &self.continuation(at, &answer)?);
        }
        let prompt = self.question(0)?;
        let spaced = prompt.ends_with(char::is_whitespace);
        let space = if spaced { "" } else { " " };
        Ok(format!("{prompt}{space}{answer}"))
    }

    fn prompt(
        &self,
        settings: &TaskSettings,
        shots: &[String],
        at: usize,
    ) -> Result<Prompt, TaskError> {
        let mut prompt = if self.plan.templates.has("turns") {
            self.turns()?
        } else {
            self.single(settings, shots, at)?
        };
        let pictures = (0..self.plan.form.request.pictures.len()).map(|n| {
            let name = format!("pictures[{n}]");
            let value = self.plan.value(&name, self.row, &self.columns)?;
            pictures::read(&value, &self.plan.table.path).map_err(|why| self.row.wrong(why))
        });
        let pictures: Vec<Vec<Part>> = pictures.collect::<Result<_, _>>()?;
        let last = prompt.turns.iter_mut().rev();
        if let Some(turn) = last.into_iter().find(|t| t.speaker == Speaker::User) {
            turn.parts.splice(0..0, pictures.into_iter().flatten());
        }
        Ok(prompt)
    }

    fn single(
        &self,
        settings: &TaskSettings,
        shots: &[String],
        at: usize,
    ) -> Result<Prompt, TaskError> {
        let separator = self.plan.form.shots.separator.as_deref().unwrap_or("\n\n");
        let shots = shots.iter().flat_map(|shot| [shot.as_str(), separator]);
        let text: String = shots.collect();
        let mut prompt = Prompt::single(settings.form, text + &self.question(at)?);
        prompt.system = self.text_if("system")?;
        Ok(prompt)
    }

    /// A prompt of several turns, which is asked as a chat: plain text has no speakers.
    fn turns(&self) -> Result<Prompt, TaskError> {
        let value = self.plan.value("turns", self.row, &self.columns)?;
        let told = |why: &str| {
            self.row.wrong(format!(
                "`turns` {why}; expected [{{\"role\": \"user\", \"content\": \"…\"}}, …] with the roles system, \
                 user and assistant, the last of them user"
            ))
        };
        let Ok(Value::Array(members)) = serde_json::to_value(&value) else {
            return Err(told("gives no list"));
        };
        let mut prompt = Prompt {
            form: PromptForm::Chat,
            system: self.text_if("system")?,
            turns: Vec::new(),
        };
        for member in &members {
            let field = |name: &str| member.get(name).and_then(Value::as_str);
            let content = field("content");
            let content = content.ok_or_else(|| told("has a turn without `content` in words"))?;
            let speaker = match field("role") {
                Some("system") => {
                    prompt.system = Some(content.to_owned());
                    continue;
                }
                Some("user") => Speaker::User,
                Some("assistant") => Speaker::Assistant,
                _ => return Err(told("has a turn without a known `role`")),
            };
            let parts = vec![Part::Text(content.to_owned())];
            prompt.turns.push(Turn { speaker, parts });
        }
        match prompt.turns.last() {
            Some(turn) if turn.speaker == Speaker::User => Ok(prompt),
            _ => Err(told("does not end with a question")),
        }
    }

    pub fn asks(
        &self,
        settings: &TaskSettings,
        wanted: &AskSettings,
        shots: &[String],
    ) -> Result<Vec<Ask>, TaskError> {
        let plan = self.plan;
        let form = &plan.form.request;
        Ok(match plan.kind() {
            RequestKind::Generate => {
                let sampling = Sampling {
                    top_p: form.top_p,
                    stop: form.stop.clone(),
                    ..Sampling::greedy(wanted.max_tokens).at(wanted.temperature)
                };
                let prompt = self.prompt(settings, shots, 0)?;
                let request = Request::Generate(Generate::new(prompt, sampling));
                vec![Ask::subject(request)]
            }
            RequestKind::Score => {
                let continuations = if let Some(good) = self.text_if("good")? {
                    vec![good, self.text("bad")?]
                } else if self.choices.is_empty() {
                    vec![self.text("continuation")?]
                } else {
                    self.continuations()?
                };
                if let Some(empty) = continuations.iter().position(String::is_empty) {
                    let n = empty + 1;
                    let why =
                        format!("the scored text {n} is empty, so that it has no probability");
                    return Err(self.row.wrong(why));
                }
                let score = |prefix, continuations: &[String], start| {
                    Ask::subject(Request::Score(Score {
                        prefix,
                        continuations: continuations.to_vec(),
                        start,
                        details: Details {
                            rank: plan.judge() == JudgeKind::Greedy,
                            ..Details::default()
                        },
                    }))
                };
                let start = plan.start(settings)?;
                // Options with prompts of their own are asked one by one.
                let together = match plan.prompt_per_option() {
                    true => 1,
                    false => continuations.len(),
                };
                let groups = continuations.chunks(together).enumerate();
                let asks = groups.map(|(at, group)| {
                    let prompt = self.prompt(settings, shots, at)?;
                    Ok(score(prompt, group, start.clone()))
                });
                let mut asks: Vec<Ask> = asks.collect::<Result<_, TaskError>>()?;
                if wanted.normalisation == Normalisation::Unconditional {
                    let bare = self.text_if("unconditional")?;
                    let bare = bare.unwrap_or_else(|| UNCONDITIONAL.to_owned());
                    asks.push(score(Prompt::plain(bare), &continuations, start));
                }
                asks
            }
            RequestKind::Observe => (0..form.texts.len())
                .map(|n| {
                    let text = self.text(&format!("texts[{n}]"))?;
                    if text.trim().is_empty() {
                        let why = format!("text {} is empty, so that it has no vector", n + 1);
                        return Err(self.row.wrong(why));
                    }
                    let asked = Request::vectors(text, plan.pool(), plan.layers.clone());
                    Ok(Ask::subject(asked))
                })
                .collect::<Result<_, _>>()?,
        })
    }

    pub fn target(&self) -> Result<Target, TaskError> {
        let plan = self.plan;
        Ok(match plan.judge() {
            JudgeKind::Choice => match self.text_if("good")? {
                Some(good) => Target::Pair {
                    good,
                    bad: self.text("bad")?,
                },
                None => Target::Choice {
                    question: match plan.prompt_per_option() {
                        true => String::new(),
                        false => self.question(0)?,
                    },
                    options: self.choices.clone(),
                    correct: self.correct()?,
                },
            },
            JudgeKind::Exact | JudgeKind::Contains | JudgeKind::Regex => {
                let mut accepted = self.accepted()?;
                match (accepted.len(), accepted.pop()) {
                    (1, Some(one)) => Target::Text(one),
                    (_, last) => {
                        accepted.extend(last);
                        Target::Data(json!({ "accepted": accepted }))
                    }
                }
            }
            JudgeKind::Number => {
                let accepted = self.accepted()?;
                let text = accepted.first().map_or("", |a| a.trim());
                if accepted.len() != 1 || number::parse(text).is_none() {
                    let said = accepted.join(", ");
                    let why =
                        format!("`answer` is `{said}`; the judge `number` expects one number");
                    return Err(self.row.wrong(why));
                }
                Target::Text(text.to_owned())
            }
            JudgeKind::Model => {
                let used = plan.templates.uses("rubric");
                let mut columns = self.columns.clone();
                columns.retain(|name, _| used.contains(name));
                let reference = self.accepted()?.into_iter().next();
                // Rendered once for its errors: a column that is not there is told before anybody is
                // asked.
                let mut all = self.columns.clone();
                all.insert("response".into(), json!("…"));
                all.insert("reference".into(), json!(reference));
                plan.text("rubric", self.row, &all)?;
                let columns = Value::Object(columns);
                Target::Data(json!({ "reference": reference, "columns": columns }))
            }
            JudgeKind::Correlation => {
                let value = plan.value("with", self.row, &self.columns)?.to_string();
                let why =
                    || format!("`with` is `{value}`; the judge `correlation` expects a number");
                let with = number::parse(value.trim()).ok_or_else(|| self.row.wrong(why()))?;
                Target::Data(json!({ "with": with }))
            }
            JudgeKind::Greedy => Target::Text(self.text("continuation")?),
            JudgeKind::Perplexity => {
                let text = self.text("continuation")?;
                let words = text.split_whitespace().count();
                Target::Data(json!({ "bytes": text.len(), "words": words }))
            }
            JudgeKind::Triple => Target::Data(Value::Null),
        })
    }
}

/// The members of a list as text; nothing for what is no list.
fn list(value: &minijinja::Value) -> Option<Vec<String>> {
    if !matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable) {
        return None;
    }
    let members = value.try_iter().ok()?;
    // One more than is allowed is enough to refuse an endless list.
    Some(members.take(10_000).map(|v| v.to_string()).collect())
}
