//! From a run folder to vectors in the order of the file, and to the similarity of two columns.

use std::io;

use mary_contract::{LayerVector, Reply, Response, Task as _};
use mary_store::RunFolder;

use super::{ObserveTask, PoolOf};
use crate::texts::InstrumentError;
use crate::texts::material::sample_id;
use crate::texts::score::Text;
use crate::texts::table::{Cell, Head, Type};

/// The vectors of one pool of one text.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// What was averaged.
    pub pool: &'static str,
    /// One per layer, ascending; none where the text has no vector.
    pub layers: Vec<LayerVector>,
}

/// How alike the two texts of a pair are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Similarity {
    /// What was averaged.
    pub pool: &'static str,
    /// 0 is the embedding output.
    pub layer: usize,
    /// Cosine of the two vectors.
    pub cosine: f64,
}

/// For each text of a row, its pools.
pub(crate) fn of_answers(answers: &[Reply], pools: &[PoolOf]) -> Vec<Vec<Observation>> {
    let of = |reply: &Reply| match &reply.answer {
        Response::Observed(observed) => Some(
            pools
                .iter()
                .zip(&observed.pools)
                .map(|(pool, found)| Observation {
                    pool: pool.name(),
                    layers: found.layers.clone(),
                })
                .collect(),
        ),
        _ => None,
    };
    answers.iter().filter_map(of).collect()
}

/// Pool by pool and layer by layer; where a vector is all zeros there is no cosine.
pub(crate) fn compare(left: &[Observation], right: &[Observation]) -> Vec<Similarity> {
    let mut all = Vec::new();
    for (a, b) in left.iter().zip(right) {
        for (one, other) in a.layers.iter().zip(&b.layers) {
            if let Some(cosine) = cosine(&one.vector.0, &other.vector.0) {
                all.push(Similarity {
                    pool: a.pool,
                    layer: one.layer,
                    cosine,
                });
            }
        }
    }
    all
}

/// Cosine of two vectors of one length, where neither is all zeros.
pub(crate) fn cosine(a: &[f32], b: &[f32]) -> Option<f64> {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        a.iter()
            .zip(b)
            .map(|(&x, &y)| f64::from(x) * f64::from(y))
            .sum()
    };
    let length = (dot(a, a) * dot(b, b)).sqrt();
    (a.len() == b.len() && length > 0.0).then(|| (dot(a, b) / length).clamp(-1.0, 1.0))
}

/// Gets a text and, for each of its parts, its pools; `None` where it failed or is not answered yet.
pub type Visit<'a> =
    &'a mut dyn FnMut(&Text, Option<Vec<Vec<Observation>>>) -> Result<(), InstrumentError>;

/// The vectors of one model of a run, in the order of the file.
pub fn observations(
    task: &ObserveTask,
    folder: &RunFolder,
    model: &str,
    visit: Visit<'_>,
) -> Result<(), InstrumentError> {
    let logged = folder.finished_ids()?;
    let mut seeker = folder.seeker()?;
    for text in task.texts()? {
        let text = text?;
        let id = sample_id(model, &task.card().id, &text.id);
        let Some(offset) = logged.offset(&id)? else {
            visit(&text, None)?;
            continue;
        };
        let sample = seeker.sample(offset)?;
        let replies = sample.exchanges.into_iter().map(|e| e.reply.ok());
        let replies: Option<Vec<Reply>> = replies.collect();
        let found = replies.map(|r| of_answers(&r, &task.options().pools));
        let whole = found.filter(|f| {
            let vectors = f.iter().flatten();
            f.len() == text.parts.len() && vectors.clone().all(|o| !o.layers.is_empty())
        });
        visit(&text, whole)?;
    }
    Ok(())
}

/// The columns of a table of similarities.
pub fn similarity_head(task: &ObserveTask) -> Head {
    let mut head: Head = vec![("model".into(), Type::Text), ("id".into(), Type::Text)];
    head.extend(task.options().keep.iter().map(|k| (k.clone(), Type::Text)));
    head.extend([
        ("pool".into(), Type::Text),
        ("layer".into(), Type::Count),
        ("cosine".into(), Type::Number),
    ]);
    head
}

/// The similarities of all pairs of all models, row by row; says how many pairs have none.
pub fn similarities(
    task: &ObserveTask,
    folder: &RunFolder,
    sink: &mut dyn FnMut(Vec<Cell>) -> io::Result<()>,
) -> Result<usize, InstrumentError> {
    let mut without = 0;
    for card in &folder.manifest().models {
        let model = card.model.to_string();
        let called = card.label.as_deref().unwrap_or(&model);
        observations(task, folder, &model, &mut |text, found| {
            let Some([left, right]) = found.as_deref() else {
                without += 1;
                return Ok(());
            };
            for similarity in compare(left, right) {
                let mut cells = vec![called.into(), text.id.as_str().into()];
                cells.extend(text.kept.iter().map(|k| Cell::from(k.as_str())));
                cells.extend([
                    similarity.pool.into(),
                    similarity.layer.into(),
                    similarity.cosine.into(),
                ]);
                sink(cells).map_err(|source| InstrumentError::Write {
                    path: "table".into(),
                    source,
                })?;
            }
            Ok(())
        })?;
    }
    Ok(without)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cosines_are_of_equal_lengths_and_never_of_nothing() {
        assert_eq!(cosine(&[1.0, 0.0], &[2.0, 0.0]), Some(1.0));
        assert_eq!(cosine(&[1.0, 0.0], &[0.0, 3.0]), Some(0.0));
        assert_eq!(cosine(&[0.0, 0.0], &[1.0, 0.0]), None);
        assert_eq!(cosine(&[1.0], &[1.0, 0.0]), None);
    }
}
