//! The Wright map and the curves of items, as SVG.

use super::answers::PEOPLE;
use super::build::Built;
use super::kept::{Scale, ScaleSubject};
use mary_platform::{counts, given};

/// Colours of the reference and of the focal group, told apart by the colour-blind too.
const COLOURS: [&str; 2] = ["#0b6fa4", "#c2571a"];
const GREY: &str = "#6b6b6b";
const PALE: &str = "#d8d8d8";
const INK: &str = "#222";
const TOP: f64 = 46.0;
const HEIGHT: f64 = 560.0;
const MIDDLE: f64 = 420.0;
/// Height of a line of names.
const LINE: f64 = 11.5;
const BIN: f64 = 0.2;
/// A group with more members is drawn as bars.
const CROWD: usize = 45;

/// A drawing that grows; what it says is escaped.
struct Svg(String);

impl Svg {
    fn new(width: f64, height: f64) -> Self {
        let mut svg = Self(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" font-family=\"sans-serif\" font-size=\"11\">"
        ));
        svg.rect((0.0, 0.0), (width, height), "#fff");
        svg
    }

    fn rect(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), fill: &str) {
        self.0 += &format!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{fill}\"/>"
        );
    }

    fn line(&mut self, points: &[(f64, f64)], stroke: &str) {
        let points: Vec<String> = points
            .iter()
            .map(|(x, y)| format!("{x:.1},{y:.1}"))
            .collect();
        let points = points.join(" ");
        self.0 += &format!("<polyline points=\"{points}\" fill=\"none\" stroke=\"{stroke}\"/>");
    }

    fn dot(&mut self, (x, y): (f64, f64), fill: &str) {
        self.0 += &format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.2\" fill=\"{fill}\"/>");
    }

    fn text(&mut self, (x, y): (f64, f64), anchor: &str, fill: &str, words: &str) {
        let words = words
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;");
        self.0 += &format!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"{fill}\">{words}</text>"
        );
    }

    fn end(self) -> String {
        self.0 + "</svg>"
    }
}

/// The end of a long name tells most.
fn short(name: &str) -> String {
    let count = name.chars().count();
    let tail: String = name.chars().skip(count.saturating_sub(34)).collect();
    if count > 34 {
        format!("…{tail}")
    } else {
        tail
    }
}

/// A map while it is drawn.
struct Map<'a> {
    svg: Svg,
    scale: &'a Scale,
    groups: Vec<&'a str>,
    low: f64,
    high: f64,
}

/// Draws subjects and items on one axis.
pub fn wright_map(scale: &Scale) -> String {
    let abilities = scale
        .subjects
        .iter()
        .filter_map(|s| Some(s.ability.as_ref()?.value));
    let values = abilities.chain(scale.items.iter().map(|item| item.difficulty));
    let (low, high) = values.fold((-1.0f64, 1.0f64), |(low, high), v| {
        (low.min(v), high.max(v))
    });
    let mut groups: Vec<&str> = scale.subjects.iter().map(|s| s.group.as_str()).collect();
    groups.sort_by_key(|group| (scale.focal.as_deref() == Some(*group), *group));
    groups.dedup();
    let mut map = Map {
        svg: Svg::new(860.0, HEIGHT),
        scale,
        groups,
        low: low.max(-5.0) - 0.2,
        high: high.min(5.0) + 0.2,
    };
    map.axis();
    map.subjects();
    map.items();
    map.svg.end()
}

impl Map<'_> {
    fn y(&self, value: f64) -> f64 {
        let within = value.clamp(self.low, self.high);
        TOP + (HEIGHT - TOP - 20.0) * (self.high - within) / (self.high - self.low)
    }

    fn colour(&self, group: &str) -> &'static str {
        match self.scale.focal.as_deref() {
            Some(focal) => COLOURS[usize::from(focal == group)],
            None => COLOURS[usize::from(group != PEOPLE)],
        }
    }

    fn axis(&mut self) {
        self.svg
            .text((MIDDLE - 30.0, 18.0), "end", INK, "subjects (able above)");
        self.svg
            .text((MIDDLE + 30.0, 18.0), "start", INK, "items (hard above)");
        for tick in self.low.ceil() as i32..=self.high.floor() as i32 {
            let at = self.y(f64::from(tick));
            self.svg.line(&[(40.0, at), (840.0, at)], PALE);
            self.svg
                .text((MIDDLE, at + 4.0), "middle", INK, &tick.to_string());
        }
        for (at, group) in self.groups.clone().into_iter().enumerate() {
            let (x, hue) = (40.0 + 130.0 * at as f64, self.colour(group));
            self.svg.rect((x, 26.0), (10.0, 10.0), hue);
            self.svg.text((x + 15.0, 35.0), "start", INK, group);
        }
    }

    /// Bars of a histogram that go from `x` to the right, or to the left where `room` is below 0.
    fn bars(&mut self, x: f64, room: f64, values: &[f64], hue: &str) {
        let bin = |value: &f64| (value.clamp(-5.0, 5.0) / BIN).round() as i64;
        let bins = counts(values.iter().map(bin));
        let most = bins.values().max().copied().unwrap_or(1);
        for (bin, count) in bins {
            let (width, middle) = (room * count as f64 / most as f64, bin as f64 * BIN);
            let (top, end) = (self.y(middle + BIN / 2.0), self.y(middle - BIN / 2.0) - 1.0);
            self.svg.rect(
                (x + width.min(0.0), top),
                (width.abs(), (end - top).max(1.0)),
                hue,
            );
        }
    }

    /// A crowd is a histogram beside the axis; others stand by name further out.
    fn subjects(&mut self) {
        let mut labelled: Vec<(f64, &ScaleSubject)> = Vec::new();
        for group in self.groups.clone() {
            let own = self.scale.subjects.iter().filter(|s| s.group == group);
            let own: Vec<(f64, &ScaleSubject)> = own
                .filter_map(|s| Some((s.ability.as_ref()?.value, s)))
                .collect();
            if own.len() <= CROWD {
                labelled.extend(own);
                continue;
            }
            let values: Vec<f64> = own.iter().map(|a| a.0).collect();
            self.bars(MIDDLE - 24.0, -120.0, &values, self.colour(group));
        }
        labelled.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.name.cmp(&b.1.name)));
        let mut places: Vec<f64> = Vec::new();
        for (value, _) in &labelled {
            let free = places.last().map_or(0.0, |last| last + LINE);
            places.push(self.y(*value).max(free));
        }
        // Names pushed below the edge move up again.
        let mut room = HEIGHT - 6.0;
        for place in places.iter_mut().rev() {
            *place = place.min(room);
            room = *place - LINE;
        }
        for ((value, subject), at) in labelled.iter().zip(places) {
            let (own, hue) = (self.y(*value), self.colour(&subject.group));
            self.svg.dot((MIDDLE - 160.0, own), hue);
            self.svg
                .line(&[(MIDDLE - 164.0, own), (MIDDLE - 186.0, at)], PALE);
            self.svg.text(
                (MIDDLE - 190.0, at + 3.5),
                "end",
                hue,
                &short(&subject.name),
            );
        }
    }

    /// Items that are alike for all, then those of each group alone.
    fn items(&mut self) {
        let of = |only: Option<&str>| -> Vec<f64> {
            let own = self
                .scale
                .items
                .iter()
                .filter(|item| item.only.as_deref() == only);
            own.map(|item| item.difficulty).collect()
        };
        let mut sides = vec![(GREY, of(None), "items".to_owned())];
        for group in &self.groups {
            sides.push((
                self.colour(group),
                of(Some(*group)),
                format!("as {group} find them"),
            ));
        }
        sides.retain(|side| !side.1.is_empty());
        let room = (400.0 / sides.len().max(1) as f64).min(240.0);
        for (at, (hue, values, name)) in sides.iter().enumerate() {
            let x = MIDDLE + 24.0 + room * at as f64;
            self.svg.text(
                (x, 35.0),
                "start",
                hue,
                &format!("{name} ({})", values.len()),
            );
            self.bars(x, room - 20.0, values, hue);
        }
    }
}

/// Nine panels; nothing with too few subjects to show shares of.
pub(super) fn curves(built: &Built) -> Option<String> {
    let found = &built.calibration;
    let binary = |at: &usize| found.items[*at].curve.top() == 1;
    let mut places: Vec<usize> = (0..found.items.len()).filter(binary).collect();
    given(places.len() >= 12 && found.subjects.iter().flatten().count() >= 20)?;
    let outfit = |at: usize| found.items[at].fit.as_ref().map_or(0.0, |fit| fit.outfit_z);
    let hard = |at: usize| found.items[at].curve.difficulty();
    places.sort_by(|a, b| outfit(*b).total_cmp(&outfit(*a)));
    let worst: Vec<usize> = places
        .iter()
        .copied()
        .take(3)
        .filter(|&at| outfit(at) > 2.0)
        .collect();
    places.retain(|at| !worst.contains(at));
    places.sort_by(|a, b| hard(*a).total_cmp(&hard(*b)));
    let others = 9 - worst.len();
    let mut chosen = worst.clone();
    chosen.extend((0..others).map(|n| places[n * (places.len() - 1) / (others - 1)]));
    chosen.sort_by(|a, b| hard(*a).total_cmp(&hard(*b)));
    let mut svg = Svg::new(780.0, 630.0);
    for (panel, &at) in chosen.iter().enumerate() {
        let corner = (
            10.0 + 257.0 * (panel % 3) as f64,
            10.0 + 205.0 * (panel / 3) as f64,
        );
        one_curve(&mut svg, built, at, corner, worst.contains(&at));
    }
    Some(svg.end())
}

fn one_curve(svg: &mut Svg, built: &Built, at: usize, (left, top): (f64, f64), worst: bool) {
    let item = &built.calibration.items[at];
    let point = |theta: f64, share: f64| {
        let x = left + 24.0 + 216.0 * (theta.clamp(-3.5, 3.5) + 3.5) / 7.0;
        (x, top + 20.0 + 150.0 * (1.0 - share))
    };
    for (mark, share) in [("0", 0.0), ("½", 0.5), ("1", 1.0)] {
        let (x, y) = point(-3.5, share);
        svg.line(&[(x, y), point(3.5, share)], PALE);
        svg.text((x - 3.0, y + 3.0), "end", GREY, mark);
    }
    for mark in [-3, 0, 3] {
        let (x, y) = point(f64::from(mark), 0.0);
        svg.text((x, y + 13.0), "middle", GREY, &mark.to_string());
    }
    let name: String = built.scale.items[at].text.chars().take(36).collect();
    let (mark, hue) = if worst {
        ("fits badly: ", COLOURS[1])
    } else {
        ("", INK)
    };
    svg.text(
        (left + 24.0, top + 14.0),
        "start",
        hue,
        &format!("{mark}{name}"),
    );
    let thetas = (-35..=35).map(|n| f64::from(n) / 10.0);
    let path: Vec<_> = thetas
        .map(|theta| point(theta, item.curve.expected(theta)))
        .collect();
    svg.line(&path, hue);
    for (theta, right, n) in observed(built, item.item, item.only) {
        if let Ok(share) = mary_stats::intervals::wilson(right, n, mary_stats::LEVEL) {
            svg.line(
                &[point(theta, share.low), point(theta, share.high)],
                COLOURS[0],
            );
            svg.dot(point(theta, share.value), COLOURS[0]);
        }
    }
}

/// Mean ability, right answers and answers in five classes of ability.
fn observed(built: &Built, item: usize, only: Option<bool>) -> Vec<(f64, u64, u64)> {
    let mut answers: Vec<(f64, bool)> = Vec::new();
    for (at, row) in built.responses.persons().iter().enumerate() {
        let side = built.focal.get(at).copied().unwrap_or(false);
        if let (Some(standing), true) = (
            &built.calibration.subjects[at],
            only.is_none_or(|o| o == side),
        ) && let Some((_, score)) = row.iter().find(|answer| answer.0 == item)
        {
            answers.push((standing.ability.value, *score > 0));
        }
    }
    answers.sort_by(|a, b| a.0.total_cmp(&b.0));
    let size = answers.len().div_ceil(5).max(4);
    let classes = answers.chunks(size).map(|class| {
        let mean = class.iter().map(|a| a.0).sum::<f64>() / class.len() as f64;
        let right = class.iter().filter(|a| a.1).count();
        (mean, right as u64, class.len() as u64)
    });
    classes.collect()
}
