//! A solver of matrices that shares no code with their generator: it tries every value a candidate
//! could have and asks whether some rule, written out as a predicate on three whole rows, accepts it.

/// Whether three rows follow one of the four rules.
pub fn lawful(rows: &[[i32; 3]; 3]) -> bool {
    constant(rows) || progression(rows) || arithmetic(rows) || three(rows)
}

fn constant(rows: &[[i32; 3]; 3]) -> bool {
    rows.iter().all(|r| r.iter().all(|v| *v == r[0]))
}

fn progression(rows: &[[i32; 3]; 3]) -> bool {
    [-2, -1, 1, 2].iter().any(|step| {
        rows.iter()
            .all(|r| r[1] == r[0] + step && r[2] == r[0] + 2 * step)
    })
}

fn arithmetic(rows: &[[i32; 3]; 3]) -> bool {
    rows.iter().all(|r| r[2] == r[0] + r[1]) || rows.iter().all(|r| r[2] == r[0] - r[1])
}

fn three(rows: &[[i32; 3]; 3]) -> bool {
    let set = |r: &[i32; 3]| {
        let mut set = r.to_vec();
        set.sort_unstable();
        set.dedup();
        set
    };
    set(&rows[0]).len() == 3 && rows.iter().all(|r| set(r) == set(&rows[0]))
}

/// The candidates that complete every attribute lawfully. `shown` turns a level into the number on
/// which arithmetic is done.
pub fn answers(
    context: &[[i32; 3]],
    candidates: &[[i32; 3]],
    shown: impl Fn(usize, i32) -> i32,
) -> Vec<usize> {
    let fits = |candidate: &[i32; 3]| {
        (0..3).all(|attribute| {
            let at = |i: usize| shown(attribute, context[i][attribute]);
            let last = shown(attribute, candidate[attribute]);
            lawful(&[
                [at(0), at(1), at(2)],
                [at(3), at(4), at(5)],
                [at(6), at(7), last],
            ])
        })
    };
    (0..candidates.len())
        .filter(|&i| fits(&candidates[i]))
        .collect()
}

#[test]
fn the_solver_knows_the_rules() {
    assert!(lawful(&[[1, 1, 1], [4, 4, 4], [2, 2, 2]]));
    assert!(lawful(&[[1, 3, 5], [2, 4, 6], [0, 2, 4]]));
    assert!(lawful(&[[5, 2, 3], [4, 4, 0], [9, 1, 8]]));
    assert!(lawful(&[[1, 2, 5], [2, 5, 1], [5, 1, 2]]));
    assert!(!lawful(&[[1, 2, 5], [2, 5, 1], [5, 1, 5]]));
    assert!(!lawful(&[[1, 1, 1], [4, 4, 4], [2, 2, 3]]));
}
