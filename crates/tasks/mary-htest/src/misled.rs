//! What came of chains of thought that people marked as misled, and of the others. Apart from the form and the
//! table of `reasoning.rs`, since the A/B tasks themselves ask for it.

use mary_contract::{Estimate, Measure, Sample};
use mary_stats::score_interval;

/// What a chain of thought went by, marked by people, beside what came of it (the paper's Table 3 shows one).
pub(super) const MISLED: &str = "misled_by_people";

/// Scores of chains that people found misled and of the others, for the measures of a run.
pub(super) fn by_reasoning(samples: &mut dyn Iterator<Item = Sample>) -> Vec<Measure> {
    let mut parts: [Vec<f64>; 2] = Default::default();
    for sample in samples {
        let misled = sample.judgement.measures.get(MISLED);
        // An answer that could not be read is wrong here, as in the paper's accuracy.
        let score = sample.judgement.score().unwrap_or(0.0);
        if let Some(misled) = misled {
            let [straight, astray] = &mut parts;
            if *misled > 0.5 { astray } else { straight }.push(score);
        }
    }
    let measure = |(name, scores): (&str, Vec<f64>)| {
        let found = score_interval(&scores, None).ok()?;
        let bounds = (found.low, found.high);
        let estimate = Estimate::new(found.value, bounds, found.n, found.method);
        Some(Measure::new(format!("accuracy[misled={name}]"), estimate))
    };
    let named = ["no", "yes"].into_iter().zip(parts);
    named.filter_map(measure).collect()
}
