//! What the authors' stored cosines say about which tokens they averaged. If the tokens of the whole
//! sentence were averaged, sentences that differ in one word are the more alike the longer they are; the
//! target word's own vectors do not depend on that. The paper does not say which it did.

use mary_embodied::upstream::{stored_cosines, triples_of};
use mary_stats::correlation::spearman_rho;

use crate::released::datasets;

#[test]
fn ten_language_models_were_averaged_over_sentences_and_four_smaller_ones_over_words() {
    use mary_contract::DataSource as _;
    let Some(data) = datasets("embodied") else {
        return;
    };
    let path = data
        .folder("embodied")
        .unwrap()
        .join("SensoryVec/SensoryVec_Dataset_with_Predictions.csv");
    let lengths: Vec<f64> = triples_of(&path)
        .unwrap()
        .iter()
        .map(|t| {
            let words = t.sentences.iter().map(|s| s.split_whitespace().count());
            words.sum::<usize>() as f64
        })
        .collect();
    assert_eq!(lengths.len(), 349);
    let (mut sentence, mut word) = (0, 0);
    for stored in stored_cosines(&path).unwrap() {
        let known = lengths.iter().zip(&stored.cosines);
        let (x, y): (Vec<f64>, Vec<f64>) = known
            .filter_map(|(length, c)| c.map(|(s, a)| (*length, (s + a) / 2.0)))
            .unzip();
        let rho = spearman_rho(&x, &y).unwrap();
        eprintln!(
            "{}: cosine and length of the sentences, rho {rho:+.2}",
            stored.model
        );
        // Nothing lies between the two kinds.
        assert!(!(0.2..0.35).contains(&rho), "{}: {rho}", stored.model);
        if rho >= 0.35 {
            sentence += 1;
        } else {
            assert!(rho.abs() < 0.2, "{}: {rho}", stored.model);
            word += 1;
        }
    }
    // Word2Vec, GloVe (no sentences at all), BERT, VisualBERT, GPT-2, CLIP; and the ten of 7 billion.
    assert_eq!((word, sentence), (6, 10));
}
