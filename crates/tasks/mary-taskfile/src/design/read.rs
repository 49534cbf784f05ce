//! Designs as they are written: SyntaxGym's JSON suites, and task files with `[design]` over a table with a row for each item
//! and condition.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::formula::Formula;
use crate::TaskFileError;
use crate::error::text_of;
use crate::form::{Columns, Placed, StartForm};
use crate::plan::content_hash;
use crate::rows::{Format, Row, Table};
use crate::source::FileText;

const LARGEST_MIB: u64 = 64;

/// Items times conditions, at most: a design is held in memory.
const MOST: usize = 1_000_000;

/// How the surprisals of a region's tokens become one number.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Metric {
    #[default]
    Sum,
    Mean,
    Median,
    Range,
    Max,
    Min,
}

impl Metric {
    /// Of no token at all it is zero bits, as the sum is.
    pub fn of(self, mut bits: Vec<f64>) -> f64 {
        bits.sort_by(f64::total_cmp);
        let (Some(first), Some(last)) = (bits.first(), bits.last()) else {
            return 0.0;
        };
        let sum: f64 = bits.iter().sum();
        match self {
            Self::Sum => sum,
            Self::Mean => sum / bits.len() as f64,
            Self::Median => mary_stats::bootstrap::quantile_sorted(&bits, 0.5),
            Self::Range => last - first,
            Self::Max => *last,
            Self::Min => *first,
        }
    }
}

/// One item: the regions of its text in each condition.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DesignItem {
    pub id: String,
    pub conditions: Vec<(String, Vec<String>)>,
}

/// A column whose values make conditions, with its values in the order in which they appear.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Factor {
    pub name: String,
    pub levels: Vec<String>,
}

/// A number of bits by a formula, times a weight.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Effect {
    pub name: String,
    pub formula: Formula,
    pub weight: f64,
}

pub(crate) struct Design {
    /// `family/task`.
    pub id: String,
    pub title: String,
    pub about: String,
    pub citation: (String, String),
    pub content: String,
    pub metric: Metric,
    pub start: Option<StartForm>,
    pub regions: Vec<String>,
    pub factors: Vec<Factor>,
    /// The first decides.
    pub predictions: Vec<(String, Formula)>,
    pub effects: Vec<Effect>,
    pub items: Vec<DesignItem>,
}

/// Reads a suite or a task file with `[design]`; nothing where the file is something else.
pub(crate) fn read(path: &Path) -> Result<Option<Design>, TaskFileError> {
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    let toml = ending.eq_ignore_ascii_case("toml");
    if !toml && !ending.eq_ignore_ascii_case("json") {
        return Ok(None);
    }
    // What cannot be read as a design is told by whoever reads other files.
    let Ok(source) = text_of(path, LARGEST_MIB) else {
        return Ok(None);
    };
    let reading = FileText {
        path,
        text: &source,
    };
    let marks = ["\"predictions\"", "\"region_meta\"", "\"items\""];
    let headed = |line: &str| line.trim_start().starts_with("[design]");
    let found = if toml {
        source.lines().any(headed).then(|| reading.design())
    } else {
        marks
            .iter()
            .all(|m| source.contains(m))
            .then(|| reading.suite())
    };
    found.transpose()
}

#[derive(Deserialize)]
struct Suite {
    meta: Meta,
    region_meta: BTreeMap<String, String>,
    predictions: Vec<Prediction>,
    items: Vec<SuiteItem>,
}

#[derive(Deserialize)]
struct Meta {
    name: String,
    #[serde(default)]
    metric: Metric,
    #[serde(default)]
    comment: String,
    #[serde(default)]
    reference: String,
}

#[derive(Deserialize)]
struct Prediction {
    #[serde(rename = "type")]
    kind: String,
    formula: String,
}

#[derive(Deserialize)]
struct SuiteItem {
    item_number: u64,
    conditions: Vec<Condition>,
}

#[derive(Deserialize)]
struct Condition {
    condition_name: String,
    regions: Vec<SuiteRegion>,
}

#[derive(Deserialize)]
struct SuiteRegion {
    region_number: usize,
    content: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    name: Option<String>,
    title: Option<String>,
    #[serde(default)]
    about: String,
    #[serde(default)]
    citation: String,
    #[serde(default)]
    link: String,
    data: Data,
    design: Body,
    predictions: toml::Table,
    #[serde(default)]
    effects: toml::Table,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    path: Placed,
    format: Option<Format>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    item: String,
    factors: Vec<String>,
    regions: Columns,
    critical: Option<String>,
    #[serde(default)]
    metric: Metric,
    start: Option<StartForm>,
}

impl FileText<'_> {
    fn formula(&self, text: &str, regions: &[String]) -> Result<Formula, TaskFileError> {
        Formula::parse(text, regions).map_err(|why| self.wrong(self.place(text), why))
    }

    /// Whether formulas speak of regions and conditions that the items have.
    fn sound(&self, design: Design) -> Result<Design, TaskFileError> {
        let wrong = |message: String| Err(self.wrong(0, message));
        let Some(first) = design.items.first() else {
            return wrong("the design has no items".into());
        };
        let conditions: Vec<&str> = first.conditions.iter().map(|(c, _)| c.as_str()).collect();
        for item in &design.items {
            let has = |c: &&str| item.conditions.iter().any(|(own, _)| own == c);
            if !conditions.iter().all(has) || item.conditions.len() != conditions.len() {
                return wrong(format!(
                    "item `{}` does not have each condition once; expected: {}",
                    item.id,
                    conditions.join(", ")
                ));
            }
        }
        let predictions = design.predictions.iter().map(|(_, formula)| formula);
        let effects = design.effects.iter().map(|effect| &effect.formula);
        for region in predictions.chain(effects).flat_map(Formula::regions) {
            if !conditions.contains(&region.condition.as_str()) {
                let known = conditions.join(", ");
                return wrong(format!("{region} names no condition; there are: {known}"));
            }
            let regions = design.regions.len();
            if region.number > regions {
                return wrong(format!("{region} names no region; there are {regions}"));
            }
        }
        Ok(design)
    }

    fn suite(&self) -> Result<Design, TaskFileError> {
        let suite: Suite = serde_json::from_str(self.text).map_err(|e| TaskFileError::Wrong {
            path: self.path.to_owned(),
            line: e.line(),
            message: format!("this is no suite of SyntaxGym: {e}"),
        })?;
        let mut regions: Vec<(usize, String)> = Vec::new();
        for (number, name) in suite.region_meta {
            let number = number.parse().ok().filter(|n| *n > 0);
            let why = "`region_meta` has numbers from 1 as keys";
            regions.push((number.ok_or_else(|| self.wrong(0, why))?, name));
        }
        regions.sort();
        let mut predictions = Vec::new();
        for (at, prediction) in suite.predictions.iter().enumerate() {
            let kind = &prediction.kind;
            if kind != "formula" {
                let why = format!("a prediction is of the kind `{kind}`, not a formula");
                return Err(self.wrong(0, why));
            }
            let formula = self.formula(&prediction.formula, &[])?;
            if !formula.is_claim() {
                return Err(self.wrong(0, format!("`{formula}` predicts nothing: it is a number")));
            }
            predictions.push((format!("prediction {}", at + 1), formula));
        }
        let items = suite.items.into_iter().map(|item| DesignItem {
            id: item.item_number.to_string(),
            conditions: item
                .conditions
                .into_iter()
                .map(|mut condition| {
                    condition.regions.sort_by_key(|r| r.region_number);
                    let regions = condition.regions.into_iter().map(|r| r.content).collect();
                    (condition.condition_name, regions)
                })
                .collect(),
        });
        self.sound(Design {
            id: format!("syntaxgym/{}", crate::plan::file_safe(&suite.meta.name)),
            title: suite.meta.name,
            about: suite.meta.comment,
            citation: (suite.meta.reference, String::new()),
            content: content_hash(&["mary-taskfile design 1", self.text]),
            metric: suite.meta.metric,
            start: None,
            regions: regions.into_iter().map(|(_, name)| name).collect(),
            factors: Vec::new(),
            predictions,
            effects: Vec::new(),
            items: items.collect(),
        })
    }

    fn design(&self) -> Result<Design, TaskFileError> {
        let form: Form = self.form()?;
        let table = self.table(&form.data.path, form.data.format, None, None)?;
        let (factors, regions, items) = self.items(&form.design, &table)?;
        let mut predictions = self.formulas(&form.predictions, &regions, true)?;
        if predictions.is_empty() {
            return Err(self.wrong(self.place("[predictions]"), "there is no prediction"));
        }
        // In the order of the file: the first decides.
        let below = self.text.split("[predictions]").last().unwrap_or_default();
        predictions.sort_by_key(|(name, _)| below.find(name.as_str()));
        let mut effects = Vec::new();
        let effect = |name, formula, weight| Effect {
            name,
            formula,
            weight,
        };
        let critical = form.design.critical.as_deref();
        for (name, text, weight) in crossing(&factors, critical, &predictions) {
            effects.push(effect(name, self.formula(&text, &regions)?, weight));
        }
        let own = self.formulas(&form.effects, &regions, false)?.into_iter();
        effects.extend(own.map(|(name, formula)| effect(name, formula, 1.0)));
        let stem = self.path.file_stem().unwrap_or_default().to_string_lossy();
        let name = form.name.unwrap_or_else(|| stem.into_owned());
        let (family, task) = name.split_once('/').unwrap_or(("own", &name));
        let safe = crate::plan::file_safe;
        self.sound(Design {
            id: format!("{}/{}", safe(family), safe(task)),
            title: form.title.unwrap_or_else(|| task.to_owned()),
            about: form.about,
            citation: (form.citation, form.link),
            content: content_hash(&["mary-taskfile design 1", self.text, &table.hash]),
            metric: form.design.metric,
            start: form.design.start,
            regions,
            factors,
            predictions,
            effects,
            items,
        })
    }

    fn formulas(
        &self,
        table: &toml::Table,
        regions: &[String],
        claims: bool,
    ) -> Result<Vec<(String, Formula)>, TaskFileError> {
        let mut found = Vec::new();
        for (name, value) in table {
            let at = self.place(name);
            let text = value.as_str();
            let text = text.ok_or_else(|| self.wrong(at, format!("`{name}` is no text")))?;
            let formula = Formula::parse(text, regions).map_err(|why| self.wrong(at, why))?;
            if formula.is_claim() != claims {
                let why = match claims {
                    true => "a prediction compares: it has `<`, `>` or `=`",
                    false => "an effect is a number: sums and differences of regions",
                };
                return Err(self.wrong(at, format!("`{name}`: {why}")));
            }
            found.push((name.clone(), formula));
        }
        Ok(found)
    }

    /// The table's rows as items, with the factors' levels and the names of regions.
    fn items(&self, body: &Body, table: &Table) -> Result<Read, TaskFileError> {
        let told =
            |error: mary_contract::TaskError| self.wrong(self.place("[data]"), error.to_string());
        let factor = |name: &String| Factor {
            name: name.clone(),
            levels: Vec::new(),
        };
        let mut factors: Vec<Factor> = body.factors.iter().map(factor).collect();
        let mut names: Vec<String> = body.regions.names().to_vec();
        let cut = matches!(body.regions, Columns::One(_));
        if factors.is_empty() || names.is_empty() {
            let why = "a design has `factors` and `regions`: names of columns";
            return Err(self.wrong(self.place("[design]"), why));
        }
        let mut items: Vec<DesignItem> = Vec::new();
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        for (count, row) in table.rows().map_err(told)?.enumerate() {
            let row = row.map_err(told)?;
            if count >= MOST {
                return Err(told(row.wrong(format!("a design has at most {MOST} rows"))));
            }
            let mut condition = Vec::new();
            for factor in &mut factors {
                let level = self.column(&row, &factor.name)?;
                if !factor.levels.contains(&level) {
                    factor.levels.push(level.clone());
                }
                condition.push(level);
            }
            let id = self.column(&row, &body.item)?;
            let regions: Vec<String> = match cut {
                true => {
                    let text = self.column(&row, &names[0])?;
                    text.split('|').map(|r| r.trim().to_owned()).collect()
                }
                false => names
                    .iter()
                    .map(|name| self.column(&row, name))
                    .collect::<Result<_, _>>()?,
            };
            let at = *places.entry(id.clone()).or_insert(items.len());
            if at == items.len() {
                items.push(DesignItem {
                    id,
                    conditions: Vec::new(),
                });
            }
            if let Some(item) = items.get_mut(at) {
                item.conditions.push((condition.join("_"), regions));
            }
        }
        if cut {
            let regions = items
                .iter()
                .flat_map(|i| &i.conditions)
                .map(|(_, r)| r.len());
            let most = regions.max().unwrap_or(0);
            names = (1..=most).map(|n| n.to_string()).collect();
        }
        Ok((factors, names, items))
    }

    fn column(&self, row: &Row, name: &str) -> Result<String, TaskFileError> {
        let text = row.text(name).map_err(|have| {
            let why = format!("{}: there is no column `{name}`; {have}", row.file);
            self.wrong(self.place("[design]"), why)
        })?;
        Ok(text.trim().to_owned())
    }
}

type Read = (Vec<Factor>, Vec<String>, Vec<DesignItem>);

/// Main effects (means over the other factor) and interaction of two factors with two levels each, in the critical region or in
/// those that predictions name: the second level less the first, by the order in which they appear. Names, formulas, weights.
fn crossing(
    factors: &[Factor],
    critical: Option<&str>,
    predictions: &[(String, Formula)],
) -> Vec<(String, String, f64)> {
    let [one, two] = factors else {
        return Vec::new();
    };
    let ([a, b], [c, d]) = (one.levels.as_slice(), two.levels.as_slice()) else {
        return Vec::new();
    };
    let claims = predictions.iter().map(|(_, formula)| formula);
    let named = claims.flat_map(Formula::regions);
    let mut regions: Vec<&str> = match critical {
        Some(name) => vec![name],
        None => named.map(|region| region.name.as_str()).collect(),
    };
    regions.sort_unstable();
    regions.dedup();
    let mut found = Vec::new();
    for region in regions {
        let at = |x: &str, y: &str| format!("({region};%{x}_{y}%)");
        let (ac, ad, bc, bd) = (at(a, c), at(a, d), at(b, c), at(b, d));
        let (first, second) = (&one.name, &two.name);
        let mut add = |what: String, formula: String, weight: f64| {
            found.push((format!("{what}, region {region}"), formula, weight));
        };
        let what = format!("{first}: {b} - {a}");
        add(what, format!("{bc} + {bd} - {ac} - {ad}"), 0.5);
        let what = format!("{second}: {d} - {c}");
        add(what, format!("{ad} + {bd} - {ac} - {bc}"), 0.5);
        let what = format!("{first} × {second}");
        add(what, format!("[{bd} - {bc}] - [{ad} - {ac}]"), 1.0);
    }
    found
}
