//! What a scale shows: Wright map, curves of items with observed shares, information, items that misfit or differ.

use std::fmt::Write as _;

use mary_contract::{Axis, Cell, Exhibits, Figure, NumberColumns, Picture, Point, Series, Table};

use super::build::Built;
use super::{Scale, ScaleSubject};

/// Colours of the reference and of the focal group, told apart by the colour-blind too.
const COLOURS: [&str; 2] = ["#0b6fa4", "#c2571a"];
const GREY: &str = "#6b6b6b";
/// Rows of the tables of items, at most.
const ROWS: usize = 30;

/// Everything of a scale that is drawn from its file alone.
pub fn of_scale(scale: &Scale) -> Exhibits {
    let mut shown = Exhibits {
        tables: vec![findings(scale), subjects(scale)],
        figures: vec![information(scale)],
        pictures: vec![Picture {
            id: "scale-wright-map".into(),
            caption: "Wright map: subjects on the left, items on the right, one scale. Where a subject stands level \
                      with an item, it has it right in half the cases (halfway between chance and all). Bars count."
                .into(),
            svg: wright_map(scale),
        }],
    };
    shown.figures.extend(super::growth::development(scale));
    shown.tables.extend(differing(scale));
    shown.tables.extend(misfits(scale));
    shown
}

/// The same with curves beside observed shares, which need the answers.
pub fn of_built(built: &Built) -> Exhibits {
    let mut shown = of_scale(&built.scale);
    if let Some(svg) = curves(built) {
        shown.pictures.push(Picture {
            id: "scale-item-curves".into(),
            caption: "Curves of nine items from the easiest to the hardest, those that fit worst marked, with the shares \
                      right of subjects in five classes of ability (bars: 95 %)."
                .into(),
            svg,
        });
    }
    shown
}

fn findings(scale: &Scale) -> Table {
    Table {
        id: "scale-findings".into(),
        title: "What this scale is worth".into(),
        head: vec!["finding".into()],
        rows: scale
            .findings
            .iter()
            .map(|line| vec![line.as_str().into()])
            .collect(),
        numbers: NumberColumns::At(Vec::new()),
        ..Table::default()
    }
}

/// Who stands where, the ablest first; single people are counted, not listed, where there are many.
pub fn subjects(scale: &Scale) -> Table {
    let mut sorted: Vec<&ScaleSubject> = scale
        .subjects
        .iter()
        .filter(|s| s.ability.is_some())
        .collect();
    let many = |group: &str| sorted.iter().filter(|s| s.group == group).count() > 60;
    let crowded: Vec<String> = sorted
        .iter()
        .map(|s| s.group.clone())
        .filter(|group| many(group))
        .collect();
    let value = |s: &ScaleSubject| s.ability.as_ref().map_or(f64::NAN, |a| a.value);
    sorted.sort_by(|a, b| value(b).total_cmp(&value(a)).then(a.name.cmp(&b.name)));
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for subject in sorted.iter().filter(|s| !crowded.contains(&s.group)) {
        let (Some(ability), Some(expected)) = (&subject.ability, &subject.expected) else {
            continue;
        };
        rows.push(vec![
            subject.name.as_str().into(),
            subject.group.as_str().into(),
            Cell::number(ability, 2),
            Cell::percent(expected, 0),
            Cell::count(subject.answers),
            if subject.above_chance { "yes" } else { "no" }.into(),
            Cell::figure(subject.outfit.map_or(String::new(), |x| format!("{x:.2}"))),
        ]);
    }
    for (at, group) in crowded.iter().enumerate() {
        if crowded[..at].contains(group) {
            continue;
        }
        let members: Vec<f64> = sorted
            .iter()
            .filter(|s| s.group == *group)
            .map(|s| value(s))
            .collect();
        let quantile = |share: f64| members[((members.len() - 1) as f64 * (1.0 - share)) as usize];
        rows.push(vec![
            format!(
                "{} of {group}: quarter, middle, three quarters",
                members.len()
            )
            .into(),
            group.as_str().into(),
            Cell::figure(format!(
                "{:.2}, {:.2}, {:.2}",
                quantile(0.25),
                quantile(0.5),
                quantile(0.75)
            )),
            Cell::none(),
            Cell::none(),
            "".into(),
            Cell::none(),
        ]);
    }
    Table {
        id: "scale-subjects".into(),
        title: "Abilities".into(),
        caption: "Ability by the mean of the posterior, in standard deviations of the subjects that calibrated; share \
                  expected on all items of the scale. Outfit well above 1: finds other items hard than the scale says."
            .into(),
        head: ["subject", "group", "ability", "expected %", "answers", "above chance", "outfit"]
            .map(String::from)
            .into(),
        rows,
        numbers: NumberColumns::At(vec![2, 3, 4, 6]),
        ..Table::default()
    }
}

fn differing(scale: &Scale) -> Option<Table> {
    let focal = scale.focal.as_deref()?;
    let mut found = Vec::new();
    for item in scale
        .items
        .iter()
        .filter(|item| item.only.as_deref() == Some(focal))
    {
        let other = scale
            .items
            .iter()
            .find(|o| o.hash == item.hash && o.only != item.only);
        if let Some(other) = other {
            found.push((item.difficulty - other.difficulty, item, other));
        }
    }
    found.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()));
    let rows = found.iter().take(ROWS).map(|(apart, item, other)| {
        vec![
            Cell::from(item.text.as_str()),
            Cell::figure(format!("{:.2}", other.difficulty)),
            Cell::figure(format!("{:.2}", item.difficulty)),
            Cell::figure(format!("{apart:+.2}")),
        ]
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    (!rows.is_empty()).then(|| Table {
        id: "scale-differing".into(),
        title: format!("Items that are not equally hard for both groups ({} in all)", found.len()),
        caption: "Difficulty among the others and among the group named, for subjects of equal ability; corrected for \
                  the number of items (Holm), moderate or large by the classes of ETS."
            .into(),
        head: vec!["item".into(), "for the others".into(), format!("for {focal}"), "difference".into()],
        rows,
        numbers: NumberColumns::From(1),
        ..Table::default()
    })
}

fn misfits(scale: &Scale) -> Option<Table> {
    let mut found: Vec<_> = scale
        .items
        .iter()
        .filter_map(|item| Some((item, item.fit?)))
        .collect();
    found.retain(|(_, (z, infit))| *z > 2.0 || *infit > 1.3);
    found.sort_by(|a, b| b.1.0.total_cmp(&a.1.0));
    let rows = found.iter().take(ROWS).map(|(item, (z, infit))| {
        vec![
            Cell::from(item.text.as_str()),
            Cell::figure(format!("{:.2}", item.difficulty)),
            Cell::figure(format!("{z:+.1}")),
            Cell::figure(format!("{infit:.2}")),
        ]
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    (!rows.is_empty()).then(|| Table {
        id: "scale-misfits".into(),
        title: format!("Items whose answers do not follow their curve ({} in all)", found.len()),
        caption: "Able subjects get them wrong, or weak ones right, more often than the scale says (outfit above 2 as a \
                  standard normal value, or infit above 1.3). Read them: a wrong key and a second reading look like this."
            .into(),
        head: ["item", "difficulty", "outfit z", "infit"].map(String::from).into(),
        rows,
        numbers: NumberColumns::From(1),
        ..Table::default()
    })
}

fn information(scale: &Scale) -> Figure {
    let mut groups: Vec<&str> = scale.subjects.iter().map(|s| s.group.as_str()).collect();
    groups.sort_unstable();
    groups.dedup();
    if scale.items.iter().all(|item| item.only.is_none()) {
        groups.truncate(1);
    }
    let series = groups.iter().map(|group| {
        let bank = scale.bank(group);
        let points = (-40..=40).map(|at| {
            let x = f64::from(at) / 10.0;
            let y = bank.iter().map(|(_, item)| item.item.information(x)).sum();
            Point {
                x,
                y,
                ..Point::default()
            }
        });
        Series {
            name: match groups.len() {
                1 => "all items".into(),
                _ => format!("items for {group}"),
            },
            published: false,
            points: points.collect(),
        }
    });
    let axis = |title: &str| Axis {
        title: title.into(),
        ..Axis::default()
    };
    Figure {
        id: "scale-information".into(),
        title: "Information of the test".into(),
        caption: "How much all items together tell about an ability: the standard error there is one over the root of \
                  it. A test tells little about subjects far from its items."
            .into(),
        x: axis("ability"),
        y: axis("information"),
        series: series.collect(),
        ..Figure::default()
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// Text that is safe and short enough to stand beside a mark: the end of a long name tells most.
fn short(name: &str) -> String {
    let count = name.chars().count();
    let tail: String = name.chars().skip(count.saturating_sub(34)).collect();
    escaped(&if count > 34 {
        format!("…{tail}")
    } else {
        tail
    })
}

const TOP: f64 = 46.0;
const HEIGHT: f64 = 560.0;
const MIDDLE: f64 = 420.0;
const BIN: f64 = 0.2;

/// Draws subjects and items on one axis.
pub fn wright_map(scale: &Scale) -> String {
    let abilities = scale
        .subjects
        .iter()
        .filter_map(|s| Some((s, s.ability.as_ref()?.value)));
    let abilities: Vec<(&ScaleSubject, f64)> = abilities.collect();
    let values = abilities
        .iter()
        .map(|a| a.1)
        .chain(scale.items.iter().map(|i| i.difficulty));
    let (low, high) = values.fold((-1.0f64, 1.0f64), |(low, high), v| {
        (low.min(v), high.max(v))
    });
    let (low, high) = (low.max(-5.0) - 0.2, high.min(5.0) + 0.2);
    let y = |v: f64| TOP + (HEIGHT - TOP - 20.0) * (high - v.clamp(low, high)) / (high - low);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 860 {HEIGHT}\" width=\"860\" height=\"{HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"11\"><rect width=\"860\" height=\"{HEIGHT}\" fill=\"#fff\"/>"
    );
    let mut line = |text: std::fmt::Arguments<'_>| {
        let _ = out.write_fmt(text);
    };
    line(format_args!(
        "<text x=\"{}\" y=\"18\" text-anchor=\"end\" font-weight=\"bold\">subjects (able above)</text>",
        MIDDLE - 30.0
    ));
    line(format_args!(
        "<text x=\"{}\" y=\"18\" font-weight=\"bold\">items (hard above)</text>",
        MIDDLE + 30.0
    ));
    for tick in low.ceil() as i32..=high.floor() as i32 {
        let at = y(f64::from(tick));
        line(format_args!(
            "<line x1=\"40\" x2=\"840\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#e4e4e4\"/>"
        ));
        line(format_args!(
            "<text x=\"{MIDDLE}\" y=\"{:.1}\" text-anchor=\"middle\">{tick}</text>",
            at + 4.0
        ));
    }
    let mut groups: Vec<&str> = scale.subjects.iter().map(|s| s.group.as_str()).collect();
    groups.sort_by_key(|group| (scale.focal.as_deref() == Some(*group), *group));
    groups.dedup();
    let colour = |group: &str| match (scale.focal.as_deref(), groups.len()) {
        (Some(focal), _) => COLOURS[usize::from(focal == group)],
        (None, 1) if groups.first() == Some(&super::PEOPLE) => COLOURS[0],
        _ => COLOURS[1],
    };
    for (at, group) in groups.iter().enumerate() {
        let x = 40.0 + 130.0 * at as f64;
        line(format_args!(
            "<rect x=\"{x}\" y=\"26\" width=\"10\" height=\"10\" fill=\"{}\"/>",
            colour(group)
        ));
        line(format_args!(
            "<text x=\"{}\" y=\"35\">{}</text>",
            x + 15.0,
            escaped(group)
        ));
    }
    // A crowd is a histogram beside the axis; others stand by name further out.
    let mut labelled: Vec<(f64, &ScaleSubject)> = Vec::new();
    for group in &groups {
        let own: Vec<(&ScaleSubject, f64)> = abilities
            .iter()
            .copied()
            .filter(|a| a.0.group == *group)
            .collect();
        if own.len() <= 45 {
            labelled.extend(own.iter().map(|(s, v)| (*v, *s)));
            continue;
        }
        for (middle, count, most) in histogram(own.iter().map(|a| a.1)) {
            let width = 120.0 * count as f64 / most as f64;
            line(format_args!(
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{:.1}\" fill=\"{}\" fill-opacity=\"0.75\"/>",
                MIDDLE - 24.0 - width,
                y(middle + BIN / 2.0),
                y(middle - BIN / 2.0) - y(middle + BIN / 2.0) - 1.0,
                colour(group)
            ));
        }
    }
    labelled.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.name.cmp(&b.1.name)));
    let mut places: Vec<f64> = Vec::new();
    for (value, _) in &labelled {
        let free = places.last().map_or(0.0, |last| last + 11.5);
        places.push(y(*value).max(free));
    }
    // Names pushed below the edge move up again.
    let mut room = HEIGHT - 6.0;
    for place in places.iter_mut().rev() {
        *place = place.min(room);
        room = *place - 11.5;
    }
    for ((value, subject), at) in labelled.iter().zip(places) {
        let (own, hue) = (y(*value), colour(&subject.group));
        line(format_args!(
            "<circle cx=\"{}\" cy=\"{own:.1}\" r=\"3.5\" fill=\"{hue}\"/>",
            MIDDLE - 160.0
        ));
        line(format_args!(
            "<line x1=\"{}\" y1=\"{own:.1}\" x2=\"{}\" y2=\"{at:.1}\" stroke=\"#bbb\"/>",
            MIDDLE - 164.0,
            MIDDLE - 186.0
        ));
        line(format_args!(
            "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"{hue}\">{}</text>",
            MIDDLE - 190.0,
            at + 3.5,
            short(&subject.name)
        ));
    }
    let shared = scale
        .items
        .iter()
        .filter(|item| item.only.is_none())
        .map(|item| item.difficulty);
    let mut sides = vec![(
        GREY,
        shared.collect::<Vec<f64>>(),
        if groups.len() > 1 {
            "items alike for all"
        } else {
            "items"
        },
    )];
    for group in &groups {
        let own = scale
            .items
            .iter()
            .filter(|item| item.only.as_deref() == Some(*group));
        sides.push((
            colour(group),
            own.map(|item| item.difficulty).collect(),
            group,
        ));
    }
    sides.retain(|side| !side.1.is_empty());
    let room = (400.0 / sides.len() as f64).min(240.0);
    for (at, (hue, values, name)) in sides.iter().enumerate() {
        let x = MIDDLE + 24.0 + room * at as f64;
        let name = if at == 0 {
            (*name).to_owned()
        } else {
            format!("as {} find them", escaped(name))
        };
        line(format_args!(
            "<text x=\"{x}\" y=\"35\" fill=\"{hue}\">{name} ({})</text>",
            values.len()
        ));
        for (middle, count, most) in histogram(values.iter().copied()) {
            let width = (room - 20.0) * count as f64 / most as f64;
            line(format_args!(
                "<rect x=\"{x}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{:.1}\" fill=\"{hue}\" fill-opacity=\"0.7\"/>",
                y(middle + BIN / 2.0),
                y(middle - BIN / 2.0) - y(middle + BIN / 2.0) - 1.0
            ));
        }
    }
    out + "</svg>"
}

/// Middle of a bin, how many are in it, and the fullest bin.
fn histogram(values: impl Iterator<Item = f64>) -> Vec<(f64, usize, usize)> {
    let mut bins = std::collections::BTreeMap::<i64, usize>::new();
    values.for_each(|v| {
        *bins
            .entry((v.clamp(-5.0, 5.0) / BIN).round() as i64)
            .or_default() += 1
    });
    let most = bins.values().max().copied().unwrap_or(1);
    bins.into_iter()
        .map(|(bin, count)| (bin as f64 * BIN, count, most))
        .collect()
}

/// Nine panels; nothing with too few subjects to show shares of.
fn curves(built: &Built) -> Option<String> {
    let found = &built.calibration;
    let mut places: Vec<usize> = (0..found.items.len())
        .filter(|&at| found.items[at].curve.top() == 1)
        .collect();
    if places.len() < 9 || found.subjects.iter().flatten().count() < 20 {
        return None;
    }
    let outfit = |at: usize| found.items[at].fit.as_ref().map_or(0.0, |fit| fit.outfit_z);
    places.sort_by(|a, b| outfit(*b).total_cmp(&outfit(*a)));
    let worst: Vec<usize> = places
        .iter()
        .copied()
        .take(3)
        .filter(|&at| outfit(at) > 2.0)
        .collect();
    let mut chosen = worst.clone();
    let hard = |at: usize| found.items[at].curve.difficulty();
    places.retain(|at| !worst.contains(at));
    places.sort_by(|a, b| hard(*a).total_cmp(&hard(*b)));
    let wanted = 9 - chosen.len();
    chosen.extend((0..wanted).map(|n| places[n * (places.len() - 1) / (wanted - 1).max(1)]));
    chosen.sort_by(|a, b| hard(*a).total_cmp(&hard(*b)));
    let mut out = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 780 630\" width=\"780\" height=\"630\" \
         font-family=\"sans-serif\" font-size=\"10\"><rect width=\"780\" height=\"630\" fill=\"#fff\"/>",
    );
    for (panel, &at) in chosen.iter().enumerate() {
        let (left, top) = (
            10.0 + 257.0 * (panel % 3) as f64,
            10.0 + 205.0 * (panel / 3) as f64,
        );
        one_curve(&mut out, built, at, (left, top), worst.contains(&at));
    }
    Some(out + "</svg>")
}

fn one_curve(out: &mut String, built: &Built, at: usize, (left, top): (f64, f64), worst: bool) {
    let item = &built.calibration.items[at];
    let (x, y) = (
        |v: f64| left + 24.0 + 216.0 * (v + 3.5) / 7.0,
        |p: f64| top + 20.0 + 150.0 * (1.0 - p),
    );
    let mut line = |text: std::fmt::Arguments<'_>| {
        let _ = out.write_fmt(text);
    };
    line(format_args!(
        "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"216\" height=\"150\" fill=\"none\" stroke=\"#ccc\"/>",
        x(-3.5),
        y(1.0)
    ));
    for mark in [0.0, 0.5, 1.0] {
        line(format_args!(
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{mark}</text>",
            x(-3.5) - 3.0,
            y(mark) + 3.0
        ));
    }
    for mark in [-3, 0, 3] {
        line(format_args!(
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{mark}</text>",
            x(f64::from(mark)),
            y(0.0) + 12.0
        ));
    }
    let name: String = built.scale.items[at].text.chars().take(40).collect();
    let (mark, hue) = if worst {
        ("fits badly: ", COLOURS[1])
    } else {
        ("", "#222")
    };
    line(format_args!(
        "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"{hue}\">{mark}{}</text>",
        x(-3.5),
        top + 14.0,
        escaped(&name)
    ));
    let path: Vec<String> = (-35..=35)
        .map(|n| {
            format!(
                "{:.1},{:.1}",
                x(f64::from(n) / 10.0),
                y(item.curve.expected(f64::from(n) / 10.0))
            )
        })
        .collect();
    line(format_args!(
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{hue}\" stroke-width=\"1.5\"/>",
        path.join(" ")
    ));
    for (theta, right, n) in observed(built, item.item, item.only) {
        if let Ok(share) = mary_stats::intervals::wilson(right as u64, n as u64, mary_stats::LEVEL)
        {
            let at = x(theta.clamp(-3.5, 3.5));
            line(format_args!(
                "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{:.1}\" y2=\"{:.1}\" stroke=\"{}\"/>",
                y(share.low),
                y(share.high),
                COLOURS[0]
            ));
            line(format_args!(
                "<circle cx=\"{at:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{}\"/>",
                y(right as f64 / n as f64),
                COLOURS[0]
            ));
        }
    }
}

/// Mean ability, right answers and answers in five classes of ability.
fn observed(built: &Built, item: usize, only: Option<bool>) -> Vec<(f64, usize, usize)> {
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
        (mean, class.iter().filter(|a| a.1).count(), class.len())
    });
    classes.collect()
}
