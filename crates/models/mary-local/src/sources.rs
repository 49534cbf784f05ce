//! What the encoder of an encoder-decoder makes of sources: each is read once for a window of requests, however many
//! answers are asked for.

use std::collections::HashMap;

use mary_contract::Prompt;

use crate::batch::together;
use crate::errors::Result;
use crate::kernels::Groups;
use crate::model::LocalModel;
use crate::text::Reader;
use crate::transformer::{Batch, Watch};
use crate::vision::PictureRows;

/// Their last hidden states, and the token that stands for each. A prompt that cannot be read, or is too long, is
/// left out: it is refused when its request is read.
pub(crate) fn read<'p>(
    model: &LocalModel,
    prompts: impl Iterator<Item = (&'p Prompt, bool)>,
) -> Result<(PictureRows, HashMap<Vec<u32>, u32>)> {
    let reader = Reader::new(model.checkpoint());
    let read = prompts.filter_map(|(prompt, as_ids)| reader.source(prompt, as_ids).ok());
    let mut all: Vec<Vec<u32>> = read.collect();
    all.sort_unstable();
    all.dedup();
    let encoder = model.observed().architecture();
    all.retain(|tokens| tokens.len() <= encoder.context);
    let mut shown = PictureRows::new(encoder.hidden, false);
    let mut named = HashMap::new();
    let mut rest = all.as_slice();
    while !rest.is_empty() {
        let count = together(rest, model.chunk_rows(), Vec::len);
        let (now, later) = rest.split_at(count);
        rest = later;
        let states = model.install(|| states(model, now))?;
        let mut from = 0;
        for tokens in now {
            let end = from + tokens.len() * encoder.hidden;
            named.insert(tokens.clone(), shown.add(&states[from..end], None));
            from = end;
        }
    }
    Ok((shown, named))
}

fn states(model: &LocalModel, sources: &[Vec<u32>]) -> Result<Vec<f32>> {
    let mut batch = Batch::default();
    for tokens in sources {
        let slot = batch.len();
        batch.push(tokens, &[], slot);
    }
    let mut session = model.session_on(model.observed(), batch.len())?;
    let mut groups = Groups::default();
    (0..batch.len()).for_each(|row| groups.push(std::iter::once(row)));
    let mut states = vec![];
    let mut keep = |_: usize, rows: &[f32]| states = rows.to_vec();
    let watch = Watch::Means {
        groups: &groups,
        layers: &[model.observed().architecture().layers],
        visit: &mut keep,
    };
    session.forward(&batch, Some(watch))?;
    Ok(states)
}
