//! The laboratory's statistics on numbers of one's own.

use mary_stats::difference::{ScoreRange, compare};
use pyo3::prelude::*;

use crate::trouble::exception;
use crate::{Args, Given, came, give};

/// The difference of two columns of scores on the same items, as JSON.
pub(crate) fn paired(args: Args<'_, '_>) -> Given {
    let (first, second, clusters, unit): (Vec<f64>, Vec<f64>, Option<Vec<usize>>, bool) =
        args.extract()?;
    let py = args.py();
    let range = if unit {
        ScoreRange::Unit
    } else {
        ScoreRange::Unbounded
    };
    let found = py.detach(|| compare(&first, &second, clusters.as_deref(), range));
    let found = found.map_err(|e| exception(py, "usage", &e.to_string(), None, None))?;
    let text = serde_json::to_string(&found).map_err(Into::into);
    give(py, came(py, text)?)
}
