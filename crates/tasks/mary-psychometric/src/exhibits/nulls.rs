//! What the figures of Table 4 are worth: each beside its level under meaningless labels, its level on
//! random vectors, its permutation p, and its value once what all numbers share is taken away.

use mary_contract::{ANISOTROPIC, Cell, Table, p_value};

use super::{DECLARED, TaskResult, cell, figure};

const SHOWN: [(&str, &str); 5] = [
    ("distance", "R², distance"),
    ("ratio", "R², ratio"),
    ("size", "R², size"),
    ("mds_correlation", "MDS correlation"),
    ("mds_stress", "MDS stress"),
];

/// One line for each model and figure; nothing for runs from before nulls were measured.
pub(super) fn table(all: &[TaskResult<'_>]) -> Option<Table> {
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
                measured("_p", name)
                    .map(|e| Cell::figure(p_value(e.value)))
                    .into(),
                cell(measured("_centred", name)),
                remark.into(),
            ]);
        }
    }
    DECLARED.rows("psychometric-table-4-nulls", rows)
}
