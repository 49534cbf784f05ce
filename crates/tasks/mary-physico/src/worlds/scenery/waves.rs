//! What several concepts draw: Waves: on a string, on a pond, through slits, from moving sources, from antennas.

use crate::grid::Grid;
use crate::worlds::draw::line;

/// The height of a wave at a step, with crests of two or three cells.
pub(crate) fn crest(step: i32, high: i32) -> i32 {
    const LOW: [i32; 8] = [0, 1, 2, 1, 0, -1, -2, -1];
    const HIGH: [i32; 10] = [0, 2, 3, 2, 0, -2, -3, -3, -2, 0];
    if high == 2 {
        LOW[step.rem_euclid(8) as usize]
    } else {
        HIGH[step.rem_euclid(10) as usize]
    }
}

/// A line through these heights over consecutive columns.
pub(crate) fn curve(g: &mut Grid, middle: i32, left: i32, heights: &[i32], colour: u8) {
    for (i, pair) in heights.windows(2).enumerate() {
        let c = left + i as i32;
        if let [a, b] = *pair {
            g.paint(line((middle - a, c), (middle - b, c + 1)), colour);
        }
    }
}
