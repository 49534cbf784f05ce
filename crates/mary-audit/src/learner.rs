//! The one learner behind every baseline: how much more often than usual a class comes with each
//! feature, added up in log-odds (naive Bayes by lifts), smoothed towards no effect.

use std::collections::HashMap;

/// Counts of features by class.
#[derive(Debug, Default)]
pub(crate) struct Lifts<'a> {
    classes: usize,
    totals: Vec<f64>,
    counts: HashMap<&'a str, Vec<f64>>,
}

/// How strongly a feature seen once is pulled towards no effect.
const SMOOTHING: f64 = 1.0;

impl<'a> Lifts<'a> {
    pub(crate) fn new(classes: usize) -> Self {
        Self {
            classes,
            totals: vec![0.0; classes],
            counts: HashMap::new(),
        }
    }

    /// Learns one case.
    pub(crate) fn add(&mut self, features: &'a [String], class: usize) {
        if let Some(total) = self.totals.get_mut(class) {
            *total += 1.0;
        }
        for feature in features {
            let counts = self
                .counts
                .entry(feature)
                .or_insert_with(|| vec![0.0; self.classes]);
            if let Some(count) = counts.get_mut(class) {
                *count += 1.0;
            }
        }
    }

    /// Share of a class among all cases.
    fn share(&self, class: usize) -> f64 {
        let all: f64 = self.totals.iter().sum();
        // One imaginary case for each class keeps every share away from 0 and 1.
        (self.totals.get(class).copied().unwrap_or(0.0) + 1.0) / (all + self.classes as f64)
    }

    /// Log of how much more likely the class is with these features; 0 when nothing is known.
    pub(crate) fn log_lift(&self, features: &[String], class: usize) -> f64 {
        let share = self.share(class);
        features
            .iter()
            .filter_map(|feature| self.counts.get(feature.as_str()))
            .map(|counts| {
                let all: f64 = counts.iter().sum();
                let own = counts.get(class).copied().unwrap_or(0.0);
                let rate = (own + SMOOTHING * share) / (all + SMOOTHING);
                (rate / share).ln()
            })
            .sum()
    }

    /// Log-odds lift of the class against all others.
    pub(crate) fn log_odds(&self, features: &[String], class: usize) -> f64 {
        let share = self.share(class);
        features
            .iter()
            .filter_map(|feature| self.counts.get(feature.as_str()))
            .map(|counts| {
                let all: f64 = counts.iter().sum();
                let own = counts.get(class).copied().unwrap_or(0.0);
                let rate = (own + SMOOTHING * share) / (all + SMOOTHING);
                (rate / (1.0 - rate)).ln() - (share / (1.0 - share)).ln()
            })
            .sum()
    }

    /// Log of the class's share.
    pub(crate) fn log_share(&self, class: usize) -> f64 {
        self.share(class).ln()
    }

    /// Features with their counts by class and how far, in standard deviations, the class most
    /// affected is from its usual share; the most telling first.
    pub(crate) fn telling(&self) -> Vec<Telling<'a>> {
        let mut found: Vec<Telling<'a>> = Vec::new();
        for (&feature, counts) in &self.counts {
            let seen: f64 = counts.iter().sum();
            for class in 0..self.classes {
                let share = self.share(class);
                let right = counts.get(class).copied().unwrap_or(0.0);
                let deviation = (seen * share * (1.0 - share)).sqrt();
                if seen >= 3.0 && deviation > 0.0 {
                    found.push(Telling {
                        feature,
                        class,
                        seen,
                        with_class: right,
                        expected: seen * share,
                        z: (right - seen * share) / deviation,
                    });
                }
            }
        }
        found.sort_by(|a, b| {
            b.z.abs()
                .total_cmp(&a.z.abs())
                .then_with(|| a.feature.cmp(b.feature))
                .then_with(|| a.class.cmp(&b.class))
        });
        found
    }
}

/// A feature that goes with a class more or less often than it should.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Telling<'a> {
    pub(crate) feature: &'a str,
    pub(crate) class: usize,
    pub(crate) seen: f64,
    pub(crate) with_class: f64,
    pub(crate) expected: f64,
    pub(crate) z: f64,
}
