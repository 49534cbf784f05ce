//! Tables and the figure of twins: scores by form with paired differences, how often one form alone was
//! right, and models without a tower on the same words.

use std::collections::BTreeMap;

use mary_contract::{
    Axis, Cell, Conditions, Estimate, Exhibits, Figure, FigureKind, Metric, NumberColumns, Point,
    Scale, Series, ShownAs, Table,
};
use mary_stats::difference::{self, Difference, ScoreRange};
use mary_stats::{StatsError, intervals, multiple, score_interval};

use super::{Answers, Group};
use crate::number::{ScoreScale, count, p_value};

/// Pairs of forms: the second is taken from the first.
const PAIRS: [(ShownAs, ShownAs); 3] = [
    (ShownAs::Picture, ShownAs::Words),
    (ShownAs::Both, ShownAs::Words),
    (ShownAs::Both, ShownAs::Picture),
];

/// A difference between two sets of answers, where any item has a score in both.
struct Found {
    difference: Difference,
    scale: ScoreScale,
}

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
    /// Groups with more than one form, and what they are called.
    fn named(&self) -> impl Iterator<Item = (&Group, &String)> {
        let all = self.groups.iter().zip(self.names);
        all.filter(|(group, _)| group.asked.len() > 1)
    }

    /// Forms that occur, in their order.
    fn shown(&self) -> Vec<ShownAs> {
        let occurs = |form: &ShownAs| self.named().any(|(g, _)| g.asked.contains_key(form));
        ShownAs::ALL.into_iter().filter(occurs).collect()
    }

    /// Pairs of forms that occur.
    fn pairs(&self) -> Vec<(ShownAs, ShownAs)> {
        let shown = self.shown();
        let both = |(a, b): &(ShownAs, ShownAs)| shown.contains(a) && shown.contains(b);
        PAIRS.into_iter().filter(both).collect()
    }

    /// Every model with more than one form of a group.
    fn subjects(&self) -> impl Iterator<Item = (&Group, &String, &String)> {
        self.models.iter().flat_map(move |(model, _)| {
            let of = self.named().filter(move |(group, _)| {
                let forms = group.answers.keys().filter(|(who, _)| who == model);
                forms.count() > 1
            });
            of.map(move |(group, name)| (group, name, model))
        })
    }

    /// Scores by form, and their differences.
    fn forms(&self) -> Result<Table, StatsError> {
        let (shown, pairs) = (self.shown(), self.pairs());
        let mut rows = Vec::new();
        for (group, name, model) in self.subjects() {
            let mut row = vec![Cell::from(model.as_str()), Cell::from(name.as_str())];
            for form in &shown {
                row.push(match estimate(group, model, *form) {
                    Some((score, scale)) => scale.cell(&score),
                    None => Cell::none(),
                });
            }
            for (first, second) in &pairs {
                let sides = (
                    answers(group, model, *first),
                    answers(group, model, *second),
                );
                row.push(difference_cell(compared(group, sides)?));
            }
            rows.push(row);
        }
        let mut head = vec!["model".to_owned(), "items".to_owned()];
        head.extend(shown.iter().map(|form| form.words().to_owned()));
        let minus = |(a, b): &(ShownAs, ShownAs)| format!("{} − {}", a.words(), b.words());
        head.extend(pairs.iter().map(minus));
        Ok(Table {
            id: "twins-forms".into(),
            title: "The same items in words, as a picture and as both".into(),
            caption: "Shares in %, differences in percentage points, each with its items and 95 % \
                      interval. A difference is taken item by item on the items that have a score in both \
                      forms; items of one block are one unit. `words` is the model without its eyes: the \
                      same weights, no picture."
                .into(),
            head,
            rows,
            published: vec![],
            numbers: NumberColumns::From(2),
        })
    }

    /// Models that see beside models that do not, on the same items.
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
                row.push(match estimate(group, other, ShownAs::Words) {
                    Some((score, scale)) => scale.cell(&score),
                    None => Cell::none(),
                });
                for form in &shown {
                    let sides = (answers(group, model, *form), base);
                    row.push(difference_cell(compared(group, sides)?));
                }
                rows.push(row);
            }
        }
        if rows.is_empty() {
            return Ok(None);
        }
        let mut head: Vec<String> = ["model", "without a tower", "items", "its score in words"]
            .map(String::from)
            .into();
        let minus = |form: &ShownAs| format!("{} − its words", form.words());
        head.extend(shown.iter().map(minus));
        Ok(Some(Table {
            id: "twins-eyes".into(),
            title: "Beside models without a tower".into(),
            caption: "A model that takes pictures less one that does not, item by item, the other asked in \
                      words: what the training with pictures did to the words (words − its words), and \
                      what the picture adds. Where the other is the model that the first was built on, \
                      this is the question whether seeing helped. Percentage points with 95 % interval."
                .into(),
            head,
            rows,
            published: vec![],
            numbers: NumberColumns::From(3),
        }))
    }

    /// How often one form alone was right, and whether that could be chance.
    fn decided(&self) -> Result<Table, StatsError> {
        let mut lines = Vec::new();
        for (group, name, model) in self.subjects() {
            for (first, second) in self.pairs() {
                let sides = (answers(group, model, first), answers(group, model, second));
                if let Some(found) = compared(group, sides)? {
                    let forms = format!("{}, {}", first.words(), second.words());
                    lines.push((model, name, forms, found.difference));
                }
            }
        }
        let known: Vec<f64> = lines.iter().filter_map(|(.., d)| d.p).collect();
        let mut corrected = match known.is_empty() {
            true => vec![],
            false => multiple::holm(&known)?,
        }
        .into_iter();
        let mut rows = Vec::new();
        for (model, name, forms, d) in lines {
            let mut row: Vec<Cell> = [model.as_str(), name.as_str(), forms.as_str()]
                .map(Cell::from)
                .into();
            row.push(Cell::figure(match d.units < d.n {
                true => format!("{} in {}", count(d.n), count(d.units)),
                false => count(d.n),
            }));
            let counts = d.counts.as_ref();
            let number =
                |n: Option<u64>| n.map_or_else(Cell::none, |n| Cell::figure(n.to_string()));
            row.push(number(counts.map(|c| c.only_first)));
            row.push(number(counts.map(|c| c.only_second)));
            let p = |p: Option<f64>| p.map_or_else(Cell::none, |p| Cell::figure(p_value(p)));
            row.push(p(d.p));
            row.push(p(d.p.and_then(|_| corrected.next())));
            rows.push(row);
        }
        Ok(Table {
            id: "twins-decided".into(),
            title: "Where one form alone was right".into(),
            caption: "Items that were right in the first form and wrong in the second, and the other way \
                      round, where every verdict is right or wrong. p is two-sided, over units where items \
                      go together (McNemar's mid-p, or Student's t over the units); Holm corrects over all \
                      lines. Below five units there is none."
                .into(),
            head: [
                "model", "items", "first, second", "n", "only first", "only second", "p", "p (Holm)",
            ]
            .map(String::from)
            .to_vec(),
            rows,
            published: vec![],
            numbers: NumberColumns::From(3),
        })
    }

    /// Forms of the same items that were asked otherwise than by their form alone.
    fn apart(&self) -> Option<Table> {
        let mut by_name: BTreeMap<&str, Vec<&Group>> = BTreeMap::new();
        for group in self.groups {
            by_name.entry(&group.name).or_default().push(group);
        }
        let mut rows = Vec::new();
        for (name, groups) in by_name {
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
        (!rows.is_empty()).then(|| Table {
            id: "twins-apart".into(),
            title: "Not side by side".into(),
            caption: "Forms of the same items that were not asked alike. Run both with the same settings \
                      (`--set mode=score`, say), and they stand above."
                .into(),
            head: ["items", "forms", "differ in"].map(String::from).to_vec(),
            rows: Cell::figures(rows),
            published: vec![],
            numbers: NumberColumns::At(vec![]),
        })
    }

    fn figure(&self) -> Option<Figure> {
        let mut series = Vec::new();
        let several = self.named().count() > 1;
        for form in self.shown() {
            let points = self.subjects().filter_map(|(group, name, model)| {
                let (score, scale) = estimate(group, model, form)?;
                (scale == ScoreScale::Proportion).then(|| Point {
                    label: match several {
                        true => format!("{model}, {name}"),
                        false => model.clone(),
                    },
                    y: 100.0 * score.value,
                    low: Some(100.0 * score.low),
                    high: Some(100.0 * score.high),
                    ..Point::default()
                })
            });
            let points: Vec<Point> = points.collect();
            if !points.is_empty() {
                series.push(Series {
                    name: form.words().to_owned(),
                    published: false,
                    points,
                });
            }
        }
        (series.len() > 1).then(|| Figure {
            id: "twins-figure".into(),
            title: "Words, picture, both".into(),
            caption: "Mean score by form with its 95 % interval. Whether two forms differ is told by the \
                      paired differences of the table, not by whether the intervals overlap."
                .into(),
            kind: FigureKind::Bar,
            x: Axis {
                title: String::new(),
                scale: Scale::Category,
                range: None,
            },
            y: Axis {
                title: "score (%)".into(),
                scale: Scale::Linear,
                range: Some((0.0, 100.0)),
            },
            series,
            references: vec![],
            ranges: vec![],
        })
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

fn scale_of(group: &Group, mut scores: impl Iterator<Item = f64>) -> ScoreScale {
    let inside = scores.all(|s| (0.0..=1.0).contains(&s));
    match group.metric {
        Some(Metric::Share) | None if inside => ScoreScale::Proportion,
        _ => ScoreScale::Plain,
    }
}

/// The mean score of a model in a form, with its interval over units.
fn estimate(group: &Group, model: &str, form: ShownAs) -> Option<(Estimate, ScoreScale)> {
    let answers = answers(group, model, form)?;
    let repeated = answers.keys().any(|(_, trial)| *trial > 0);
    let scored = answers.iter().filter_map(|((item, _), verdict)| {
        let unit = verdict
            .cluster
            .as_deref()
            .or(repeated.then_some(item.as_str()));
        Some((verdict.score?, unit))
    });
    let (scores, units): (Vec<f64>, Vec<Option<&str>>) = scored.unzip();
    let units: Option<Vec<&str>> = units.into_iter().collect();
    let ids = units.map(intervals::cluster_ids);
    let found = score_interval(&scores, ids.as_deref()).ok()?;
    let scale = scale_of(group, scores.iter().copied());
    let estimate = Estimate {
        value: found.value,
        low: found.low,
        high: found.high,
        n: found.n,
        method: found.method.to_owned(),
    };
    Some((estimate, scale))
}

/// The first less the second, item by item.
fn compared(
    group: &Group,
    sides: (Option<&Answers>, Option<&Answers>),
) -> Result<Option<Found>, StatsError> {
    let (Some(first), Some(second)) = sides else {
        return Ok(None);
    };
    let repeated = first.keys().any(|(_, trial)| *trial > 0);
    let (mut x, mut y, mut units) = (vec![], vec![], vec![]);
    for (key, a) in first {
        let scores = second.get(key).and_then(|b| Some((a.score?, b.score?)));
        if let Some((a_score, b_score)) = scores {
            x.push(a_score);
            y.push(b_score);
            units.push(a.cluster.as_deref().or(repeated.then_some(key.0.as_str())));
        }
    }
    if x.is_empty() {
        return Ok(None);
    }
    let units: Option<Vec<&str>> = units.into_iter().collect();
    let ids = units.map(intervals::cluster_ids);
    let scale = scale_of(group, x.iter().chain(&y).copied());
    let range = match scale {
        ScoreScale::Proportion => ScoreRange::Unit,
        ScoreScale::Plain => ScoreRange::Unbounded,
    };
    let difference = difference::compare(&x, &y, ids.as_deref(), range)?;
    Ok(Some(Found { difference, scale }))
}

fn difference_cell(found: Option<Found>) -> Cell {
    let Some(Found {
        difference: d,
        scale,
    }) = found
    else {
        return Cell::none();
    };
    let factor = match scale {
        ScoreScale::Proportion => 100.0,
        ScoreScale::Plain => 1.0,
    };
    match (d.bounds, scale) {
        (Some((low, high)), _) => {
            let estimate = Estimate {
                value: d.value,
                low,
                high,
                n: d.n,
                method: d.method,
            };
            match scale {
                ScoreScale::Proportion => Cell::points(&estimate, 1),
                ScoreScale::Plain => Cell::number(&estimate, 3),
            }
        }
        (None, _) => Cell::too_few(format!("{:+.1}", factor * d.value), d.n, ""),
    }
}
