//! What the readings of several concepts ask alike. Readings of waves on a line: shaken ropes, running and meeting humps.

use crate::grid::Grid;

/// The rows that a colour has in each column, from the first to the last column it has.
pub(crate) fn profile(grid: &Grid, colour: u8) -> Option<(i32, Vec<(i32, i32)>)> {
    let cells = grid.places_of(colour);
    let [_, l, _, r] = crate::worlds::readings::bounds(&cells)?;
    // First row, last row and number of cells.
    let mut seen = vec![(i32::MAX, i32::MIN, 0); (r - l + 1) as usize];
    for (row, c) in cells {
        let column = seen.get_mut((c - l) as usize)?;
        *column = (column.0.min(row), column.1.max(row), column.2 + 1);
    }
    if seen.iter().any(|&(a, b, n)| n == 0 || b - a + 1 != n) {
        return None;
    }
    let columns: Vec<(i32, i32)> = seen.iter().map(|&(a, b, _)| (a, b)).collect();
    // A line without a break.
    let joined = |w: &[(i32, i32)]| w[0].0 <= w[1].1 + 1 && w[1].0 <= w[0].1 + 1;
    columns.windows(2).all(joined).then_some((l, columns))
}

/// How far a line lies from its usual row in each column, on one side or the other.
pub(crate) fn heights(columns: &[(i32, i32)]) -> (i32, Vec<i32>) {
    let mut rows: Vec<i32> = columns.iter().filter(|c| c.0 == c.1).map(|c| c.0).collect();
    rows.sort_unstable();
    let usual = rows
        .iter()
        .copied()
        .max_by_key(|r| rows.iter().filter(|s| *s == r).count())
        .unwrap_or(0);
    let far = |&(a, b): &(i32, i32)| {
        if (a - usual).abs() > (b - usual).abs() {
            usual - a
        } else {
            usual - b
        }
    };
    (usual, columns.iter().map(far).collect())
}

/// The stretches of a line that are off its usual row.
pub(crate) fn humps(heights: &[i32]) -> Vec<(usize, Vec<i32>)> {
    let mut found: Vec<(usize, Vec<i32>)> = Vec::new();
    for (i, &h) in heights.iter().enumerate() {
        let goes_on = i > 0 && heights.get(i - 1).is_some_and(|b| b.signum() == h.signum());
        match found.last_mut() {
            _ if h == 0 => {}
            Some((_, hump)) if goes_on => hump.push(h),
            _ => found.push((i, vec![h])),
        }
    }
    found
}
