//! A figure as a drawing for plotly.js. Colours are only numbered here ([`super::palette`]).

use mary_contract::{Axis, Figure, FigureKind, Point, Scale, Series};
use mary_platform::{distinct, grouped_in_order};
use serde_json::{Value, json};

use super::palette::{Hue, Palette};

pub(crate) fn spec(figure: &Figure, palette: &Palette) -> Value {
    let mut drawing = Drawing {
        figure,
        palette,
        traces: Vec::new(),
    };
    match figure.kind {
        FigureKind::Line => drawing.lines(),
        FigureKind::Bar => drawing.bars(),
        FigureKind::Scatter { fit } => drawing.scatter(fit),
        FigureKind::Heatmap => drawing.heatmap(),
        FigureKind::Box => drawing.boxes(),
    }
    let mut layout = layout(figure, height(figure));
    // Models that were one series may have become several.
    let names = drawing.traces.iter().filter(|t| t["showlegend"] != false);
    layout["showlegend"] = json!(names.count() > 1 && figure.kind != FigureKind::Heatmap);
    json!({
        "traces": drawing.traces,
        "layout": layout,
    })
}

/// Plotly reads a little markup in its texts; ours are to be seen as they are.
pub(crate) fn label(text: &str) -> String {
    crate::escape::terminal(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

struct Drawing<'a> {
    figure: &'a Figure,
    palette: &'a Palette,
    traces: Vec<Value>,
}

impl Drawing<'_> {
    fn base(&self, place: usize, series: &Series) -> Value {
        let mut name = label(&series.name);
        if series.published && !name.contains("published") {
            name += " (published)";
        }
        let hue = self.palette.color(&series.name, place);
        let mut trace = dressed(&name, hue, series.published);
        trace["legendgroup"] = json!(format!("{place}"));
        trace
    }

    /// The points of a series as traces: one, or where they are results of several models, one of each
    /// model, in its colour and form.
    fn by_model<'p>(
        &self,
        place: usize,
        series: &Series,
        points: Vec<&'p Point>,
    ) -> Vec<(Value, Vec<&'p Point>)> {
        let points = points.into_iter();
        let groups = grouped_in_order(points.map(|p| (self.palette.model_of(p), p)));
        let several = !self.palette.sharing(series).is_empty();
        let dress = |(model, points): (Option<usize>, Vec<&'p Point>)| match model {
            Some(color) if several => {
                let hue = Hue { color, model: true };
                let name = label(self.palette.label(color));
                let mut trace = dressed(&name, hue, false);
                trace["legendgroup"] = json!(format!("{place} {color}"));
                (trace, points)
            }
            _ => (self.base(place, series), points),
        };
        groups.into_iter().map(dress).collect()
    }

    fn xs(&self, points: &[&Point]) -> Value {
        if self.figure.x.scale == Scale::Category {
            json!(points.iter().map(|p| label(&p.label)).collect::<Vec<_>>())
        } else {
            json!(points.iter().map(|p| finite(p.x)).collect::<Vec<_>>())
        }
    }

    fn push(&mut self, kind: &str, mut trace: Value) {
        trace["meta"]["kind"] = json!(kind);
        self.traces.push(trace);
    }

    fn lines(&mut self) {
        for (place, series) in self.figure.series.iter().enumerate() {
            let points: Vec<&Point> = series.points.iter().collect();
            let xs = self.xs(&points);
            if points.iter().any(|p| p.low.is_some() && p.high.is_some()) {
                for (bound, fill) in [(false, "none"), (true, "tonexty")] {
                    let bound = |p: &&Point| if bound { p.high } else { p.low }.unwrap_or(p.y);
                    let ys: Vec<_> = points.iter().map(bound).map(finite).collect();
                    let band = json!({"type": "scatter", "mode": "lines", "x": xs, "y": ys, "fill": fill,
                                      "line": {"width": 0}, "hoverinfo": "skip", "showlegend": false});
                    self.push("band", with(self.base(place, series), band));
                }
            }
            let mode = match points.len() > 60 {
                true => "lines",
                false => "lines+markers",
            };
            let more = json!({"type": "scatter", "mode": mode, "x": xs});
            let mut trace = with(self.base(place, series), more);
            values(&mut trace, &points);
            self.push("line", trace);
        }
    }

    fn bars(&mut self) {
        for (place, series) in self.figure.series.iter().enumerate() {
            let points: Vec<&Point> = series.points.iter().collect();
            let more = json!({"type": "bar", "x": self.xs(&points)});
            let mut trace = with(self.base(place, series), more);
            values(&mut trace, &points);
            whiskers(&mut trace, &points);
            self.push("bar", trace);
        }
    }

    fn scatter(&mut self, fit: bool) {
        let total: usize = self.figure.series.iter().map(|s| s.points.len()).sum();
        let mut named = self.figure.series.iter().flat_map(|s| &s.points);
        let labelled = !fit && total <= 80 && named.any(|p| !p.label.is_empty());
        for (place, series) in self.figure.series.iter().enumerate() {
            let points: Vec<&Point> = series.points.iter().collect();
            let mode = if labelled { "markers+text" } else { "markers" };
            for (trace, points) in self.by_model(place, series, points.clone()) {
                let texts: Vec<_> = points.iter().map(|p| label(&p.label)).collect();
                // Names of points at the edge may reach beyond it.
                let more = json!({"type": "scatter", "mode": mode, "x": self.xs(&points), "cliponaxis": !labelled,
                                  "text": texts, "textposition": "top center"});
                let mut trace = with(trace, more);
                values(&mut trace, &points);
                whiskers(&mut trace, &points);
                self.push("points", trace);
            }
            if let Some(ends) = fit.then(|| least_squares(&points)).flatten() {
                let line = json!({"type": "scatter", "mode": "lines", "x": [ends.0.0, ends.1.0],
                                  "y": [ends.0.1, ends.1.1], "hoverinfo": "skip", "showlegend": false});
                self.push("fit", with(self.base(place, series), line));
            }
        }
    }

    fn heatmap(&mut self) {
        let all = &self.figure.series;
        let points = all.iter().flat_map(|s| &s.points);
        let columns = distinct(points.map(|p| p.label.as_str()));
        let cells = |of: &dyn Fn(Option<&Point>) -> Value| -> Vec<Vec<Value>> {
            let cell = |series: &Series, column: &str| {
                of(series.points.iter().find(|p| p.label == column))
            };
            let row = |series: &Series| columns.iter().map(|c| cell(series, c)).collect();
            all.iter().map(row).collect()
        };
        let mut values = all.iter().flat_map(|s| &s.points).map(|p| p.y);
        // Rows are categories: a range of this axis is one of the colours.
        let range = self.figure.y.range;
        let signed = values.any(|v| v < 0.0) || range.is_some_and(|(low, _)| low < 0.0);
        let names = all
            .iter()
            .map(|s| label(&s.name) + if s.published { " (published)" } else { "" });
        let mut trace = json!({
            "type": "heatmap",
            "x": columns.iter().map(|c| label(c)).collect::<Vec<_>>(),
            "y": names.collect::<Vec<_>>(),
            "z": cells(&|p| json!(p.and_then(|p| finite(p.y)))),
            "text": cells(&|p| json!(p.map(|p| short_number(p.y)).unwrap_or_default())),
            "customdata": cells(&|p| json!(p.and_then(|p| p.samples.clone()))),
            "hovertemplate": "%{y}<br>%{x}: <b>%{z:.3f}</b><extra></extra>",
            "xgap": 2, "ygap": 2,
            "meta": {"kind": if signed { "diverging" } else { "heat" }},
            "colorbar": {"thickness": 12, "outlinewidth": 0, "len": 0.9},
        });
        if let Some((low, high)) = range {
            // Colours that part at zero reach as far on both sides.
            let most = low.abs().max(high.abs());
            trace["zmin"] = json!(if signed { -most } else { low });
            trace["zmax"] = json!(if signed { most } else { high });
        }
        if columns.len() * all.len() <= 240 && columns.len() <= 16 {
            trace["texttemplate"] = json!("%{text}");
        }
        self.traces.push(trace);
    }

    /// Boxes where there are enough values for quartiles; fewer are drawn as the points they are.
    fn boxes(&mut self) {
        for (place, series) in self.figure.series.iter().enumerate() {
            let (boxed, bare): (Vec<&Point>, Vec<&Point>) =
                series.points.iter().partition(|p| boxed(series, &p.label));
            let mut all = Vec::new();
            if !boxed.is_empty() {
                all.push((self.base(place, series), boxed, "box"));
            }
            for (trace, points) in self.by_model(place, series, bare) {
                all.push((trace, points, "strip"));
            }
            let mut told: Vec<Value> = Vec::new();
            for (trace, points, kind) in all {
                let name = trace["legendgroup"].clone();
                let first = !told.contains(&name);
                told.push(name);
                let xs: Vec<_> = points.iter().map(|p| label(&p.label)).collect();
                let ys: Vec<_> = points.iter().map(|p| finite(p.y)).collect();
                let shown = match kind == "strip" || points.len() <= 120 {
                    true => "all",
                    false => "outliers",
                };
                let more = json!({"type": "box", "x": xs, "y": ys, "boxpoints": shown,
                                  "jitter": 0.35, "pointpos": 0, "showlegend": first});
                let mut trace = with(trace, more);
                addresses(&mut trace, &points);
                self.push(kind, trace);
            }
        }
    }
}

fn with(mut trace: Value, more: Value) -> Value {
    if let (Value::Object(trace), Value::Object(more)) = (&mut trace, more) {
        trace.extend(more);
    }
    trace
}

fn dressed(name: &str, hue: Hue, published: bool) -> Value {
    let meta = json!({"color": hue.color, "model": hue.model, "published": published});
    json!({"name": name, "meta": meta})
}

/// Values that make a box; of fewer, quartiles say nothing.
const BOXED: usize = 5;

fn boxed(series: &Series, label: &str) -> bool {
    let same = series.points.iter().filter(|p| p.label == label);
    same.filter(|p| p.y.is_finite()).count() >= BOXED
}

pub(crate) fn caption(figure: &Figure) -> String {
    let few = figure.kind == FigureKind::Box
        && figure
            .series
            .iter()
            .any(|s| s.points.iter().any(|p| !boxed(s, &p.label)));
    match few {
        true => format!(
            "{} Fewer than {BOXED} values are drawn as points, without a box; each model has its own colour and form.",
            figure.caption.trim_end()
        ),
        false => figure.caption.clone(),
    }
}

fn values(trace: &mut Value, points: &[&Point]) {
    let ys: Vec<_> = points.iter().map(|p| finite(p.y)).collect();
    let hover: Vec<String> = points
        .iter()
        .map(|p| {
            let mut text = format!("<b>{}</b>", short_number(p.y));
            if !p.label.is_empty() {
                text = format!("{}<br>{text}", label(&p.label));
            }
            if let (Some(low), Some(high)) = (p.low, p.high) {
                text += &format!(" [{}, {}]", short_number(low), short_number(high));
            }
            if p.samples.is_some() {
                text += "<br><i>click: the samples</i>";
            }
            text
        })
        .collect();
    trace["y"] = json!(ys);
    trace["hovertext"] = json!(hover);
    trace["hovertemplate"] = json!("%{hovertext}<extra>%{fullData.name}</extra>");
    addresses(trace, points);
}

fn addresses(trace: &mut Value, points: &[&Point]) {
    if points.iter().any(|p| p.samples.is_some()) {
        let all: Vec<_> = points.iter().map(|p| p.samples.clone()).collect();
        trace["customdata"] = json!(all);
    }
}

fn whiskers(trace: &mut Value, points: &[&Point]) {
    if points.iter().any(|p| p.low.is_some() || p.high.is_some()) {
        let up = points.iter().map(|p| p.high.map_or(0.0, |h| h - p.y));
        let up: Vec<f64> = up.map(|v| v.max(0.0)).collect();
        let down = points.iter().map(|p| p.low.map_or(0.0, |l| p.y - l));
        let down: Vec<f64> = down.map(|v| v.max(0.0)).collect();
        trace["error_y"] = json!({"type": "data", "symmetric": false, "array": up, "arrayminus": down,
                                  "thickness": 1.2, "width": 3});
    }
}

/// More rows of a heat map than these are drawn small.
const MANY_ROWS: usize = 20;

fn layout(figure: &Figure, height: usize) -> Value {
    let mut layout = json!({
        "height": height,
        "barmode": "group",
        "boxmode": "group",
        "xaxis": axis(&figure.x),
        "yaxis": axis(&figure.y),
    });
    if figure.kind == FigureKind::Heatmap || figure.kind == FigureKind::Box {
        layout["xaxis"]["type"] = json!("category");
    }
    if figure.kind == FigureKind::Heatmap {
        layout["yaxis"]["type"] = json!("category");
        layout["yaxis"]["autorange"] = json!("reversed");
        if figure.series.len() > MANY_ROWS {
            layout["yaxis"]["tickfont"] = json!({"size": 9});
        }
        return layout;
    }
    if figure.x.scale == Scale::Log && spans_decades(figure) {
        layout["xaxis"]["dtick"] = json!(1);
    }
    let (mut lines, mut names) = (Vec::new(), Vec::new());
    for r in figure.references.iter().filter(|r| r.y.is_finite()) {
        lines.push(json!({"type": "line", "xref": "paper", "x0": 0, "x1": 1, "yref": "y", "y0": r.y, "y1": r.y,
                          "line": {"width": 1.3, "dash": "dot"}}));
        names.push(
            json!({"xref": "paper", "x": 1, "xanchor": "left", "xshift": 4, "yref": "y", "y": r.y,
                          "yanchor": "middle", "text": label(&r.name), "showarrow": false}),
        );
    }
    for range in &figure.ranges {
        let (from, to) = (range.from, range.to);
        lines.push(
            json!({"type": "rect", "xref": "x", "x0": from, "x1": to, "yref": "paper",
                          "y0": 0, "y1": 1, "layer": "below", "line": {"width": 0}}),
        );
        // Plotly places annotations of a logarithmic axis by the logarithm, shapes by the value.
        let middle = match figure.x.scale {
            Scale::Log => (from * to).sqrt().log10(),
            _ => f64::midpoint(from, to),
        };
        names.push(
            json!({"xref": "x", "x": middle, "yref": "paper", "y": 1, "yanchor": "top",
                          "text": label(&range.name), "showarrow": false}),
        );
    }
    layout["shapes"] = json!(lines);
    layout["annotations"] = json!(names);
    layout
}

/// Whether the points reach over two powers of ten or more, so that only those need a tick.
fn spans_decades(figure: &Figure) -> bool {
    let points = figure.series.iter().flat_map(|s| &s.points);
    let (low, high) = points
        .map(|p| p.x)
        .filter(|x| *x > 0.0)
        .fold((f64::INFINITY, 0.0), |(l, h): (f64, f64), x| {
            (l.min(x), h.max(x))
        });
    high / low >= 100.0
}

fn axis(axis: &Axis) -> Value {
    let kind = match axis.scale {
        Scale::Linear => "linear",
        Scale::Log => "log",
        Scale::Category => "category",
    };
    let mut out = json!({"title": {"text": label(&axis.title)}, "type": kind, "automargin": true});
    if axis.scale == Scale::Category {
        out["showgrid"] = json!(false);
    }
    if let Some((low, high)) = axis.range
        && axis.scale != Scale::Category
    {
        let place = |v: f64| match axis.scale {
            Scale::Log => v.max(1e-12).log10(),
            _ => v,
        };
        out["range"] = json!([place(low), place(high)]);
    }
    out
}

fn height(figure: &Figure) -> usize {
    match figure.kind {
        // Many rows stand closer; their names are set smaller.
        FigureKind::Heatmap if figure.series.len() > MANY_ROWS => {
            (140 + figure.series.len() * 12).min(1400)
        }
        FigureKind::Heatmap => (120 + figure.series.len() * 26).clamp(260, 1400),
        // Long names stand aslant below the axis, and would leave nothing for what is drawn.
        _ if figure.x.scale == Scale::Category => {
            let names = figure.series.iter().flat_map(|s| &s.points);
            let longest = names.map(|p| p.label.chars().count()).max();
            390 + 5 * longest.unwrap_or(0).saturating_sub(30).min(60)
        }
        _ => 390,
    }
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

fn short_number(value: f64) -> String {
    if !value.is_finite() {
        return "–".into();
    }
    let text = match value.abs() {
        v if v >= 1000.0 => return format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.3}"),
    };
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn least_squares(points: &[&Point]) -> Option<((f64, f64), (f64, f64))> {
    let (xs, ys): (Vec<f64>, Vec<f64>) = points
        .iter()
        .filter(|p| p.x.is_finite() && p.y.is_finite())
        .map(|p| (p.x, p.y))
        .unzip();
    let line = mary_stats::linear::line(&xs, &ys).ok()?;
    let at = |x: f64| (x, line.intercept + line.slope * x);
    let low = xs.iter().copied().fold(f64::INFINITY, f64::min);
    let high = xs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some((at(low), at(high)))
}

#[cfg(test)]
mod tests {
    use mary_contract::ShadedRange;

    use super::*;

    fn figure(kind: FigureKind, points: Vec<Point>) -> Figure {
        let axis = |scale| Axis {
            title: "t".into(),
            scale,
            range: Some((1.0, 100.0)),
        };
        Figure {
            id: "f".into(),
            title: "F".into(),
            caption: String::new(),
            kind,
            x: axis(Scale::Log),
            y: axis(Scale::Linear),
            series: vec![Series {
                name: "<b>m</b>".into(),
                published: true,
                points,
            }],
            references: vec![],
            ranges: vec![],
        }
    }

    /// Names of sixty letters used to leave bars of sixty dots.
    #[test]
    fn long_names_below_an_axis_get_room() {
        let named = |name: &str| {
            let mut figure = figure(FigureKind::Bar, vec![Point::new(name, 1.0)]);
            figure.x.scale = Scale::Category;
            height(&figure)
        };
        assert_eq!(named("pythia-70m"), 390);
        assert!(named(&"x".repeat(60)) >= 390 + 150);
        assert_eq!(named(&"x".repeat(900)), named(&"x".repeat(90)));
    }

    #[test]
    fn a_fitted_line_goes_through_points_that_lie_on_one() {
        let points: Vec<Point> = [1.0, 2.0, 4.0]
            .iter()
            .map(|&x| Point {
                x,
                y: 3.0 * x - 1.0,
                ..Point::default()
            })
            .collect();
        let refs: Vec<&Point> = points.iter().collect();
        let ((x0, y0), (x1, y1)) = least_squares(&refs).unwrap();
        assert_eq!((x0, x1), (1.0, 4.0));
        assert!((y0 - 2.0).abs() < 1e-12 && (y1 - 11.0).abs() < 1e-12);
        assert_eq!(least_squares(&refs[..1]), None);
    }

    #[test]
    fn names_are_text_published_is_said_and_log_ranges_are_logarithms() {
        let point = Point {
            x: 10.0,
            y: f64::NAN,
            low: Some(0.1),
            high: Some(0.3),
            ..Point::default()
        };
        let drawn = spec(&figure(FigureKind::Line, vec![point]), &Palette::default());
        let line = &drawn["traces"][2];
        assert_eq!(line["name"], "&lt;b&gt;m&lt;/b&gt; (published)");
        assert_eq!(line["meta"]["published"], true);
        assert_eq!(line["y"][0], Value::Null);
        assert_eq!(drawn["layout"]["xaxis"]["range"], json!([0.0, 2.0]));
    }

    #[test]
    fn a_range_is_shaded_and_named() {
        let shaded = Figure {
            ranges: vec![ShadedRange {
                name: "window".into(),
                from: 10.0,
                to: 1000.0,
                published: false,
            }],
            ..figure(FigureKind::Line, vec![])
        };
        let drawn = spec(&shaded, &Palette::default());
        assert_eq!(drawn["layout"]["shapes"][0]["x1"], 1000.0);
        assert_eq!(drawn["layout"]["annotations"][0]["x"], 2.0);
    }

    #[test]
    fn two_values_are_two_points_and_no_box() {
        let value = |label: &str, y: f64| Point {
            label: label.into(),
            y,
            ..Point::default()
        };
        let mut points: Vec<Point> = (0..6).map(|k| value("many", f64::from(k))).collect();
        points.extend([value("two", 0.1), value("two", 0.9)]);
        let drawn = figure(FigureKind::Box, points);
        let traces = spec(&drawn, &Palette::default())["traces"].clone();
        let kinds: Vec<&str> = (0..2)
            .map(|k| traces[k]["meta"]["kind"].as_str().unwrap())
            .collect();
        assert_eq!(kinds, ["box", "strip"]);
        assert_eq!(traces[0]["x"].as_array().unwrap().len(), 6);
        assert_eq!(traces[1]["x"], json!(["two", "two"]));
        assert!(caption(&drawn).contains("Fewer than 5 values"));
    }

    /// Three models in one series were three blue dots that nobody could tell apart.
    #[test]
    fn models_that_share_a_series_have_colours_of_their_own() {
        let subjects = ["a", "b", "c"].map(|label| crate::subject::Subject {
            run: 0,
            model: format!("hf/{label}"),
            label: label.into(),
        });
        let of = |model: &str, label: &str| Point {
            x: 1.0,
            label: label.into(),
            samples: (!model.is_empty()).then(|| format!("{model}|t/x|sense=sight")),
            ..Point::default()
        };
        let own = |kind, points| {
            let mut drawn = figure(kind, points);
            drawn.series[0].name = "models".into();
            drawn.series[0].published = false;
            // What stands beside them takes a colour that none of them has.
            drawn.series.push(Series {
                name: "of the paper".into(),
                published: true,
                points: vec![],
            });
            let palette = Palette::new(&subjects, std::iter::once(&drawn));
            assert_eq!(palette.color("of the paper", 0).color, 4);
            spec(&drawn, &palette)
        };
        let boxes = own(
            FigureKind::Box,
            vec![
                of("a", "sight"),
                of("hf/b", "sight"),
                of("c", "sight"),
                of("a", "touch"),
            ],
        );
        let scatter = own(
            FigureKind::Scatter { fit: true },
            vec![of("", "a (k = 4)"), of("", "b"), of("", "c (k = 2)")],
        );
        for drawn in [boxes, scatter] {
            let traces = drawn["traces"].as_array().unwrap().iter();
            let dots: Vec<&Value> = traces.filter(|t| t["meta"]["kind"] != "fit").collect();
            let names: Vec<&str> = dots.iter().map(|t| t["name"].as_str().unwrap()).collect();
            assert_eq!(names, ["a", "b", "c"]);
            for (place, trace) in dots.iter().enumerate() {
                assert_eq!(trace["meta"]["color"], place);
                assert_eq!(trace["meta"]["model"], true);
            }
            assert_eq!(drawn["layout"]["showlegend"], true);
        }
    }
}
