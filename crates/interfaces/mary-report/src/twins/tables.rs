//! Tables and the figure of twins.

use mary_contract::{Cell, Conditions, Estimate, Exhibits, Figure, Point, Series, ShownAs, Table};
use mary_platform::grouped;
use mary_stats::difference::Difference;
use mary_stats::{StatsError, intervals, score_interval};

use super::{Answers, Group};
use crate::DECLARED;
use crate::number::{ScoreScale, p_value};
use crate::paired::{ScorePairs, counted_units, holm, scale_of};

/// Pairs of forms: the second is taken from the first.
const PAIRS: [(ShownAs, ShownAs); 3] = [
    (ShownAs::Picture, ShownAs::Words),
    (ShownAs::Both, ShownAs::Words),
    (ShownAs::Both, ShownAs::Picture),
];

pub(super) fn exhibits(
    groups: &[Group],
    names: &[String],
    models: &[(String, bool)],
) -> Result<Exhibits, StatsError> {
    let whole = Whole {
        groups,
        names,
        models,
    };
    let mut tables = vec![whole.forms()?];
    tables.extend(whole.eyes()?);
    tables.push(whole.decided()?);
    tables.extend(whole.apart());
    tables.retain(|table| !table.rows.is_empty());
    Ok(Exhibits {
        figures: whole.figure().into_iter().collect(),
        tables,
        ..Exhibits::default()
    })
}

struct Whole<'a> {
    groups: &'a [Group],
    names: &'a [String],
    models: &'a [(String, bool)],
}

impl Whole<'_> {
    fn named(&self) -> impl Iterator<Item = (&Group, &String)> {
        let all = self.groups.iter().zip(self.names);
        all.filter(|(group, _)| group.asked.len() > 1)
    }

    fn shown(&self) -> Vec<ShownAs> {
        let occurs = |form: &ShownAs| self.named().any(|(g, _)| g.asked.contains_key(form));
        ShownAs::ALL.into_iter().filter(occurs).collect()
    }

    fn pairs(&self) -> Vec<(ShownAs, ShownAs)> {
        let shown = self.shown();
        let both = |(a, b): &(ShownAs, ShownAs)| shown.contains(a) && shown.contains(b);
        PAIRS.into_iter().filter(both).collect()
    }

    fn subjects(&self) -> impl Iterator<Item = (&Group, &String, &String)> {
        self.models.iter().flat_map(move |(model, _)| {
            let of = self.named().filter(move |(group, _)| {
                let forms = group.answers.keys().filter(|(who, _)| who == model);
                forms.count() > 1
            });
            of.map(move |(group, name)| (group, name, model))
        })
    }

    fn forms(&self) -> Result<Table, StatsError> {
        let (shown, pairs) = (self.shown(), self.pairs());
        let mut rows = Vec::new();
        for (group, name, model) in self.subjects() {
            let mut row = vec![Cell::from(model.as_str()), Cell::from(name.as_str())];
            row.extend(shown.iter().map(|form| score_cell(group, model, *form)));
            for (first, second) in &pairs {
                let other = answers(group, model, *second);
                row.push(difference_cell(
                    group,
                    answers(group, model, *first),
                    other,
                )?);
            }
            rows.push(row);
        }
        let minus = |(a, b): &(ShownAs, ShownAs)| format!("{} − {}", a.words(), b.words());
        let table = DECLARED.table("twins-forms").with_rows(rows);
        Ok(table
            .with_heads("forms", shown.iter().map(|form| form.words()))
            .with_heads("differences", pairs.iter().map(minus)))
    }

    fn eyes(&self) -> Result<Option<Table>, StatsError> {
        let shown = self.shown();
        let mut rows = Vec::new();
        for (group, name, model) in self.subjects() {
            for (other, sees) in self.models {
                let base = answers(group, other, ShownAs::Words);
                if *sees || base.is_none() {
                    continue;
                }
                let mut row: Vec<Cell> =
                    [model, other, name].map(|t| Cell::from(t.as_str())).into();
                row.push(score_cell(group, other, ShownAs::Words));
                for form in &shown {
                    row.push(difference_cell(group, answers(group, model, *form), base)?);
                }
                rows.push(row);
            }
        }
        let minus = |form: &ShownAs| format!("{} − its words", form.words());
        let table = DECLARED.table("twins-eyes").with_rows(rows);
        Ok(table
            .with_heads("differences", shown.iter().map(minus))
            .if_measured())
    }

    fn decided(&self) -> Result<Table, StatsError> {
        let mut lines = Vec::new();
        for (group, name, model) in self.subjects() {
            for (first, second) in self.pairs() {
                let (a, b) = (answers(group, model, first), answers(group, model, second));
                if let Some((found, _)) = compared(group, a, b)? {
                    let forms = format!("{}, {}", first.words(), second.words());
                    lines.push((model, name, forms, found));
                }
            }
        }
        let p: Vec<Option<f64>> = lines.iter().map(|(.., d)| d.p).collect();
        let figure = |text: Option<String>| text.map_or_else(Cell::none, Cell::figure);
        let lines = lines.into_iter().zip(holm(&p)?);
        let rows = lines.map(|((model, name, forms, d), p_holm)| {
            let counts = d.counts.as_ref();
            vec![
                Cell::from(model.as_str()),
                Cell::from(name.as_str()),
                Cell::from(forms.as_str()),
                Cell::figure(counted_units(d.n, d.units)),
                figure(counts.map(|c| c.only_first.to_string())),
                figure(counts.map(|c| c.only_second.to_string())),
                figure(d.p.map(p_value)),
                figure(p_holm.map(p_value)),
            ]
        });
        Ok(DECLARED.table("twins-decided").with_rows(rows))
    }

    /// Forms of the same items that were asked otherwise than by their form alone.
    fn apart(&self) -> Option<Table> {
        let mut rows = Vec::new();
        for (name, groups) in grouped(self.groups.iter().map(|group| (&group.name, group))) {
            let alone = groups.iter().filter(|group| group.asked.len() == 1);
            for group in alone {
                let Some((form, own)) = group.asked.first_key_value() else {
                    continue;
                };
                let others = groups.iter().flat_map(|g| &g.asked);
                let other = others
                    .filter(|(other, _)| *other != form)
                    .min_by_key(|(_, c)| differing(own, c, &group.apart).len());
                if let Some((other_form, other)) = other {
                    let forms = format!("{}, {}", form.words(), other_form.words());
                    rows.push(
                        [
                            name.to_owned(),
                            forms,
                            differing(own, other, &group.apart).join(", "),
                        ]
                        .to_vec(),
                    );
                }
            }
        }
        let table = DECLARED.table("twins-apart");
        table.with_rows(Cell::figures(rows)).if_measured()
    }

    fn figure(&self) -> Option<Figure> {
        let mut series = Vec::new();
        let several = self.named().count() > 1;
        for form in self.shown() {
            let points = self.subjects().filter_map(|(group, name, model)| {
                let (score, scale) = estimate(group, model, form)?;
                let label = match several {
                    true => format!("{model}, {name}"),
                    false => model.clone(),
                };
                (scale == ScoreScale::Proportion).then(|| Point::percent(label, &score))
            });
            let drawn = Series::measured(form.words(), points);
            series.extend((!drawn.points.is_empty()).then_some(drawn));
        }
        (series.len() > 1).then(|| DECLARED.figure("twins-figure").with_series(series))
    }
}

/// Settings in which two forms differ that both have, those apart that say which form it is.
fn differing(own: &Conditions, other: &Conditions, apart: &[String]) -> Vec<String> {
    let theirs = other.manner();
    let mut out = Vec::new();
    let manner = own.manner().into_iter();
    for (name, value) in manner.filter(|(name, _)| !apart.contains(name)) {
        if let Some(other) = theirs.get(&name).filter(|other| **other != value) {
            out.push(format!("{name} {value} against {other}"));
        }
    }
    if own.question.task == other.question.task && own.question.version != other.question.version {
        out.push("task version".to_owned());
    }
    out
}

fn answers<'a>(group: &'a Group, model: &str, form: ShownAs) -> Option<&'a Answers> {
    group.answers.get(&(model.to_owned(), form))
}

fn estimate(group: &Group, model: &str, form: ShownAs) -> Option<(Estimate, ScoreScale)> {
    let answers = answers(group, model, form)?;
    let repeated = answers.keys().any(|(_, trial)| *trial > 0);
    let scored = answers
        .iter()
        .filter_map(|((item, _), verdict)| Some((verdict.score?, verdict.unit(item, repeated))));
    let (scores, units): (Vec<f64>, Vec<Option<&str>>) = scored.unzip();
    let units: Option<Vec<&str>> = units.into_iter().collect();
    let ids = units.map(intervals::cluster_ids);
    let found = score_interval(&scores, ids.as_deref()).ok()?;
    let scale = scale_of(group.metric, scores.iter().copied());
    let estimate = Estimate {
        value: found.value,
        low: found.low,
        high: found.high,
        n: found.n,
        method: found.method.to_owned(),
    };
    Some((estimate, scale))
}

fn score_cell(group: &Group, model: &str, form: ShownAs) -> Cell {
    estimate(group, model, form).map_or_else(Cell::none, |(score, scale)| scale.cell(&score))
}

fn compared(
    group: &Group,
    first: Option<&Answers>,
    second: Option<&Answers>,
) -> Result<Option<(Difference, ScoreScale)>, StatsError> {
    let (Some(first), Some(second)) = (first, second) else {
        return Ok(None);
    };
    let repeated = first.keys().any(|(_, trial)| *trial > 0);
    let mut pairs = ScorePairs::default();
    for (key, a) in first {
        let scores = second.get(key).and_then(|b| Some((a.score?, b.score?)));
        if let Some((a_score, b_score)) = scores {
            pairs.push(a_score, b_score, a.unit(&key.0, repeated));
        }
    }
    if pairs.len() == 0 {
        return Ok(None);
    }
    let scale = pairs.scale(group.metric);
    Ok(Some((pairs.difference(scale)?, scale)))
}

fn difference_cell(
    group: &Group,
    first: Option<&Answers>,
    second: Option<&Answers>,
) -> Result<Cell, StatsError> {
    let Some((d, scale)) = compared(group, first, second)? else {
        return Ok(Cell::none());
    };
    let Some((low, high)) = d.bounds else {
        let value = format!("{:+.1}", scale.factor() * d.value);
        return Ok(Cell::too_few(value, d.n, ""));
    };
    let estimate = Estimate {
        value: d.value,
        low,
        high,
        n: d.n,
        method: d.method,
    };
    Ok(match scale {
        ScoreScale::Proportion => Cell::points(&estimate, 1),
        ScoreScale::Plain => Cell::number(&estimate, 3),
    })
}
