//! The overview across families: a profile of every model, and the same numbers as a table.

use mary_contract::{RunSummary, SummaryRow};
use serde_json::{Value, json};

use super::first::First;
use super::plots::label;
use crate::{
    escape::{html, prose},
    number::{ScoreScale, VersusChance, count},
    subject::{self, Subject},
    summary,
};

/// A row of the profile, or the heading of a family.
struct Place<'a> {
    task: Option<&'a str>,
    text: String,
    /// Middle of its row; a task's row is 1 high, a heading's as high as its text.
    y: f64,
}

/// The profile of all tasks on one scale: rows are tasks, dots are models with their intervals.
/// `None` when no task is on that scale. Rows are as high as `shown` models need.
pub(crate) fn profile(
    runs: &[RunSummary],
    subjects: &[Subject],
    shown: usize,
    scale: ScoreScale,
) -> Option<Value> {
    let families = subject::families(runs);
    // A few models stand apart, many close together; the script does the same with those that are ticked.
    let row = (shown.min(6) * 9 + shown.saturating_sub(6) * 5 + 16).clamp(30, 200);
    let heading = 30.0 / row as f64;
    let mut places: Vec<Place> = Vec::new();
    let mut bands: Vec<Value> = Vec::new();
    let mut end = 0.0;
    for (family, tasks) in &families {
        let begin = end;
        for task in tasks {
            if scale_of(runs, subjects, task) == Some(scale) {
                if begin == end {
                    places.push(Place {
                        task: None,
                        text: format!("<b>{}</b>", label(family)),
                        y: end + heading / 2.0,
                    });
                    end += heading;
                }
                places.push(Place {
                    task: Some(task),
                    text: label(subject::task_name(task)),
                    y: end + 0.5,
                });
                end += 1.0;
            }
        }
        if end > begin {
            bands.push(json!({"family": family, "from": begin, "to": end}));
        }
    }
    if places.is_empty() {
        return None;
    }
    let mut traces = levels(runs, subjects, &places, scale);
    for (index, who) in subjects.iter().enumerate() {
        traces.push(dots(runs, subjects, index, who, &places, scale));
    }
    let ticks: Vec<f64> = places.iter().map(|p| p.y).collect();
    let texts: Vec<&str> = places.iter().map(|p| p.text.as_str()).collect();
    let title = match scale {
        ScoreScale::Proportion => "score, percent",
        ScoreScale::Plain => "score",
    };
    let mut layout = json!({
        "height": end * row as f64 + 110.0,
        "xaxis": {"title": {"text": title}, "automargin": true, "zeroline": false},
        "yaxis": {"tickvals": ticks, "ticktext": texts, "range": [end, 0.0],
                  "automargin": true, "zeroline": false, "showgrid": false, "fixedrange": true},
        // The profile of shares above names them all; beside many names a small figure would vanish.
        "showlegend": scale == ScoreScale::Proportion || subjects.len() <= 5,
        "hovermode": "closest",
    });
    if scale == ScoreScale::Proportion {
        layout["xaxis"]["range"] = json!([-2, 102]);
    }
    Some(json!({"traces": traces, "layout": layout, "bands": bands, "row": row, "end": end}))
}

/// The scale of a task, from the first model that has a score on it.
fn scale_of(runs: &[RunSummary], subjects: &[Subject], task: &str) -> Option<ScoreScale> {
    subjects.iter().find_map(|who| {
        let row = subject::row(runs, who, task)?;
        row.score.as_ref()?;
        Some(ScoreScale::in_run(runs.get(who.run)?, row))
    })
}

/// A level that a row of the summary has beside its score.
type Level = fn(&SummaryRow) -> Option<f64>;

fn levels(
    runs: &[RunSummary],
    subjects: &[Subject],
    places: &[Place],
    scale: ScoreScale,
) -> Vec<Value> {
    let mut out = Vec::new();
    let kinds: [(&str, &str, Level); 2] = [
        ("chance", "chance", |row| row.chance),
        ("people", "human", |row| row.human),
    ];
    for (name, kind, of) in kinds {
        let (mut xs, mut ys): (Vec<Option<f64>>, Vec<Option<f64>>) = (vec![], vec![]);
        for place in places {
            let level = place.task.and_then(|task| {
                let mut rows = subjects
                    .iter()
                    .filter_map(|who| subject::row(runs, who, task));
                rows.find_map(of)
            });
            if let Some(level) = level {
                let x = level * scale.factor();
                xs.extend([Some(x), Some(x), None]);
                ys.extend([Some(place.y - 0.42), Some(place.y + 0.42), None]);
            }
        }
        if !xs.is_empty() {
            out.push(json!({
                "type": "scatter", "mode": "lines", "name": name, "x": xs, "y": ys,
                "hovertemplate": format!("{name}: %{{x:.1f}}<extra></extra>"),
                "meta": {"kind": kind},
            }));
        }
    }
    out
}

fn dots(
    runs: &[RunSummary],
    subjects: &[Subject],
    index: usize,
    who: &Subject,
    places: &[Place],
    scale: ScoreScale,
) -> Value {
    let step = 0.72 / subjects.len().max(1) as f64;
    let shift = (index as f64 - (subjects.len() as f64 - 1.0) / 2.0) * step;
    let factor = scale.factor();
    let (mut xs, mut ys, mut up, mut down) = (vec![], vec![], vec![], vec![]);
    let (mut hover, mut addresses, mut middles) = (vec![], vec![], vec![]);
    for place in places {
        let found = place.task.and_then(|task| {
            let row = subject::row(runs, who, task)?;
            let score = row.score.as_ref().filter(|s| s.value.is_finite())?;
            Some((task, row, score))
        });
        let Some((task, row, score)) = found else {
            continue;
        };
        xs.push(score.value * factor);
        ys.push(place.y + shift);
        middles.push(place.y);
        up.push(((score.high - score.value) * factor).max(0.0));
        down.push(((score.value - score.low) * factor).max(0.0));
        hover.push(format!(
            "{}<br><b>{}</b> {}<br>{} scored samples {}<br><i>click: the samples</i>",
            label(task),
            scale.value(score.value),
            scale.interval(score),
            count(row.scored),
            VersusChance::said(row),
        ));
        addresses.push(address(who, task));
    }
    json!({
        "type": "scatter", "mode": "markers", "name": label(&who.label), "x": xs, "y": ys,
        "error_x": {"type": "data", "symmetric": false, "array": up, "arrayminus": down,
                    "thickness": 1.4, "width": 0},
        "hovertext": hover, "hovertemplate": "%{hovertext}<extra>%{fullData.name}</extra>",
        "customdata": addresses,
        "meta": {"kind": "dot", "color": index, "model": true, "published": false, "middles": middles},
    })
}

pub(crate) fn address(who: &Subject, task: &str) -> String {
    format!("{}|{task}", who.label)
}

pub(crate) fn table(
    runs: &[RunSummary],
    subjects: &[Subject],
    first: &First,
    titles: &dyn Fn(&str) -> String,
) -> String {
    let mut out = format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Scores of all models on all tasks\">\
         <table class=\"scores{}\"><caption class=\"sr\">Scores with 95 % intervals</caption><thead><tr><th scope=\"col\">Task</th><th scope=\"col\" class=\"source\">Source</th>",
        if first.len() > 5 { " many" } else { "" }
    );
    for (index, who) in subjects.iter().enumerate() {
        out += &format!(
            "<th scope=\"col\" class=\"num{}\"><span class=\"dot\" data-color=\"{index}\" aria-hidden=\"true\"></span>{}</th>",
            rest(first, index),
            html(&who.label).replace('/', "/<wbr>")
        );
    }
    out += "<th scope=\"col\" class=\"num\">Chance</th><th scope=\"col\" class=\"num\">People</th></tr></thead>";
    for (family, tasks) in subject::families(runs) {
        out += &format!(
            "<tbody><tr class=\"family\"><th scope=\"rowgroup\" colspan=\"{}\"><a href=\"#family-{}\">{}</a></th></tr>",
            subjects.len() + 4,
            html(&family),
            html(&titles(&family))
        );
        for task in &tasks {
            out += &table_row(runs, subjects, first, task);
        }
        out += "</tbody>";
    }
    out += "</table></div>";
    out += super::blocks::GOES_ON;
    out += &format!(
        "<p class=\"key\">{}</p><p class=\"caption\">{}</p>",
        VersusChance::MARKED
            .map(|v| format!("<span>{} {}</span>", v.mark(), v.words()))
            .join(" "),
        prose(&summary::caption(runs))
    );
    out
}

fn rest(first: &First, subject: usize) -> &'static str {
    if first.holds(subject) { "" } else { " rest" }
}

fn table_row(runs: &[RunSummary], subjects: &[Subject], first: &First, task: &str) -> String {
    let mut out = format!(
        "<tr><th scope=\"row\">{}</th><td class=\"source\">{}</td>",
        html(subject::task_name(task)),
        html(&subject::source(runs, task))
    );
    let mut levels = (None, None, ScoreScale::Proportion);
    for (index, who) in subjects.iter().enumerate() {
        let rest = rest(first, index);
        let Some(row) = subject::row(runs, who, task) else {
            out += &format!("<td class=\"num none{rest}\">not run</td>");
            continue;
        };
        let scale = runs
            .get(who.run)
            .map_or(ScoreScale::Proportion, |r| ScoreScale::in_run(r, row));
        levels = (levels.0.or(row.chance), levels.1.or(row.human), scale);
        let verdict = VersusChance::judge(row);
        out += &format!("<td class=\"num{rest}\">");
        match &row.score {
            Some(score) => {
                out += &format!(
                    "<a href=\"#samples\" data-samples=\"{}\">{}</a> ",
                    html(&address(who, task)),
                    scale.value(score.value)
                );
                if verdict != VersusChance::Unknown {
                    let (said, mark) = (html(&VersusChance::said(row)), verdict.mark());
                    let class = match verdict {
                        VersusChance::Above | VersusChance::AboveUncorrected => "above",
                        VersusChance::Below | VersusChance::BelowUncorrected => "below",
                        _ => "same",
                    };
                    out += &format!(
                        "<span class=\"mark {class}\" role=\"img\" aria-label=\"{said}\" title=\"{said}\">{mark}</span>"
                    );
                }
                out += &format!(
                    "<span class=\"ci\">{}, n {}</span>",
                    scale.interval(score),
                    count(row.scored)
                );
            }
            None => out += "<span class=\"none\">nothing scored</span>",
        }
        if let Some(warning) = summary::constant_answer(row) {
            out += &format!("<strong class=\"remark\">{}</strong>", prose(&warning));
        }
        let mut remarks = summary::not_counted(row);
        if let Some(run) = runs.get(who.run) {
            remarks.extend(summary::how_to_read(run, row));
        }
        if !remarks.is_empty() {
            out += &format!(
                "<span class=\"remark\">{}</span>",
                prose(&remarks.join(", "))
            );
        }
        out += "</td>";
    }
    for level in [levels.0, levels.1] {
        out += &format!(
            "<td class=\"num level\">{}</td>",
            level.map_or("–".into(), |v| levels.2.value(v))
        );
    }
    out += "</tr>";
    out
}
