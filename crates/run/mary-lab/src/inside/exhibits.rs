//! What the instruments show: heat maps, lines over layers with their controls, tables.

use mary_contract::{
    Axis, Cell, Estimate, Exhibits, Figure, FigureKind, NumberColumns, Point, Scale, Series, Table,
};
use mary_stats::Interval;
use serde_json::Value;

use super::directions::Effect;
use super::lens::Seen;
use super::patch::{CONTROLS, PatchCell, PatchSite, Patched};
use super::probe::{Probed, ProbedLayer};
use super::steer::Steered;
use crate::texts::table::{Head, Type};

/// Places drawn with their controls, and heads listed, at most.
const MOST: usize = 8;

pub(crate) fn estimate(interval: &Interval) -> Estimate {
    let bounds = (interval.low, interval.high);
    Estimate::new(interval.value, bounds, interval.n, interval.method)
}

pub(crate) fn axis(title: &str, scale: Scale) -> Axis {
    Axis {
        title: title.into(),
        scale,
        range: None,
    }
}

pub(crate) fn point(x: f64, interval: &Interval) -> Point {
    Point {
        x,
        y: interval.value,
        low: Some(interval.low),
        high: Some(interval.high),
        ..Point::default()
    }
}

impl Patched {
    fn unit(&self) -> &'static str {
        match (self.shares, self.into_clean) {
            (false, _) => "change, nats",
            (true, false) => "share of the difference restored",
            (true, true) => "share of the difference destroyed",
        }
    }

    /// In words: what the model does, and what of it is marked.
    pub fn findings(&self) -> Vec<String> {
        let d = &self.difference;
        let mut lines = vec![format!(
            "{}: log p(good) − log p(bad) is {:.2} nats [{:.2}, {:.2}] higher after the clean prefix, {} pairs, {} of them \
             with the wrong sign",
            self.model, d.value, d.low, d.high, d.n, self.wrong_sign
        )];
        let marked = self.cells.iter().filter(|c| c.marked).count();
        lines.push(format!(
            "{}: {marked} of {} cells lie above zero and above every control (p < 0.05, Holm)",
            self.model,
            self.cells.len()
        ));
        let notes = self
            .notes
            .iter()
            .map(|note| format!("{}: {note}", self.model));
        lines.extend(notes);
        lines
    }

    fn places(&self) -> Vec<&str> {
        let mut places: Vec<&str> = Vec::new();
        for cell in &self.cells {
            if !places.contains(&cell.place.as_str()) {
                places.push(&cell.place);
            }
        }
        places
    }

    fn largest(&self, place: &str) -> Option<&PatchCell> {
        let here = self.cells.iter().filter(|c| c.place == place);
        here.max_by(|a, b| a.effect.value.total_cmp(&b.effect.value))
    }

    fn row(&self, cell: &PatchCell, first: Vec<Cell>) -> Vec<Cell> {
        let shown = |found: &Interval| match self.shares {
            true => Cell::percent(&estimate(found), 1),
            false => Cell::number(&estimate(found), 3),
        };
        let mut row = first;
        row.push(shown(&cell.effect));
        let controls = CONTROLS.iter().map(|c| cell.controls.get(*c));
        row.extend(controls.map(|c| c.map_or_else(Cell::none, shown)));
        row.push(Cell::figure(p_text(cell.p_holm)));
        row
    }

    /// For each place its strongest layer, or the strongest heads.
    pub fn table(&self, number: usize) -> Table {
        let heads = self.site == PatchSite::Heads;
        let mut rows = Vec::new();
        if heads {
            let mut cells: Vec<&PatchCell> = self.cells.iter().collect();
            cells.sort_by(|a, b| b.effect.value.total_cmp(&a.effect.value));
            for cell in cells.into_iter().take(MOST) {
                let first = vec![
                    format!("block {}, {}", cell.layer, cell.place)
                        .as_str()
                        .into(),
                ];
                let mut row = self.row(cell, first);
                row.push(if cell.marked { "yes" } else { "" }.into());
                rows.push(row);
            }
        } else {
            for place in self.places() {
                let Some(cell) = self.largest(place) else {
                    continue;
                };
                let mut row = self.row(cell, vec![place.into(), Cell::count(cell.layer)]);
                let here = self.cells.iter().filter(|c| c.place == place && c.marked);
                row.push(ranges(here.map(|c| c.layer)).as_str().into());
                rows.push(row);
            }
        }
        let first: &[&str] = if heads {
            &["head"]
        } else {
            &["place", "strongest layer"]
        };
        let unit = if self.shares {
            "effect, %"
        } else {
            "effect, nats"
        };
        let mut head: Vec<String> = first.iter().map(|h| (*h).to_owned()).collect();
        head.push(unit.into());
        head.extend(CONTROLS.map(str::to_owned));
        head.extend(
            ["p (Holm)", if heads { "marked" } else { "layers marked" }].map(str::to_owned),
        );
        Table {
            id: format!("patch-{number}"),
            title: format!("{}: what carries the difference", self.model),
            caption: format!(
                "{} by values of the {} text, with 95 % intervals over pairs. Controls beside it: another pair's text \
                 in the same place, another place of the same text, a random direction of the same length, an \
                 untrained model. {}",
                capital(self.unit()),
                if self.into_clean {
                    "corrupted"
                } else {
                    "clean"
                },
                self.findings().join(". ")
            ),
            numbers: NumberColumns::At((first.len()..head.len() - 1).collect()),
            head,
            rows,
            ..Table::default()
        }
    }

    fn heat(&self, number: usize, marked: bool) -> Figure {
        let layers = self.cells.iter().map(|c| c.layer).max().unwrap_or(0);
        let row = |layer: usize| Series {
            name: format!("{layer}"),
            published: false,
            points: self
                .cells
                .iter()
                .filter(|c| c.layer == layer)
                .map(|c| Point {
                    label: c.place.clone(),
                    y: if marked && !c.marked {
                        f64::NAN
                    } else {
                        c.effect.value
                    },
                    ..Point::default()
                })
                .collect(),
        };
        let (what, id) = match marked {
            true => ("marked cells alone", "marked"),
            false => ("all cells", "all"),
        };
        Figure {
            id: format!("patch-{number}-{id}"),
            title: format!("{}: {}, {what}", self.model, self.unit()),
            caption: match marked {
                true => "Cells above zero and above every control, corrected by Holm over all cells.".into(),
                false => "Layer by place. A layer of the stream counts blocks done; other values are those of a block.".into(),
            },
            kind: FigureKind::Heatmap,
            x: axis("place", Scale::Category),
            y: axis("layer", Scale::Category),
            series: (0..=layers).map(row).collect(),
            ..Figure::default()
        }
    }

    fn lines(&self, number: usize, at: usize, place: &str) -> Figure {
        let here: Vec<&PatchCell> = self.cells.iter().filter(|c| c.place == place).collect();
        let series = |name: &str, of: &dyn Fn(&PatchCell) -> Option<Interval>| Series {
            name: name.to_owned(),
            published: false,
            points: here
                .iter()
                .filter_map(|c| Some(point(c.layer as f64, &of(c)?)))
                .collect(),
        };
        let mut all = vec![series("patched", &|c| Some(c.effect))];
        for control in CONTROLS {
            let one = series(control, &|c| c.controls.get(control).copied());
            all.extend((!one.points.is_empty()).then_some(one));
        }
        Figure {
            id: format!("patch-{number}-place-{at}"),
            title: format!("{}: “{place}” and its controls", self.model),
            caption: "Bands are 95 % intervals over pairs.".into(),
            x: axis("layer", Scale::Linear),
            y: axis(self.unit(), Scale::Linear),
            series: all,
            ..Figure::default()
        }
    }

    fn exhibits(&self, number: usize, to: &mut Exhibits) {
        to.tables.push(self.table(number));
        to.figures.push(self.heat(number, false));
        if self.cells.iter().any(|c| c.marked) {
            to.figures.push(self.heat(number, true));
        }
        if self.site == PatchSite::Heads {
            return;
        }
        let mut places: Vec<&PatchCell> = self
            .places()
            .iter()
            .filter_map(|p| self.largest(p))
            .collect();
        places.sort_by(|a, b| b.effect.value.total_cmp(&a.effect.value));
        for (at, cell) in places.iter().take(MOST).enumerate() {
            to.figures.push(self.lines(number, at, &cell.place));
        }
    }

    /// Every cell as a row.
    pub fn rows(&self) -> Vec<Vec<Value>> {
        let bounds = |i: &Interval| [i.value.into(), i.low.into(), i.high.into()];
        let row = |cell: &PatchCell| {
            let mut row: Vec<Value> = vec![self.model.clone().into(), self.unit().into()];
            row.extend([
                cell.layer.into(),
                cell.place.clone().into(),
                cell.effect.n.into(),
            ]);
            row.extend(bounds(&cell.effect));
            for control in CONTROLS {
                let found = cell.controls.get(control).map(bounds);
                row.extend(found.unwrap_or_default());
            }
            row.extend([cell.p.into(), cell.p_holm.into(), cell.marked.into()]);
            row
        };
        self.cells.iter().map(row).collect()
    }
}

/// The columns of [`Patched::rows`].
pub fn patch_head() -> Head {
    let text = |name: &str| (name.to_owned(), Type::Text);
    let mut head = vec![text("model"), text("unit")];
    head.push(("layer".into(), Type::Count));
    head.push(text("place"));
    head.push(("pairs".into(), Type::Count));
    for of in std::iter::once("effect").chain(CONTROLS) {
        let of = of.replace(' ', "_");
        let columns = [of.clone(), format!("{of}_low"), format!("{of}_high")];
        head.extend(columns.map(|name| (name, Type::Number)));
    }
    head.extend(["p", "p_holm"].map(|name| (name.to_owned(), Type::Number)));
    head.push(("marked".into(), Type::Flag));
    head
}

/// What patching shows of some models.
pub fn of_patches(found: &[Patched]) -> Exhibits {
    let mut all = Exhibits::default();
    for (number, one) in found.iter().enumerate() {
        one.exhibits(number + 1, &mut all);
    }
    all
}

/// What a lens shows of some models, each beside its untrained twin where there is one.
pub fn of_lenses(found: &[(Seen, Option<Seen>)]) -> Exhibits {
    let mut all = Exhibits::default();
    for (number, (seen, twin)) in found.iter().enumerate() {
        let figure = |id: &str, title: &str, value: &dyn Fn(&super::lens::LensLayer) -> Point| {
            let of = |seen: &Seen, called: &str| -> Vec<Series> {
                let mut words: Vec<&str> = seen.layers.iter().map(|l| l.word.as_str()).collect();
                words.dedup();
                let series = |word: &str| Series {
                    name: format!("{word}{called}"),
                    published: false,
                    points: seen
                        .layers
                        .iter()
                        .filter(|l| l.word == word)
                        .map(value)
                        .collect(),
                };
                words.into_iter().map(series).collect()
            };
            let mut series = of(seen, "");
            series.extend(twin.iter().flat_map(|twin| of(twin, ", untrained model")));
            Figure {
                id: format!("lens-{}-{id}", number + 1),
                title: format!("{}: {title}", seen.model),
                caption: format!(
                    "First token of each word after the last token of the text, {} lens; layer 0 is the embedding, the \
                     last is the model's own prediction. {}",
                    if seen.tuned { "tuned" } else { "logit" },
                    seen.notes.join(". ")
                ),
                x: axis("layer", Scale::Linear),
                y: axis(
                    title,
                    if id == "rank" {
                        Scale::Log
                    } else {
                        Scale::Linear
                    },
                ),
                series,
                ..Figure::default()
            }
        };
        all.figures.push(figure(
            "logprob",
            "mean log-probability, nats",
            &|l| match &l.interval {
                Some(interval) => point(l.layer as f64, interval),
                None => Point {
                    x: l.layer as f64,
                    y: l.logprob,
                    ..Point::default()
                },
            },
        ));
        all.figures.push(figure("rank", "median rank", &|l| Point {
            x: l.layer as f64,
            y: f64::from(l.rank),
            ..Point::default()
        }));
    }
    all
}

fn line(name: &str, points: Vec<Point>) -> Series {
    Series {
        name: name.to_owned(),
        published: false,
        points,
    }
}

/// Effects of directions with the range of random ones, by what `x` tells of each.
fn effect_lines(called: &str, all: &[&Effect], x: &dyn Fn(&Effect) -> f64) -> Vec<Series> {
    let plain = |x: f64, y: f64| Point {
        x,
        y,
        ..Point::default()
    };
    let own = all.iter().map(|e| point(x(e), &e.effect)).collect();
    let least = all.iter().map(|e| plain(x(e), e.range().0)).collect();
    let greatest = all.iter().map(|e| plain(x(e), e.range().1)).collect();
    vec![
        line(called, own),
        line("random directions, least", least),
        line("random directions, greatest", greatest),
    ]
}

fn effect_table(id: String, title: String, caption: &str, effects: &[Effect]) -> Table {
    let row = |e: &Effect| {
        let (low, high) = e.range();
        let first = [e.layer.to_string(), e.factor.to_string()].map(Cell::figure);
        let mut row: Vec<Cell> = first.into();
        row.push(Cell::number(&estimate(&e.effect), 3));
        let range = format!("{low:.3} to {high:.3}");
        row.extend([range, p_text(e.p_holm)].map(Cell::figure));
        row.push(if e.marked { "yes" } else { "" }.into());
        row
    };
    let head = [
        "layer",
        "factor",
        "effect, nats",
        "random directions",
        "p (Holm)",
        "marked",
    ];
    Table {
        id,
        title,
        caption: caption.into(),
        head: head.map(str::to_owned).into(),
        rows: effects.iter().map(row).collect(),
        numbers: NumberColumns::At((0..5).collect()),
        ..Table::default()
    }
}

impl Steered {
    /// Effects by layer and factor.
    pub fn table(&self, number: usize) -> Table {
        effect_table(
            format!("steer-{number}"),
            format!("{}: what the direction does", self.model),
            "Mean change of log p(good) − log p(bad) when the direction is added to every token, with 95 % intervals over \
             texts, beside the range of random directions of the same length. Marked: changed (Holm over rows), and \
             further from zero than every random direction.",
            &self.effects,
        )
    }
}

/// What steering shows of some models.
pub fn of_steering(found: &[Steered]) -> Exhibits {
    let mut all = Exhibits::default();
    for (number, one) in (1..).zip(found) {
        all.tables.push(one.table(number));
        let mut layers: Vec<usize> = one.effects.iter().map(|e| e.layer).collect();
        layers.dedup();
        for layer in layers {
            let here: Vec<&Effect> = one.effects.iter().filter(|e| e.layer == layer).collect();
            all.figures.push(Figure {
                id: format!("steer-{number}-layer-{layer}"),
                title: format!("{}: direction of layer {layer}", one.model),
                caption: "Bands are 95 % intervals over texts.".into(),
                x: axis("factor", Scale::Linear),
                y: axis("change of log p(good) − log p(bad), nats", Scale::Linear),
                series: effect_lines("direction", &here, &|e| f64::from(e.factor)),
                ..Figure::default()
            });
        }
    }
    all
}

impl Probed {
    /// Probes by layer.
    pub fn table(&self, number: usize) -> Table {
        let share = |i: &Interval| Cell::percent(&estimate(i), 1);
        let row = |l: &ProbedLayer| {
            vec![
                Cell::count(l.layer),
                share(&l.accuracy),
                share(&l.control),
                Cell::points(&estimate(&l.selectivity), 1),
                l.untrained.as_ref().map_or_else(Cell::none, share),
                Cell::figure(p_text(l.p_holm)),
                if l.marked { "yes" } else { "" }.into(),
            ]
        };
        let head = [
            "layer",
            "accuracy, %",
            "control task, %",
            "selectivity",
            "untrained model, %",
            "p (Holm)",
            "marked",
        ];
        Table {
            id: format!("probe-{number}"),
            title: format!("{}: {}", self.model, self.labels.join(" or ")),
            caption: format!(
                "Ridge probes on the stream; texts of a group are held out together, intervals are over groups. Marked: \
                 better than control tasks and than on an untrained model (Holm over layers). {}",
                self.notes.join(". ")
            ),
            head: head.map(str::to_owned).into(),
            rows: self.layers.iter().map(row).collect(),
            numbers: NumberColumns::At((0..6).collect()),
            ..Table::default()
        }
    }
}

/// What probes show of some models.
pub fn of_probes(found: &[Probed]) -> Exhibits {
    let mut all = Exhibits::default();
    for (number, one) in (1..).zip(found) {
        all.tables.push(one.table(number));
        let series = |name: &str, of: &dyn Fn(&ProbedLayer) -> Option<Interval>| {
            let points = one
                .layers
                .iter()
                .filter_map(|l| Some(point(l.layer as f64, &of(l)?)));
            line(name, points.collect())
        };
        let mut lines = vec![
            series("accuracy", &|l| Some(l.accuracy)),
            series("control task", &|l| Some(l.control)),
            series("untrained model", &|l| l.untrained),
        ];
        lines.retain(|line| !line.points.is_empty());
        let figure = |id: &str, title: &str, series| Figure {
            id: format!("probe-{number}-{id}"),
            title: format!("{}: {title}", one.model),
            caption: "Bands are 95 % intervals.".into(),
            x: axis("layer", Scale::Linear),
            y: axis(title, Scale::Linear),
            series,
            ..Figure::default()
        };
        all.figures
            .push(figure("accuracy", "share of held-out texts right", lines));
        if !one.amnesic.is_empty() {
            let title = "change of log p(good) − log p(bad), nats";
            let effects: Vec<&Effect> = one.amnesic.iter().collect();
            let lines = effect_lines("probe’s direction removed", &effects, &|e| e.layer as f64);
            all.figures.push(figure("amnesic", title, lines));
            all.tables.push(effect_table(
                format!("probe-{number}-amnesic"),
                format!("{}: without what the probe reads", one.model),
                "Mean change of log p(good) − log p(bad) when the probe's direction is removed from a layer, beside random \
                 directions. Marked: changed (Holm over layers), and further from zero than every random one.",
                &one.amnesic,
            ));
        }
    }
    all
}

/// Whole numbers that follow each other, as ranges: `0–3, 7`.
fn ranges(numbers: impl Iterator<Item = usize>) -> String {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for number in numbers {
        match found.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => found.push((number, number)),
        }
    }
    let range = |&(from, to): &(usize, usize)| match from == to {
        true => from.to_string(),
        false => format!("{from}–{to}"),
    };
    found.iter().map(range).collect::<Vec<_>>().join(", ")
}

pub(crate) fn p_text(p: f64) -> String {
    match p < 0.001 {
        true => "< .001".into(),
        false => format!("{p:.3}").replacen("0.", ".", 1),
    }
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|c| c.to_uppercase().to_string());
    first.unwrap_or_default() + characters.as_str()
}
