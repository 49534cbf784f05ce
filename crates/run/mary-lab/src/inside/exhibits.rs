//! What the instruments show: heat maps, lines over layers with their controls, tables.

use mary_contract::{
    Axis, Cell, Estimate, Exhibits, Figure, FigureKind, NumberColumns, Point, Scale, Series, Table,
};
use mary_stats::Interval;

use super::directions::Effect;
use super::lens::{LensLayer, LensView};
use super::patch::{CONTROLS, PatchCell, PatchSite, Patched};
use super::probe::{Probed, ProbedLayer};
use super::steer::Steered;

/// Places drawn with their controls, and heads listed, at most.
const MOST: usize = 8;
const CHANGE: &str = "change of log p(good) − log p(bad), nats";

/// A value with its interval. Texts that all give the same value leave no doubt, which is something else than
/// too few of them: the interval then is as good as the value.
fn estimate(i: &Interval) -> Estimate {
    let hair = match i.low == i.high && i.n > 1 {
        true => i.value.abs().max(1.0) * f64::EPSILON,
        false => 0.0,
    };
    Estimate::new(i.value, (i.low, i.high + hair), i.n, i.method)
}

fn series(name: &str, points: impl Iterator<Item = (f64, Interval)>) -> Series {
    let point = |(x, i): (f64, Interval)| Point {
        x,
        y: i.value,
        low: Some(i.low),
        high: Some(i.high),
        ..Point::default()
    };
    plain(name, points.map(point).collect())
}

fn plain(name: &str, points: Vec<Point>) -> Series {
    Series {
        name: name.to_owned(),
        published: false,
        points,
    }
}

fn axis(title: &str, scale: Scale) -> Axis {
    Axis {
        title: title.into(),
        scale,
        range: None,
    }
}

fn figure(id: String, title: String, [x, y]: [&str; 2], mut series: Vec<Series>) -> Figure {
    series.retain(|s| !s.points.is_empty());
    Figure {
        id,
        title,
        caption: "Bands are 95 % intervals.".into(),
        x: axis(x, Scale::Linear),
        y: axis(y, Scale::Linear),
        series,
        ..Figure::default()
    }
}

fn table(id: String, title: String, caption: String, head: &[&str], rows: Vec<Vec<Cell>>) -> Table {
    Table {
        id,
        title,
        caption,
        // The last column says what is marked, in words.
        numbers: NumberColumns::At((1..head.len().max(2) - 1).collect()),
        head: head.iter().map(|h| (*h).to_owned()).collect(),
        rows,
        ..Table::default()
    }
}

fn p_cell(p: f64) -> Cell {
    Cell::figure(match p < 0.001 {
        true => "< .001".into(),
        false => format!("{p:.3}").replacen("0.", ".", 1),
    })
}

fn yes(marked: bool) -> Cell {
    if marked { "yes" } else { "" }.into()
}

/// What patching shows of some models.
pub fn of_patches(found: &[Patched]) -> Exhibits {
    let mut all = Exhibits::default();
    for (number, one) in (1..).zip(found) {
        all.tables.push(one.table(number));
        all.figures.push(one.heat(number, false));
        all.figures.extend(
            one.cells
                .iter()
                .any(|c| c.marked)
                .then(|| one.heat(number, true)),
        );
        if one.site != PatchSite::Heads {
            let strongest = one.strongest().into_iter().take(MOST).enumerate();
            all.figures
                .extend(strongest.map(|(at, cell)| one.lines(number, at, &cell.place)));
        }
    }
    all
}

impl Patched {
    fn unit(&self) -> &'static str {
        match (self.shares, self.into_clean) {
            (false, _) => CHANGE,
            (true, false) => "share of the difference restored",
            (true, true) => "share of the difference destroyed",
        }
    }

    /// The strongest cell of each place, the strongest first.
    fn strongest(&self) -> Vec<&PatchCell> {
        let mut all: Vec<&PatchCell> = self.cells.iter().collect();
        all.sort_by(|a, b| b.effect.value.total_cmp(&a.effect.value));
        if self.site != PatchSite::Heads {
            let mut places: Vec<&str> = Vec::new();
            all.retain(|c| {
                !places.contains(&c.place.as_str()) && {
                    places.push(&c.place);
                    true
                }
            });
        }
        all
    }

    fn table(&self, number: usize) -> Table {
        let shown = |i: &Interval| match self.shares {
            true => Cell::percent(&estimate(i), 1),
            false => Cell::number(&estimate(i), 3),
        };
        let row = |cell: &PatchCell| {
            let layers = self
                .cells
                .iter()
                .filter(|c| c.place == cell.place && c.marked);
            let mut row = vec![
                cell.place.as_str().into(),
                Cell::count(cell.layer),
                shown(&cell.effect),
            ];
            let controls = CONTROLS.iter().map(|c| cell.controls.get(*c));
            row.extend(controls.map(|c| c.map_or_else(Cell::none, shown)));
            row.push(p_cell(cell.p_holm));
            row.push(match self.site {
                PatchSite::Heads => yes(cell.marked),
                _ => ranges(layers.map(|c| c.layer)).as_str().into(),
            });
            row
        };
        let effect = if self.shares {
            "effect, %"
        } else {
            "effect, nats"
        };
        let mut head = vec!["place", "layer", effect];
        head.extend(CONTROLS);
        head.extend(["p (Holm)", "layers marked"]);
        let d = &self.difference;
        let marked = self.cells.iter().filter(|c| c.marked).count();
        let caption = format!(
            "log p(good) − log p(bad) is {:.2} nats [{:.2}, {:.2}] higher after the clean prefix; {} pairs, {} with the \
             wrong sign. Shown: {}, of each place the strongest layer (of heads the strongest). {marked} of {} cells are marked: above zero and \
             above every control (another pair's text in the same place, another place of the same text, a random \
             direction of the same length, an untrained model), corrected by Holm. {}",
            d.value,
            d.low,
            d.high,
            d.n,
            self.wrong_sign,
            self.unit(),
            self.cells.len(),
            self.notes.join(". ")
        );
        let rows = self.strongest().into_iter().take(2 * MOST).map(row);
        table(
            format!("patch-{number}"),
            self.model.clone(),
            caption,
            &head,
            rows.collect(),
        )
    }

    fn heat(&self, number: usize, marked: bool) -> Figure {
        let layers = self.cells.iter().map(|c| c.layer).max().unwrap_or(0);
        let values = || self.cells.iter().map(|c| c.effect.value);
        let (least, greatest) = (values().fold(0.0, f64::min), values().fold(0.0, f64::max));
        let point = |c: &PatchCell| Point {
            label: c.place.clone(),
            y: if marked && !c.marked {
                f64::NAN
            } else {
                c.effect.value
            },
            ..Point::default()
        };
        let row = |layer: usize| {
            let here = self.cells.iter().filter(|c| c.layer == layer);
            plain(&layer.to_string(), here.map(point).collect())
        };
        let (id, what) = if marked {
            ("marked", "marked cells alone")
        } else {
            ("all", "all cells")
        };
        Figure {
            kind: FigureKind::Heatmap,
            caption: "A layer of the stream counts blocks done; other values are those of a block."
                .into(),
            x: axis("place", Scale::Category),
            y: Axis {
                // Of the colours, the same with and without what is not marked.
                range: Some((least, greatest)),
                ..axis("layer", Scale::Category)
            },
            ..figure(
                format!("patch-{number}-{id}"),
                format!("{}: {}, {what}", self.model, self.unit()),
                ["", ""],
                (0..=layers).map(row).collect(),
            )
        }
    }

    fn lines(&self, number: usize, at: usize, place: &str) -> Figure {
        let here = || self.cells.iter().filter(|c| c.place == place);
        let mut all = vec![series(
            "patched",
            here().map(|c| (c.layer as f64, c.effect)),
        )];
        all.extend(CONTROLS.map(|control| {
            let found = here().filter_map(|c| Some((c.layer as f64, *c.controls.get(control)?)));
            series(control, found)
        }));
        let title = format!("{}: “{place}” and its controls", self.model);
        figure(
            format!("patch-{number}-place-{at}"),
            title,
            ["layer", self.unit()],
            all,
        )
    }
}

/// What a lens shows of some models; an untrained twin follows its model.
pub fn of_lenses(found: &[LensView]) -> Exhibits {
    let mut all = Exhibits::default();
    for (number, one) in (1..).zip(found) {
        let mut words: Vec<&str> = one.layers.iter().map(|l| l.word.as_str()).collect();
        words.dedup();
        let of = |word: &&str| -> Vec<&LensLayer> {
            one.layers.iter().filter(|l| l.word == *word).collect()
        };
        let logprobs = words
            .iter()
            .map(|w| series(w, of(w).into_iter().map(|l| (l.layer as f64, l.logprob))));
        let ranks = words.iter().map(|w| {
            let rank = of(w).into_iter().map(|l| Point {
                x: l.layer as f64,
                y: f64::from(l.rank),
                ..Point::default()
            });
            plain(w, rank.collect())
        });
        let title = |what: &str| format!("{}: {what}", one.model);
        let lens = format!(
            "mean log-probability, {} lens, nats",
            if one.tuned { "tuned" } else { "logit" }
        );
        let (id, axes) = (format!("lens-{number}"), ["layer", lens.as_str()]);
        all.figures.push(figure(
            format!("{id}-logprob"),
            title(&lens),
            axes,
            logprobs.collect(),
        ));
        let mut rank = figure(
            format!("{id}-rank"),
            title("median rank"),
            ["layer", "median rank"],
            ranks.collect(),
        );
        rank.y.scale = Scale::Log;
        all.figures.push(rank);
        let last = one.layers.iter().map(|l| l.layer).max().unwrap_or(0);
        let row = |layer: usize| {
            let here = one.layers.iter().filter(|l| l.layer == layer);
            let cells = here.map(|l| {
                let cell = Cell::number(&estimate(&l.logprob), 2);
                cell.worded(format!("{:.2}, rank {}", l.logprob.value, l.rank))
            });
            let mut row = vec![Cell::count(layer)];
            row.extend(cells);
            row.push("".into());
            row
        };
        let head: Vec<&str> = ["layer"]
            .into_iter()
            .chain(words.iter().copied())
            .chain([""])
            .collect();
        let caption = format!(
            "Mean log-probability in nats and median rank of each word's first token after every layer; the last layer is the \
             model's own prediction. {}",
            one.notes.join(". ")
        );
        all.tables.push(table(
            id,
            one.model.clone(),
            caption,
            &head,
            (0..=last).map(row).collect(),
        ));
    }
    all
}

/// Effects of directions with the range of random ones.
fn effects(all: &[&Effect], x: &dyn Fn(&Effect) -> f64) -> Vec<Series> {
    let bound = |y: &dyn Fn(&Effect) -> f64| {
        let point = |e: &&Effect| Point {
            x: x(e),
            y: y(e),
            ..Point::default()
        };
        all.iter().map(point).collect()
    };
    vec![
        series("direction", all.iter().map(|e| (x(e), e.effect))),
        plain("random directions, least", bound(&|e| e.range().0)),
        plain("random directions, greatest", bound(&|e| e.range().1)),
    ]
}

fn effect_table(id: String, model: &str, what: &str, effects: &[Effect]) -> Table {
    let row = |e: &Effect| {
        let (low, high) = e.range();
        let random = Cell::figure(format!("{low:.3} to {high:.3}"));
        let [layer, factor] = [e.layer.to_string(), e.factor.to_string()].map(Cell::figure);
        vec![
            layer,
            factor,
            Cell::number(&estimate(&e.effect), 3),
            random,
            p_cell(e.p_holm),
            yes(e.marked),
        ]
    };
    let caption = format!(
        "Mean change of log p(good) − log p(bad) when {what}, with 95 % intervals over texts, beside the range of random \
         directions of the same length. Marked: changed, further from zero than every random direction, and further than \
         one more of them would lie (the larger p-value, Holm over rows)."
    );
    let head = [
        "layer",
        "factor",
        "effect, nats",
        "random directions",
        "p (Holm)",
        "marked",
    ];
    table(
        id,
        model.to_owned(),
        caption,
        &head,
        effects.iter().map(row).collect(),
    )
}

/// What steering shows of some models.
pub fn of_steering(found: &[Steered]) -> Exhibits {
    let mut all = Exhibits::default();
    for (number, one) in (1..).zip(found) {
        let what = "the direction is added";
        all.tables.push(effect_table(
            format!("steer-{number}"),
            &one.model,
            what,
            &one.effects,
        ));
        for here in one.effects.chunk_by(|a, b| a.layer == b.layer) {
            let (layer, here): (usize, Vec<&Effect>) = (here[0].layer, here.iter().collect());
            let lines = effects(&here, &|e| f64::from(e.factor));
            let title = format!("{}: direction of layer {layer}", one.model);
            all.figures.push(figure(
                format!("steer-{number}-{layer}"),
                title,
                ["factor", CHANGE],
                lines,
            ));
        }
    }
    all
}

/// What probes show of some models.
pub fn of_probes(found: &[Probed]) -> Exhibits {
    let mut all = Exhibits::default();
    for (number, one) in (1..).zip(found) {
        let share = |i: &Interval| Cell::percent(&estimate(i), 1);
        let row = |l: &ProbedLayer| {
            let untrained = l.untrained.as_ref().map_or_else(Cell::none, share);
            let selectivity = Cell::points(&estimate(&l.selectivity), 1);
            let first = [
                Cell::count(l.layer),
                share(&l.accuracy),
                share(&l.control),
                selectivity,
            ];
            first
                .into_iter()
                .chain([untrained, p_cell(l.p_holm), yes(l.marked)])
                .collect()
        };
        let head = [
            "layer",
            "accuracy, %",
            "control task, %",
            "selectivity",
            "untrained, %",
            "p (Holm)",
            "marked",
        ];
        let caption = format!(
            "Ridge probes on the stream, {}; texts of a group are held out together, intervals are over groups. Marked: \
             better than control tasks and than on an untrained model (Holm over layers). {}",
            one.labels.join(" or "),
            one.notes.join(". ")
        );
        let rows = one.layers.iter().map(row).collect();
        all.tables.push(table(
            format!("probe-{number}"),
            one.model.clone(),
            caption,
            &head,
            rows,
        ));
        let of = |name: &str, value: &dyn Fn(&ProbedLayer) -> Option<Interval>| {
            series(
                name,
                one.layers
                    .iter()
                    .filter_map(|l| Some((l.layer as f64, value(l)?))),
            )
        };
        let lines = vec![
            of("accuracy", &|l| Some(l.accuracy)),
            of("control task", &|l| Some(l.control)),
            of("untrained model", &|l| l.untrained),
        ];
        let axes = ["layer", "share of held-out texts right"];
        all.figures.push(figure(
            format!("probe-{number}-accuracy"),
            one.model.clone(),
            axes,
            lines,
        ));
        if !one.amnesic.is_empty() {
            let what = "the probe's direction is removed from a layer";
            all.tables.push(effect_table(
                format!("probe-{number}-amnesic"),
                &one.model,
                what,
                &one.amnesic,
            ));
            let here: Vec<&Effect> = one.amnesic.iter().collect();
            let title = format!("{}: without what the probe reads", one.model);
            let lines = effects(&here, &|e| e.layer as f64);
            all.figures.push(figure(
                format!("probe-{number}-removed"),
                title,
                ["layer", CHANGE],
                lines,
            ));
        }
    }
    all
}

/// Whole numbers that follow each other, as ranges: `0–3, 7`.
fn ranges(numbers: impl Iterator<Item = usize>) -> String {
    let numbers: Vec<usize> = numbers.collect();
    let range = |of: &[usize]| match of {
        [only] => only.to_string(),
        [from, .., to] => format!("{from}–{to}"),
        [] => String::new(),
    };
    let each = numbers.chunk_by(|a, b| a + 1 == *b).map(range);
    each.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_the_same_in_all_pairs_has_an_interval_and_both_maps_have_one_scale() {
        let exactly = |value: f64| mary_stats::intervals::mean_t(&[value; 12], 0.95).unwrap();
        let cell = |layer: usize, value: f64| PatchCell {
            layer,
            place: "subject".into(),
            effect: exactly(value),
            controls: Default::default(),
            p: 0.0,
            p_holm: 0.0,
            marked: layer == 1,
        };
        let found = Patched {
            model: "m".into(),
            site: PatchSite::Stream,
            into_clean: false,
            difference: exactly(2.0),
            wrong_sign: 0,
            shares: true,
            cells: vec![cell(0, -0.25), cell(1, 1.0)],
            notes: vec![],
        };
        let shown = of_patches(&[found]);
        let effect = &shown.tables[0].rows[0][2];
        assert_eq!(effect.full(), "100.0 (n 12 · 100.0–100.0)");
        let [all, marked] = [&shown.figures[0], &shown.figures[1]];
        assert!(marked.title.ends_with("marked cells alone"));
        assert_eq!(all.y.range, Some((-0.25, 1.0)));
        assert_eq!(all.y.range, marked.y.range);
    }
}
