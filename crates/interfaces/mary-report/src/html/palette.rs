//! Which colour and form a name gets: the same in every figure of a page, and never that of another name in
//! the same figure. Colours are only numbered here; the page dresses them for light, dark and print.

use std::collections::BTreeMap;

use mary_contract::{Figure, FigureKind, Point, Series};

use crate::subject::Subject;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hue {
    pub color: usize,
    /// Whether it is a model's: the colours of checkpoints go from the first to the last.
    pub model: bool,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Palette {
    labels: Vec<String>,
    /// Every model by its label and by the name it was given.
    models: BTreeMap<String, usize>,
    others: BTreeMap<String, Hue>,
}

impl Palette {
    /// Models come first. Other names take the first colour that no name beside them has, in any figure
    /// that shows them; what is a model under some condition (`small (k = 4)`) its model's, where free.
    pub fn new<'a>(subjects: &[Subject], figures: impl Iterator<Item = &'a Figure>) -> Self {
        let mut palette = Self::default();
        for (place, subject) in subjects.iter().enumerate() {
            palette.labels.push(subject.label.clone());
            palette.models.insert(subject.label.clone(), place);
            palette.models.entry(subject.model.clone()).or_insert(place);
        }
        // The rows of a heat map have no colours of their own.
        let figures: Vec<Vec<String>> = figures
            .filter(|f| f.kind != FigureKind::Heatmap)
            .map(|f| palette.names_in(f))
            .collect();
        // Names that begin with a model's first, so that no other takes its colour.
        for models in [true, false] {
            for name in figures.iter().flatten() {
                if palette.hue(name).is_none() {
                    let beside = figures.iter().filter(|names| names.contains(name));
                    let taken: Vec<Hue> = beside.flatten().filter_map(|n| palette.hue(n)).collect();
                    // Counted together: number 2 of the models and number 2 of the others may look alike.
                    let free = |color: &usize| taken.iter().all(|hue| hue.color != *color);
                    let found = if models {
                        palette.model_in(name).filter(free)
                    } else {
                        (0..).find(free)
                    };
                    if let Some(color) = found {
                        let hue = Hue {
                            color,
                            model: models,
                        };
                        palette.others.insert(name.clone(), hue);
                    }
                }
            }
        }
        palette
    }

    /// The names of a figure: of its series, and of models that share one.
    fn names_in(&self, figure: &Figure) -> Vec<String> {
        let mut names: Vec<String> = figure.series.iter().map(|s| s.name.clone()).collect();
        // Curves and bars stay one whatever their points are.
        let apart = matches!(figure.kind, FigureKind::Box | FigureKind::Scatter { .. });
        for series in figure.series.iter().filter(|_| apart) {
            let models = self.sharing(series);
            names.extend(models.into_iter().map(|model| self.label(model).to_owned()));
        }
        names
    }

    /// The models whose results share a series of ours; none where they are one model's.
    pub fn sharing(&self, series: &Series) -> Vec<usize> {
        let of = series.points.iter().filter(|_| !series.published);
        let mut models: Vec<usize> = of.filter_map(|point| self.model_of(point)).collect();
        models.sort_unstable();
        models.dedup();
        match models.len() {
            0 | 1 => Vec::new(),
            _ => models,
        }
    }

    fn hue(&self, name: &str) -> Option<Hue> {
        match self.models.get(name) {
            Some(&color) => Some(Hue { color, model: true }),
            None => self.others.get(name).copied(),
        }
    }

    /// The model that a name begins with, alone or with what tells it apart: `small (k = 4)`.
    fn model_in(&self, name: &str) -> Option<usize> {
        let begins = |known: &str| {
            let rest = name.strip_prefix(known);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ',']))
        };
        let fitting = self.models.iter().filter(|(known, _)| begins(known));
        fitting
            .max_by_key(|(known, _)| known.len())
            .map(|(_, place)| *place)
    }

    /// The colour of a series; `place` is its place in the figure, for one that was never seen.
    pub fn color(&self, name: &str, place: usize) -> Hue {
        self.hue(name).unwrap_or(Hue {
            color: place,
            model: false,
        })
    }

    /// The model whose result a point is, by the samples behind it or by its label.
    pub fn model_of(&self, point: &Point) -> Option<usize> {
        let address = point.samples.as_deref().and_then(|s| s.split('|').next());
        let by_address = address.and_then(|model| self.models.get(model).copied());
        by_address.or_else(|| self.model_in(&point.label))
    }

    pub fn label(&self, model: usize) -> &str {
        self.labels.get(model).map_or("", String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use mary_contract::{Axis, Scale};

    use super::*;

    fn figure(names: &[&str]) -> Figure {
        let axis = || Axis {
            title: String::new(),
            scale: Scale::Linear,
            range: None,
        };
        let series = names.iter().map(|name| Series {
            name: (*name).to_owned(),
            published: false,
            points: vec![],
        });
        Figure {
            id: "f".into(),
            title: "F".into(),
            caption: String::new(),
            kind: FigureKind::Line,
            x: axis(),
            y: axis(),
            series: series.collect(),
            references: vec![],
            ranges: vec![],
        }
    }

    fn subjects(labels: &[&str]) -> Vec<Subject> {
        let subject = |label: &&str| Subject {
            run: 0,
            model: format!("hf/{label}"),
            label: (*label).to_owned(),
        };
        labels.iter().map(subject).collect()
    }

    #[test]
    fn names_keep_their_colour_and_never_share_one_in_a_figure() {
        let figures = [
            figure(&["human", "b"]),
            figure(&["layer 1", "layer 2"]),
            figure(&["layer 2", "human", "a"]),
            figure(&["hf/b (sum)", "b (mean)", "a (sum)"]),
        ];
        let palette = Palette::new(&subjects(&["a", "b"]), figures.iter());
        for figure in &figures {
            let names = figure.series.iter().map(|s| s.name.as_str());
            let mut colors: Vec<usize> = names.map(|n| palette.color(n, 0).color).collect();
            colors.sort_unstable();
            colors.dedup();
            assert_eq!(colors.len(), figure.series.len(), "{:?}", figure.series);
        }
        let model = |color: usize| Hue { color, model: true };
        assert_eq!(palette.color("b", 0), model(1));
        assert_eq!(palette.color("hf/b", 0), model(1));
        assert_eq!(
            (palette.color("a (sum)", 0), palette.color("hf/b (sum)", 0)),
            (model(0), model(1))
        );
        assert!(!palette.color("b (mean)", 0).model);
    }

    /// Two curves that are no checkpoints had the first two colours of thirteen checkpoints, both navy.
    #[test]
    fn curves_of_something_else_are_no_checkpoints() {
        let steps: Vec<String> = (0..13).map(|n| format!("nano@step{n}")).collect();
        let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
        let figures = [figure(&["learnt", "forgotten"])];
        let palette = Palette::new(&subjects(&steps), figures.iter());
        let found = ["learnt", "forgotten"].map(|name| palette.color(name, 0));
        assert!(found.iter().all(|hue| !hue.model), "{found:?}");
        assert_eq!(found.map(|hue| hue.color), [0, 1]);
    }
}
