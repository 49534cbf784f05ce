//! LLaVA 1.6: tiles laid together, padding cut off, and a row at the end of every line.

/// The rows of a picture in tiles of `side` by `side` rows, of which the first is the whole picture.
pub(super) fn pack(
    rows: &[f32],
    width: usize,
    side: usize,
    (original, tiles): ((usize, usize), (usize, usize)),
    newline: &[f32],
) -> Vec<f32> {
    let each = side * side * width;
    let (whole, rest) = rows.split_at(each.min(rows.len()));
    let mut out = whole.to_vec();
    let (down, across) = (tiles.0 * side, tiles.1 * side);
    let (top, left) = padding(original, (down, across));
    for y in top..down - top {
        for x in left..across - left {
            let tile = (y / side) * tiles.1 + x / side;
            let at = (tile * side * side + (y % side) * side + x % side) * width;
            out.extend_from_slice(rest.get(at..at + width).unwrap_or_default());
        }
        out.extend_from_slice(newline);
    }
    out
}

fn padding((height, width): (usize, usize), (down, across): (usize, usize)) -> (usize, usize) {
    // Rounded to seven digits, as the reference does, so that a whole number stays one.
    let whole = |x: f64| ((x * 1e7).round_ties_even() / 1e7) as usize;
    let (h, w) = (height as f64, width as f64);
    if w / h > across as f64 / down as f64 {
        let inner = whole(h * (across as f64 / w));
        (down.saturating_sub(inner) / 2, 0)
    } else {
        let inner = whole(w * (down as f64 / h));
        (0, across.saturating_sub(inner) / 2)
    }
}
