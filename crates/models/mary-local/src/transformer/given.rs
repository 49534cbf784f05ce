//! What goes into a pass, words or rows of pictures, and what a few families do to streams and heads on the way.

use std::borrow::Cow;

use super::{Batch, GateOf, Transformer, WorkOf};
use crate::config::Activation;
use crate::errors::{Result, bad_model, internal, too_long};
use crate::kernels::Backend;
use crate::vision::FIRST_SHOWN;

impl<B: Backend> Transformer<B> {
    /// The batch with words alone, and the rows that show pictures: those are looked up elsewhere, and the device's
    /// own table is not asked for them.
    pub(super) fn words<'b>(
        &self,
        batch: &'b Batch,
        work: &mut WorkOf<B>,
    ) -> Result<(Cow<'b, Batch>, Vec<usize>)> {
        self.check_tokens(batch, work)?;
        if let Some(source) = &self.architecture.source {
            let targets = self.sources(batch, source.start, work)?;
            return Ok((Cow::Owned(targets), vec![]));
        }
        let pictures: Vec<usize> = (0..batch.len())
            .filter(|&row| batch.tokens[row] >= FIRST_SHOWN)
            .collect();
        if pictures.is_empty() {
            return Ok((Cow::Borrowed(batch), pictures));
        }
        let word = |token: &u32| if *token < FIRST_SHOWN { *token } else { 0 };
        let reach = match &work.shown {
            Some(shown) if self.both_ways => {
                let rows = batch.tokens.iter().zip(&batch.positions);
                rows.map(|(&t, &p)| shown.reach(t, p)).collect()
            }
            _ => vec![],
        };
        work.shown_rows(&batch.tokens, &pictures);
        let words = Batch {
            tokens: batch.tokens.iter().map(word).collect(),
            reach,
            ..batch.clone()
        };
        Ok((Cow::Owned(words), pictures))
    }

    /// Every token and every position must have its vector.
    pub(super) fn check_tokens(&self, batch: &Batch, work: &WorkOf<B>) -> Result<()> {
        let a = &self.architecture;
        if self.layers.start > 0 {
            // They were looked up elsewhere.
            return Ok(());
        }
        let (words, pictures): (Vec<u32>, Vec<u32>) =
            batch.tokens.iter().partition(|&&t| t < FIRST_SHOWN);
        let shown = work.shown.as_ref().map_or(0, |s| s.rows());
        let beyond = |t: &&u32| (**t - FIRST_SHOWN) as usize >= shown;
        if let Some(row) = pictures.iter().find(beyond) {
            let message = format!("row {} of a picture was never shown", row - FIRST_SHOWN);
            return Err(internal(message));
        }
        let most = words.iter().max().map_or(0, |&t| t as usize);
        if most >= self.embed.rows {
            let vocab = a.vocab;
            let message = format!("token {most} lies outside the embedding of {vocab} rows");
            return Err(bad_model(message));
        }
        if let (Some(table), Some(offset)) = (&self.positions, a.embedding.position_offset) {
            let most = batch.positions.iter().max().copied().unwrap_or(0);
            if most + offset >= table.rows {
                let context = a.context;
                let message = format!("position {most} lies outside the learned {context}");
                return Err(too_long(message));
            }
        }
        Ok(())
    }

    /// The stream as an average of all that came before it, where a model takes one.
    pub(super) fn average(&self, part: usize, len: usize, work: &mut WorkOf<B>) {
        let Some(shares) = self.averages.get(part) else {
            return;
        };
        work.streams.push(self.backend.download(&work.x, len));
        let mut sum = vec![0.0; len];
        for (stream, share) in work.streams.iter().zip(shares) {
            sum.iter_mut()
                .zip(stream)
                .for_each(|(y, x)| *y += share * x);
        }
        self.backend.upload(&sum, &mut work.x);
    }

    /// What heads give, times its gate.
    pub(super) fn open_gate(&self, gate: &GateOf<B>, rows: usize, work: &mut WorkOf<B>) {
        let (b, of, width) = (&self.backend, work.extent(rows), self.heads().q_width());
        b.linear(&work.normed, of, &gate.linear, &mut work.wide, false);
        let gates = b.download(&work.wide, rows * width);
        let mut given = b.download(&work.attended, rows * width);
        let Some(norm) = &gate.norm else {
            let open = |x: f32| (1.0 + (-x).exp()).recip();
            given.iter_mut().zip(gates).for_each(|(y, x)| *y *= open(x));
            return b.upload(&given, &mut work.attended);
        };
        let both = gates.chunks_exact(width).zip(given.chunks_exact(width));
        let both: Vec<f32> = both.flat_map(|(g, x)| [g, x].concat()).collect();
        b.upload(&both, &mut work.wide);
        let shape = (width, true);
        b.activate(&work.wide, rows, shape, Activation::Gelu, &mut work.narrow);
        b.norm(&work.narrow, rows, norm, &mut work.attended);
    }
}
