//! The one learner behind every baseline: how much more often than usual a class comes with each
//! feature, added up in log-odds (naive Bayes by lifts), smoothed towards no effect.

/// Counts of features by class. Features are numbers; their names are kept elsewhere.
#[derive(Debug, Default)]
pub(crate) struct Lifts {
    classes: usize,
    totals: Vec<f64>,
    counts: Vec<f64>,
}

/// How strongly a feature seen once is pulled towards no effect.
const SMOOTHING: f64 = 1.0;

impl Lifts {
    pub(crate) fn new(features: usize, classes: usize) -> Self {
        Self {
            classes,
            totals: vec![0.0; classes],
            counts: vec![0.0; features * classes],
        }
    }

    /// Learns one case; with a weight of -1 forgets it.
    pub(crate) fn add(&mut self, features: &[u32], class: usize, weight: f64) {
        if let Some(total) = self.totals.get_mut(class) {
            *total += weight;
        }
        for feature in features {
            let place = *feature as usize * self.classes + class;
            if let Some(count) = self.counts.get_mut(place) {
                *count += weight;
            }
        }
    }

    fn share(&self, class: usize) -> f64 {
        let all: f64 = self.totals.iter().sum();
        // One imaginary case for each class keeps every share away from 0 and 1.
        (self.totals.get(class).copied().unwrap_or(0.0) + 1.0) / (all + self.classes as f64)
    }

    fn counts(&self, feature: u32) -> &[f64] {
        let start = feature as usize * self.classes;
        self.counts.get(start..start + self.classes).unwrap_or(&[])
    }

    /// Smoothed share of the class among cases with each feature.
    fn rates(&self, features: &[u32], class: usize) -> impl Iterator<Item = f64> {
        let share = self.share(class);
        features.iter().map(move |feature| {
            let counts = self.counts(*feature);
            let all: f64 = counts.iter().sum();
            let own = counts.get(class).copied().unwrap_or(0.0);
            (own + SMOOTHING * share) / (all + SMOOTHING)
        })
    }

    /// Log of the class's share and of how much these features raise it.
    pub(crate) fn log_share(&self, features: &[u32], class: usize) -> f64 {
        let share = self.share(class);
        share.ln() + log_product(self.rates(features, class).map(|r| r / share))
    }

    /// How much these features raise the log-odds of the class; 0 when nothing is known.
    pub(crate) fn log_odds(&self, features: &[u32], class: usize) -> f64 {
        let share = self.share(class);
        let usual = (1.0 - share) / share;
        log_product(self.rates(features, class).map(|r| r / (1.0 - r) * usual))
    }

    /// Features that go with a class more or less often than usual; the most telling first.
    pub(crate) fn telling(&self) -> Vec<Telling> {
        let mut found: Vec<Telling> = Vec::new();
        for feature in 0..(self.counts.len() / self.classes.max(1)) as u32 {
            let counts = self.counts(feature);
            let seen: f64 = counts.iter().sum();
            for (class, &with_class) in counts.iter().enumerate() {
                let share = self.share(class);
                let deviation = (seen * share * (1.0 - share)).sqrt();
                if seen >= 3.0 && deviation > 0.0 {
                    found.push(Telling {
                        feature,
                        class,
                        seen,
                        with_class,
                        expected: seen * share,
                        z: (with_class - seen * share) / deviation,
                    });
                }
            }
        }
        found.sort_by(|a, b| (b.z.abs().total_cmp(&a.z.abs())).then(a.feature.cmp(&b.feature)));
        found
    }
}

/// The sum of logarithms, taken of products: most of an audit's time went into taking each by itself.
fn log_product(factors: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut product) = (0.0, 1.0_f64);
    for factor in factors {
        product *= factor;
        // Long before a product is too small or too large for a number.
        if !(1e-100..1e100).contains(&product) {
            sum += product.ln();
            product = 1.0;
        }
    }
    sum + product.ln()
}

/// A feature that goes with a class more or less often than it should.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Telling {
    pub(crate) feature: u32,
    pub(crate) class: usize,
    pub(crate) seen: f64,
    pub(crate) with_class: f64,
    pub(crate) expected: f64,
    pub(crate) z: f64,
}
