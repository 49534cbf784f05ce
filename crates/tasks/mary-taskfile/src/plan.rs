//! A task file that was read and found sound: its form, its templates compiled, its data hashed.

use std::path::{Path, PathBuf};

use mary_contract::{Layers, Pool, ShownAs, Start, StartError, TaskError, TaskSettings, Twin};
use regex::{Regex, RegexBuilder};

use crate::TaskFileError;
use crate::error::{TextError, text_of};
use crate::form::{
    Choices, Form, JudgeKind, LayersForm, Placed, PoolForm, RequestKind, StartForm, Take, TwinShown,
};
use crate::rows::{Columns, Row, Table};
use crate::source::FileText;
use crate::template::{Templates, Unrendered};

const PATTERN_SIZE: usize = 1 << 20;

const LARGEST_MIB: u64 = 4;

pub(crate) struct Plan {
    /// `family/task`.
    pub id: String,
    pub path: PathBuf,
    pub form: Form,
    pub templates: Templates,
    pub table: Table,
    pub shots: Table,
    pub pattern: Option<Regex>,
    pub removed: Vec<Regex>,
    pub layers: Layers,
    pub content: String,
    /// How many options every item has, where the file says so.
    pub options: Option<usize>,
    /// Which form of which items this is, where the file names its twin.
    pub twin: Option<Twin>,
}

impl Plan {
    pub fn read(path: &Path) -> Result<Self, TaskFileError> {
        Self::of_source(path, &source_of(path)?)
    }

    /// The same of a task whose text is known; `path` is where its data is seen from.
    pub fn of_source(path: &Path, source: &str) -> Result<Self, TaskFileError> {
        FileText { path, text: source }.plan()
    }

    pub fn unrendered(&self, row: &Row, error: &Unrendered) -> TaskError {
        let place = format!("`{}` ({}:{})", error.name, self.path.display(), error.line);
        row.wrong(error.explain(&place, &row.columns))
    }

    /// A column's text, for ids, strata, clusters and tags.
    pub fn column(&self, row: &Row, key: &str, column: &str) -> Result<String, TaskError> {
        row.text(column).map_err(|have| {
            row.wrong(format!(
                "there is no column `{column}`, which `{key}` under [data] of {} names; {have}",
                self.path.display(),
            ))
        })
    }

    /// Whether a row is one of ours.
    pub fn keeps(&self, filter: &str, row: &Row) -> Result<bool, TaskError> {
        if !self.templates.has(filter) {
            return Ok(true);
        }
        let value = self.templates.value(filter, &row.columns);
        let value = value.map_err(|e| self.unrendered(row, &e))?;
        // A template that is more than one expression gives text.
        Ok(match value.as_str() {
            Some(text) => !matches!(
                text.trim().to_ascii_lowercase().as_str(),
                "" | "false" | "0"
            ),
            None => value.is_true(),
        })
    }

    pub fn text(&self, name: &str, row: &Row, columns: &Columns) -> Result<String, TaskError> {
        let text = self.templates.text(name, columns);
        text.map_err(|e| self.unrendered(row, &e))
    }

    pub fn value(
        &self,
        name: &str,
        row: &Row,
        columns: &Columns,
    ) -> Result<minijinja::Value, TaskError> {
        let value = self.templates.value(name, columns);
        value.map_err(|e| self.unrendered(row, &e))
    }

    pub fn choices(&self) -> Option<&Choices> {
        let choices = self.form.request.choices.as_ref();
        choices.map(toml::Spanned::get_ref)
    }

    pub fn judge(&self) -> JudgeKind {
        *self.form.judge.kind.get_ref()
    }

    pub fn kind(&self) -> RequestKind {
        *self.form.request.kind.get_ref()
    }

    pub fn take(&self) -> Take {
        self.form.judge.take.unwrap_or_default()
    }

    pub fn pool(&self) -> Pool {
        match self.form.request.pool {
            PoolForm::Mean => Pool::Mean,
            PoolForm::Last => Pool::Last,
            PoolForm::First => Pool::First,
        }
    }

    /// Whether every option has a prompt of its own.
    pub fn prompt_per_option(&self) -> bool {
        let mut used = self.templates.uses("prompt").into_iter();
        self.kind() == RequestKind::Score && used.any(|name| name == "choice" || name == "letter")
    }

    /// Whether what stands before the first token is left to the settings: texts that are scored whole, and
    /// a file that does not say it.
    pub fn asks_for_start(&self) -> bool {
        let request = &self.form.request;
        self.kind() == RequestKind::Score && request.start.is_none() && request.prompt.is_none()
    }

    /// What stands before the first token, by the file, the settings, or whether there is a prompt. Runs of
    /// earlier programs, whose settings do not say it, had the harness' token before whole texts.
    pub fn start(&self, settings: &TaskSettings) -> Result<Start, TaskError> {
        if let Some(StartForm(start)) = &self.form.request.start {
            return Ok(start.clone());
        }
        match settings.params.get("start") {
            _ if !self.asks_for_start() => Ok(Start::Model),
            None => Ok(Start::Always),
            Some(name) => name
                .parse()
                .map_err(|e: StartError| TaskError::Setting(format!("{}: start: {e}", self.id))),
        }
    }
}

fn source_of(path: &Path) -> Result<String, TaskFileError> {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    text_of(path, LARGEST_MIB).map_err(|error| match error {
        TextError::Io(source) => TaskFileError::Unreadable {
            path: path.to_owned(),
            what: "the task file",
            hint: match source.kind() {
                NotFound | NotADirectory => "\nhint: `mary tasks new FILE` makes one".to_owned(),
                _ => String::new(),
            },
            source,
        },
        TextError::NotText(line) => TaskFileError::Wrong {
            path: path.to_owned(),
            line,
            message: "this is not valid UTF-8".into(),
        },
    })
}

/// Hash of several texts; the length before each keeps them apart.
pub(crate) fn content_hash(parts: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

pub(crate) fn file_safe(name: &str) -> String {
    let safe = |c: char| c.is_alphanumeric() || c == '.';
    name.to_lowercase().replace(|c: char| !safe(c), "-")
}

impl FileText<'_> {
    fn plan(self) -> Result<Plan, TaskFileError> {
        let form: Form = self.form()?;
        let id = self.id(&form)?;
        let twin = self.twin(&form)?;
        let templates = self.templates(&form)?;
        self.complete(&form)?;
        let data = &form.data;
        let table = self.table(&data.path, data.format, data.quotes, data.split.as_deref())?;
        let split = form.shots.split.as_deref();
        let shots = match &form.shots.path {
            Some(path) => self.table(path, form.shots.format, data.quotes, split)?,
            None if split.is_some() => self.table(&data.path, data.format, data.quotes, split)?,
            None => table.clone(),
        };
        let pattern = form.judge.pattern.as_ref();
        let pattern = pattern.map(|p| self.pattern("pattern", p)).transpose()?;
        let removed = form.judge.remove.iter();
        let removed = removed.map(|p| self.pattern("remove", p));
        let removed = removed.collect::<Result<_, _>>()?;
        let layers = self.layers(&form)?;
        let content = content_hash(&["mary-taskfile 1", self.text, &table.hash, &shots.hash]);
        let options = match form.request.choices.as_ref().map(toml::Spanned::get_ref) {
            Some(Choices::Each(each)) => Some(each.len()),
            _ => None,
        };
        Ok(Plan {
            id,
            path: self.path.to_owned(),
            templates,
            table,
            shots,
            pattern,
            removed,
            layers,
            content,
            options,
            twin,
            form,
        })
    }

    /// The form that this file is, where it names the one that asks the same items in words. Only what that
    /// file is called is looked at; its data may come later.
    fn twin(&self, form: &Form) -> Result<Option<Twin>, TaskFileError> {
        let Some(twin) = &form.twin else {
            return Ok(None);
        };
        let at = twin.words.span().start;
        if form.request.pictures.is_empty() {
            let why =
                "a file with a twin in words shows pictures itself (`pictures` under [request])";
            return Err(self.wrong(at, why));
        }
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let path = folder.join(twin.words.get_ref());
        let source = source_of(&path)?;
        let other = FileText {
            path: &path,
            text: &source,
        };
        let words: Form = other.form()?;
        if !words.request.pictures.is_empty() || words.twin.is_some() {
            let why = format!(
                "`{}` shows pictures; a twin in words shows none and names no twin itself",
                twin.words.get_ref()
            );
            return Err(self.wrong(at, why));
        }
        let name = other.id(&words)?;
        if name == self.id(form)? {
            return Err(self.wrong(at, format!("the twin has the same name, `{name}`")));
        }
        Ok(Some(Twin {
            name,
            shown: match twin.shown {
                TwinShown::Picture => ShownAs::Picture,
                TwinShown::Both => ShownAs::Both,
            },
            apart: Vec::new(),
        }))
    }

    /// `family/task` from the name, or from the file's.
    fn id(&self, form: &Form) -> Result<String, TaskFileError> {
        let stem = self.path.file_stem().unwrap_or_default().to_string_lossy();
        let (given, at) = match &form.name {
            Some(name) => (name.get_ref().clone(), name.span().start),
            None => (stem.into_owned(), 0),
        };
        let slug = |text: &str| -> String {
            let safe = file_safe(text.trim());
            safe.trim_matches(['-', '.']).to_owned()
        };
        let (family, task) = given.split_once('/').unwrap_or(("own", &given));
        let (family, task) = (slug(family), slug(task));
        if family.is_empty() || task.is_empty() {
            let message = format!(
                "`{given}` is not a name; expected `task` or `family/task` in letters and digits"
            );
            return Err(self.wrong(at, message));
        }
        Ok(format!("{family}/{task}"))
    }

    fn templates(&self, form: &Form) -> Result<Templates, TaskFileError> {
        let mut templates = Templates::new().map_err(|e| self.wrong(0, e))?;
        let (request, judge) = (&form.request, &form.judge);
        let mut add = |name: &str, text: Option<&Placed>, value: bool| match text {
            None => Ok(()),
            Some(text) => {
                let at = text.span().start;
                self.add(&mut templates, name, text.get_ref(), at, value)
            }
        };
        add("system", request.system.as_ref(), false)?;
        add("prompt", request.prompt.as_ref(), false)?;
        add("turns", request.turns.as_ref(), true)?;
        for (at, picture) in request.pictures.iter().enumerate() {
            add(&format!("pictures[{at}]"), Some(picture), true)?;
        }
        add("continuation", request.continuation.as_ref(), false)?;
        add("good", request.good.as_ref(), false)?;
        add("bad", request.bad.as_ref(), false)?;
        add("unconditional", request.unconditional.as_ref(), false)?;
        for (at, text) in request.texts.iter().enumerate() {
            add(&format!("texts[{at}]"), Some(text), false)?;
        }
        add("answer", judge.answer.as_ref(), true)?;
        add("rubric", judge.rubric.as_ref(), false)?;
        add("with", judge.with.as_ref(), true)?;
        add("where", form.data.filter.as_ref(), true)?;
        add("shots.where", form.shots.filter.as_ref(), true)?;
        add("shots.template", form.shots.template.as_ref(), false)?;
        if let Some(choices) = &request.choices {
            let at = choices.span().start;
            match choices.get_ref() {
                Choices::List(text) => self.add(&mut templates, "choices", text, at, true)?,
                Choices::Each(each) => {
                    for (n, text) in each.iter().enumerate() {
                        self.add(&mut templates, &format!("choices[{n}]"), text, at, false)?;
                    }
                }
            }
        }
        Ok(templates)
    }

    fn add(
        &self,
        templates: &mut Templates,
        name: &str,
        text: &str,
        at: usize,
        value: bool,
    ) -> Result<(), TaskFileError> {
        let line = self.line(at);
        let added = if value {
            templates.add_value(name, text, line)
        } else {
            templates.add(name, text, line)
        };
        added.map_err(|(message, within)| {
            // Text in three quotes begins on the next line.
            let written = self.text.get(at..).unwrap_or_default();
            let quotes = ["\"\"\"\n", "'''\n"];
            let below = usize::from(quotes.iter().any(|q| written.starts_with(q)));
            TaskFileError::Wrong {
                path: self.path.to_owned(),
                line: line + below + within.saturating_sub(1),
                message: format!("the template `{name}` is broken: {message}"),
            }
        })
    }

    fn pattern(&self, key: &str, pattern: &Placed) -> Result<Regex, TaskFileError> {
        RegexBuilder::new(pattern.get_ref())
            .size_limit(PATTERN_SIZE)
            .dfa_size_limit(PATTERN_SIZE)
            .build()
            .map_err(|e| {
                let said = e.to_string();
                let last = said.lines().last().unwrap_or(&said);
                let why = format!("`{key}` is no regular expression that can be used: {last}");
                self.wrong(pattern.span().start, why)
            })
    }

    fn layers(&self, form: &Form) -> Result<Layers, TaskFileError> {
        let Some(layers) = &form.request.layers else {
            return Ok(Layers::Last);
        };
        let expected = "expected `layers = \"last\"`, `\"all\"` or a list of numbers";
        match layers.get_ref() {
            LayersForm::Word(word) if word == "last" => Ok(Layers::Last),
            LayersForm::Word(word) if word == "all" => Ok(Layers::All),
            LayersForm::These(numbers) if !numbers.is_empty() => Ok(Layers::These(numbers.clone())),
            _ => Err(self.wrong(layers.span().start, expected)),
        }
    }

    fn must(&self, holds: bool, at: usize, what: &str) -> Result<(), TaskFileError> {
        holds.then_some(()).ok_or_else(|| self.wrong(at, what))
    }

    /// Whether request and judge fit and have what they need.
    fn complete(&self, form: &Form) -> Result<(), TaskFileError> {
        self.fitting(form)?;
        let (request, judge) = (&form.request, &form.judge);
        let kind = *request.kind.get_ref();
        let of_request = |holds, what| self.must(holds, request.kind.span().start, what);
        let of_judge = |holds, what| self.must(holds, judge.kind.span().start, what);
        let (generate, turns) = (kind == RequestKind::Generate, request.turns.is_some());
        let what = "kind = \"generate\" needs `prompt`, or `turns` in its place";
        of_request(!generate || request.prompt.is_some() != turns, what)?;
        of_request(generate || !turns, "`turns` go with kind = \"generate\"")?;
        let shown = kind != RequestKind::Observe || request.pictures.is_empty();
        let what = "`pictures` go with kind = \"generate\" and kind = \"score\"";
        of_request(shown, what)?;
        let what = "`max_tokens` is 0, so that nothing could be answered";
        of_request(request.max_tokens > 0, what)?;
        let drawn = request.temperature.is_finite() && request.temperature >= 0.0;
        of_request(drawn, "`temperature` is a number from 0")?;
        let within = judge.tolerance >= 0.0 && judge.relative >= 0.0;
        of_judge(within, "`tolerance` and `relative` are numbers from 0")?;
        let finite = |x: Option<f64>| x.is_none_or(f64::is_finite);
        let what = "`chance` and `human` are numbers on the task's scale (0.5, not 50 %)";
        of_judge(finite(judge.chance) && finite(judge.human), what)?;
        let Some(scale) = &judge.scale else {
            return Ok(());
        };
        let [low, high] = *scale.get_ref();
        let what = "`scale` is the lowest and the highest mark, for example [1, 5]";
        let rises = low.is_finite() && high.is_finite() && low < high;
        self.must(rises, scale.span().start, what)
    }

    /// Whether the judge goes with the request, and each has what the other needs.
    fn fitting(&self, form: &Form) -> Result<(), TaskFileError> {
        use JudgeKind::{
            Choice, Contains, Correlation, Exact, Greedy, Model, Number, Perplexity, Regex, Triple,
        };
        use RequestKind::{Generate, Observe, Score};
        let (request, judge) = (&form.request, &form.judge);
        let of_request = |holds, what| self.must(holds, request.kind.span().start, what);
        let of_judge = |holds, what| self.must(holds, judge.kind.span().start, what);
        let (good, bad) = (request.good.is_some(), request.bad.is_some());
        let (choices, answer) = (request.choices.is_some(), judge.answer.is_some());
        let with = "the judge `correlation` needs `with`: the number to compare with";
        match (*request.kind.get_ref(), *judge.kind.get_ref()) {
            (Score, Choice) if good || bad => {
                let what = "a minimal pair has `good` and `bad`, and no `choices`";
                of_request(good && bad && !choices, what)
            }
            (Score | Generate, Choice) => {
                of_request(
                    choices,
                    "the judge `choice` needs `choices` (or, with kind = \"score\", `good` and `bad`) under [request]",
                )?;
                let what = "the judge `choice` needs `answer`: which option is right";
                of_judge(answer, what)
            }
            (Generate, verdict @ (Exact | Contains | Regex | Number)) => {
                of_judge(answer, "this judge needs `answer`: what is right")?;
                let what = "the judge `regex` needs `pattern`: what is read from the model's text";
                of_judge(verdict != Regex || judge.pattern.is_some(), what)
            }
            (Generate, Model) => of_judge(
                judge.rubric.is_some(),
                "the judge `model` needs `rubric`: what the judge is asked",
            ),
            (Score, Correlation) => {
                of_judge(judge.with.is_some(), with)?;
                of_request(
                    request.continuation.is_some() && !choices,
                    "a correlation of log-probabilities needs `continuation`, the text that is scored, and no `choices`",
                )
            }
            (Score, Greedy | Perplexity) => of_request(
                request.continuation.is_some() && !choices,
                "this judge needs `continuation`, the text that is scored, and no `choices`",
            ),
            (Observe, Correlation) => {
                of_judge(judge.with.is_some(), with)?;
                let what = "a correlation of vectors needs two `texts`, whose cosine is taken";
                of_request(request.texts.len() == 2, what)
            }
            (Observe, Triple) => of_request(
                request.texts.len() == 3,
                "the judge `triple` needs three `texts`: what is asked about, the near one, the far one",
            ),
            _ => of_judge(
                false,
                "this judge does not fit the request; `generate` goes with choice, exact, contains, regex, \
                 number and model, `score` with choice, greedy, perplexity and correlation, `observe` with correlation and triple",
            ),
        }
    }
}
