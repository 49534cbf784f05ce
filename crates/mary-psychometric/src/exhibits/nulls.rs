//! What the figures of Table 4 are worth: each beside its level under meaningless labels, its level on
//! random vectors, its permutation p, and its value once what all numbers share is taken away.

use mary_contract::{ANISOTROPIC, NumberColumns, Table};

use super::tables::heads;
use super::{Found, cell, figure};

/// Figure and its name in the table.
const SHOWN: [(&str, &str); 5] = [
    ("distance", "R², distance"),
    ("ratio", "R², ratio"),
    ("size", "R², size"),
    ("mds_correlation", "MDS correlation"),
    ("mds_stress", "MDS stress"),
];

/// One line for each model and figure; nothing for runs from before nulls were measured.
pub(super) fn table(all: &[Found<'_>]) -> Option<Table> {
    let mut rows = Vec::new();
    for f in all.iter().filter(|f| f.task() == "numbers") {
        let measured = |suffix: &str, name: &str| f.measure(&format!("{name}{suffix}"));
        if measured("_noise", "distance").is_none() {
            continue;
        }
        let alike = f.measure(ANISOTROPIC).map_or(0.0, |e| e.value);
        for (name, shown) in SHOWN {
            let remark = if alike > 0.0 && name == "distance" {
                format!("all cosines above 0.99 in {:.0} % of layers", 100.0 * alike)
            } else {
                String::new()
            };
            rows.push(vec![
                f.model().into(),
                shown.into(),
                cell(f.measure(name)),
                figure(measured("_null", name)),
                figure(measured("_noise", name)),
                figure(measured("_p", name)),
                cell(measured("_centred", name)),
                remark.into(),
            ]);
        }
    }
    (!rows.is_empty()).then(|| Table {
        id: "psychometric-table-4-nulls".into(),
        title: "Numbers: what the effects are worth".into(),
        caption: "Every figure of Table 4, with the range of its formats, beside its mean when the numbers' labels are dealt out anew over \
                  the same vectors, and its mean on random vectors of the same length (no rotation changes \
                  those). p: one-sided permutation test of R² taken with the sign people show, over the \
                  mean of the layers, for the format that shows it least; R² alone has no sign, and over \
                  eight sizes cannot reach p < 0.05. Centred: the mean vector of the numbers taken away, \
                  which is the value to read where all cosines are close to one. Stress does not depend on \
                  labels."
            .into(),
        head: heads(&[
            "model",
            "figure",
            "measured",
            "labels permuted",
            "random vectors",
            "p",
            "centred",
            "remark",
        ]),
        rows,
        published: vec![],
        numbers: NumberColumns::At(vec![2, 3, 4, 5, 6]),
    })
}
