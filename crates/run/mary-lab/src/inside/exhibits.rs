//! What the instruments show: heat maps, lines over layers with their controls, tables.

use std::collections::HashSet;

use mary_contract::{Cell, Estimate, Exhibits, Figure, NumberColumns, Point, Series, Table};
use mary_stats::Interval;

use super::directions::Effect;
use super::lens::{LensLayer, LensView};
use super::patch::{CONTROLS, PatchCell, PatchSite, Patched};
use super::probe::{Probed, ProbedLayer};
use super::steer::Steered;
use crate::DECLARED;

/// Places drawn with their controls, and heads listed, at most.
const MOST: usize = 8;

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
        low: Some(i.low),
        high: Some(i.high),
        ..Point::new("", i.value).at(x)
    };
    Series::measured(name, points.map(point))
}

/// The figure of this id for the model with this number, with what there is to draw.
fn figure(id: &str, number: usize, model: &str, mut series: Vec<Series>) -> Figure {
    series.retain(|s| !s.points.is_empty());
    let declared = DECLARED.figure(id).saying("number", number);
    declared.saying("model", model).with_series(series)
}

fn table(id: &str, number: usize, model: &str, rows: impl Iterator<Item = Vec<Cell>>) -> Table {
    let declared = DECLARED.table(id).saying("number", number);
    declared.saying("model", model).with_rows(rows)
}

fn p_cell(p: f64) -> Cell {
    Cell::figure(mary_contract::p_value(p))
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
            (false, _) => "change of log p(good) − log p(bad), nats",
            (true, false) => "share of the difference restored",
            (true, true) => "share of the difference destroyed",
        }
    }

    /// The strongest cell of each place, the strongest first.
    fn strongest(&self) -> Vec<&PatchCell> {
        let mut all: Vec<&PatchCell> = self.cells.iter().collect();
        all.sort_by(|a, b| b.effect.value.total_cmp(&a.effect.value));
        if self.site != PatchSite::Heads {
            let mut places = HashSet::new();
            all.retain(|cell| places.insert(&*cell.place));
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
        let effect = match self.shares {
            true => "effect, %",
            false => "effect, nats",
        };
        let d = &self.difference;
        let [value, low, high] = [d.value, d.low, d.high].map(|x| format!("{x:.2}"));
        let strongest = self.strongest().into_iter().take(2 * MOST);
        table("patch-{number}", number, &self.model, strongest.map(row))
            .with_heads("effect", [effect])
            .with_heads("controls", CONTROLS)
            .saying("difference", value)
            .saying("low", low)
            .saying("high", high)
            .saying("pairs", d.n)
            .saying("wrong", self.wrong_sign)
            .saying("unit", self.unit())
            .saying("marked", self.cells.iter().filter(|c| c.marked).count())
            .saying("cells", self.cells.len())
            .saying("notes", self.notes.join(". "))
    }

    fn heat(&self, number: usize, marked: bool) -> Figure {
        let layers = self.cells.iter().map(|c| c.layer).max().unwrap_or(0);
        let values = || self.cells.iter().map(|c| c.effect.value);
        let (least, greatest) = (values().fold(0.0, f64::min), values().fold(0.0, f64::max));
        let point = |c: &PatchCell| {
            let hidden = marked && !c.marked;
            Point::new(&c.place, if hidden { f64::NAN } else { c.effect.value })
        };
        let row = |layer: usize| {
            let here = self.cells.iter().filter(|c| c.layer == layer);
            Series::measured(layer.to_string(), here.map(point))
        };
        let (which, what) = match marked {
            true => ("marked", "marked cells alone"),
            false => ("all", "all cells"),
        };
        let rows = (0..=layers).map(row).collect();
        let mut drawn = figure("patch-{number}-{which}", number, &self.model, rows)
            .saying("which", which)
            .saying("unit", self.unit())
            .saying("what", what);
        // Of the colours, the same with and without what is not marked.
        drawn.y.range = Some((least, greatest));
        drawn
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
        figure("patch-{number}-place-{at}", number, &self.model, all)
            .saying("at", at)
            .saying("place", place)
            .saying("unit", self.unit())
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
            let rank = |l: &LensLayer| Point::new("", f64::from(l.rank)).at(l.layer as f64);
            Series::measured(*w, of(w).into_iter().map(rank))
        });
        let lens = if one.tuned { "tuned" } else { "logit" };
        let drawn = |id: &str, lines| figure(id, number, &one.model, lines).saying("lens", lens);
        all.figures.extend([
            drawn("lens-{number}-logprob", logprobs.collect()),
            drawn("lens-{number}-rank", ranks.collect()),
        ]);
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
        let rows = (0..=last).map(row);
        let mut listed = table("lens-{number}", number, &one.model, rows)
            .with_heads("words", words.iter().copied())
            .saying("notes", one.notes.join(". "));
        listed.numbers = NumberColumns::At((1..=words.len()).collect());
        all.tables.push(listed);
    }
    all
}

/// Effects of directions with the range of random ones.
fn effects(all: &[&Effect], x: &dyn Fn(&Effect) -> f64) -> Vec<Series> {
    let bound = |name: &str, y: &dyn Fn(&Effect) -> f64| {
        Series::measured(name, all.iter().map(|e| Point::new("", y(e)).at(x(e))))
    };
    vec![
        series("direction", all.iter().map(|e| (x(e), e.effect))),
        bound("random directions, least", &|e| e.range().0),
        bound("random directions, greatest", &|e| e.range().1),
    ]
}

fn effect_table(id: &str, number: usize, model: &str, effects: &[Effect]) -> Table {
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
    table(id, number, model, effects.iter().map(row))
}

/// What steering shows of some models.
pub fn of_steering(found: &[Steered]) -> Exhibits {
    let mut all = Exhibits::default();
    for (number, one) in (1..).zip(found) {
        let listed = effect_table("steer-{number}", number, &one.model, &one.effects);
        all.tables.push(listed);
        for here in one.effects.chunk_by(|a, b| a.layer == b.layer) {
            let (layer, here): (usize, Vec<&Effect>) = (here[0].layer, here.iter().collect());
            let lines = effects(&here, &|e| f64::from(e.factor));
            let drawn = figure("steer-{number}-{layer}", number, &one.model, lines);
            all.figures.push(drawn.saying("layer", layer));
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
        let listed = table(
            "probe-{number}",
            number,
            &one.model,
            one.layers.iter().map(row),
        );
        let labels = one.labels.join(" or ");
        let listed = listed.saying("labels", labels);
        all.tables
            .push(listed.saying("notes", one.notes.join(". ")));
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
        let drawn = figure("probe-{number}-accuracy", number, &one.model, lines);
        all.figures.push(drawn);
        if !one.amnesic.is_empty() {
            let (id, model) = ("probe-{number}-amnesic", &one.model);
            all.tables
                .push(effect_table(id, number, model, &one.amnesic));
            let here: Vec<&Effect> = one.amnesic.iter().collect();
            let lines = effects(&here, &|e| e.layer as f64);
            all.figures
                .push(figure("probe-{number}-removed", number, model, lines));
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
