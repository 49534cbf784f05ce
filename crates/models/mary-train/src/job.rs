//! What is trained and how, wherever it is computed.

use std::ops::Range;

use crate::net::{AdapterLayout, Frozen, Net, Parameters, Stored};
use crate::optimizer::{AdamW, Moments};

pub(crate) struct TrainingJob {
    pub(crate) net: Net,
    pub(crate) base: Vec<f32>,
    /// The matrices of the base as they are stored, where they are not in `base`.
    pub(crate) stored: Option<Stored>,
    /// Where there is an adapter, it alone is trained.
    pub(crate) adapter: Option<(AdapterLayout, Vec<f32>)>,
    pub(crate) moments: Moments,
    pub(crate) optimizer: AdamW,
    /// Places of what is trained, with their weight decay.
    pub(crate) groups: Vec<(Range<usize>, f64)>,
}

impl TrainingJob {
    pub(crate) fn parameters<'a>(
        &'a self,
        transposed: &'a [f32],
        frozen: Option<&'a Frozen>,
        noise: Option<u64>,
    ) -> Parameters<'a> {
        let adapter = self.adapter.as_ref();
        Parameters {
            base: &self.base,
            stored: self.stored.as_ref(),
            transposed: (!transposed.is_empty()).then_some(transposed),
            frozen,
            adapter: adapter.map(|(table, values)| (table, values.as_slice(), noise)),
        }
    }
}
