//! Pictures of any resolution: LLaVA 1.6's tiles, Idefics3's splitting and Qwen2-VL's own resolution.

use super::{Layout, Prepared, Processor, Size, View};
use crate::pictures::decode::bounded;
use crate::pictures::{Picture, VisionError, resize};

/// Tiles of one picture at most.
const MOST_TILES: usize = 1024;

fn shape(picture: &Picture, why: impl Into<String>) -> VisionError {
    VisionError::Shape {
        width: picture.width(),
        height: picture.height(),
        why: why.into(),
    }
}

/// A picture of Idefics3 that is not cut.
fn uncut(view: View) -> Prepared {
    Prepared {
        views: vec![view],
        layout: Layout::Split {
            rows: 0,
            columns: 0,
        },
    }
}

/// LLaVA 1.6: the picture as a whole, and its tiles.
pub(super) fn any_resolution(
    by: &Processor,
    picture: &Picture,
    areas: &[(usize, usize)],
) -> Result<Prepared, VisionError> {
    let s = &by.settings;
    let original = (picture.height(), picture.width());
    let (height, width) =
        best(original, areas).ok_or_else(|| shape(picture, "no area of tiles suits it"))?;
    let whole = match s.size {
        Some(Size::Exact(height, width)) => (height, width),
        Some(Size::Shortest(edge)) => (edge, edge),
        None => return Err(shape(picture, "the processor names no size")),
    };
    let side = s.crop.map_or(whole.0, |(side, _)| side);
    if (height.div_ceil(side)).saturating_mul(width.div_ceil(side)) > MOST_TILES {
        return Err(shape(picture, "it would be cut into more than 1024 tiles"));
    }
    let (inner_height, inner_width) = fitting(original, (height, width));
    let inner = by.resized(picture, inner_height, inner_width)?;
    let (left, top) = ((width - inner_width) / 2, (height - inner_height) / 2);
    let area = inner.window(-(left as isize), -(top as isize), width, height);
    let mut pictures = vec![by.resized(picture, whole.0, whole.1)?];
    for y in (0..height).step_by(side) {
        for x in (0..width).step_by(side) {
            let (w, h) = (side.min(width - x), side.min(height - y));
            pictures.push(area.window(x as isize, y as isize, w, h));
        }
    }
    let views: Result<Vec<_>, _> = pictures.iter().map(|p| by.plain(p)).collect();
    Ok(Prepared {
        views: views?,
        layout: Layout::Tiles {
            original,
            area: (height, width),
        },
    })
}

/// The area that keeps most of the picture and wastes least.
fn best((height, width): (usize, usize), areas: &[(usize, usize)]) -> Option<(usize, usize)> {
    let mut best = None;
    let (mut most_kept, mut least_wasted) = (0, usize::MAX);
    for &(h, w) in areas {
        let scale = (w as f64 / width as f64).min(h as f64 / height as f64);
        let scaled = |side: usize| (side as f64 * scale) as usize;
        let kept = (scaled(width) * scaled(height)).min(width * height);
        let wasted = (w * h).saturating_sub(kept);
        if kept > most_kept || (kept == most_kept && wasted < least_wasted) {
            (most_kept, least_wasted) = (kept, wasted);
            best = Some((h, w));
        }
    }
    best
}

/// The largest height and width of the picture's ratio inside an area.
fn fitting((height, width): (usize, usize), (h, w): (usize, usize)) -> (usize, usize) {
    let across = w as f64 / width as f64;
    let down = h as f64 / height as f64;
    if across < down {
        (((height as f64 * across).ceil() as usize).min(h), w)
    } else {
        (h, ((width as f64 * down).ceil() as usize).min(w))
    }
}

/// Longest side that Idefics3 ever makes.
const IDEFICS_LONGEST: usize = 4096;

pub(super) fn split(
    by: &Processor,
    picture: &Picture,
    (longest, side, cut): (usize, usize, bool),
) -> Result<Prepared, VisionError> {
    let (height, width) = idefics_size(picture.height(), picture.width(), longest);
    let sized = by.resized(picture, height, width)?;
    if !cut {
        return Ok(uncut(by.numbers(&by.resized(&sized, side, side)?)));
    }
    let ratio = width as f64 / height as f64;
    let up = |n: usize| n.div_ceil(side) * side;
    let (height, width) = if width >= height {
        let width = up(width);
        (up((width as f64 / ratio) as usize), width)
    } else {
        let height = up(height);
        (height, up((height as f64 * ratio) as usize))
    };
    // A side of nought has no tiles.
    let (height, width) = (height.max(side), width.max(side));
    bounded(width, height)?;
    let sized = by.resized(&sized, height, width)?;
    if height <= side && width <= side {
        return Ok(uncut(by.numbers(&sized)));
    }
    let (rows, columns) = (height / side, width / side);
    if rows * columns > MOST_TILES {
        let count = rows * columns;
        let why = format!("it would be cut into {count} tiles; at most {MOST_TILES} are");
        return Err(shape(picture, why));
    }
    let mut views = Vec::with_capacity(rows * columns + 1);
    for row in 0..rows {
        for column in 0..columns {
            let (x, y) = ((column * side) as isize, (row * side) as isize);
            views.push(by.numbers(&sized.window(x, y, side, side)));
        }
    }
    views.push(by.numbers(&resize(&sized, side, side, by.settings.filter)));
    Ok(Prepared {
        views,
        layout: Layout::Split { rows, columns },
    })
}

fn idefics_size(height: usize, width: usize, longest: usize) -> (usize, usize) {
    let even = |n: usize| n + n % 2;
    let ratio = width as f64 / height as f64;
    let (height, width) = if width >= height {
        (even((longest as f64 / ratio) as usize).max(1), longest)
    } else {
        (longest, even((longest as f64 * ratio) as usize).max(1))
    };
    let ratio = width as f64 / height as f64;
    let longest = IDEFICS_LONGEST as f64;
    if width >= height && width > IDEFICS_LONGEST {
        (((longest / ratio) as usize).max(1), IDEFICS_LONGEST)
    } else if height > width && height > IDEFICS_LONGEST {
        (IDEFICS_LONGEST, ((longest * ratio) as usize).max(1))
    } else {
        (height, width)
    }
}

/// The size nearest to the picture's own: sides are multiples of `factor`, pixels between the bounds.
pub(super) fn smart(
    picture: &Picture,
    factor: usize,
    fewest: usize,
    most: usize,
) -> Result<(usize, usize), VisionError> {
    let (height, width) = (picture.height() as f64, picture.width() as f64);
    if height.max(width) / height.min(width) > 200.0 {
        let why = "this processor takes sides whose ratio is at most 200";
        return Err(shape(picture, why));
    }
    let f = factor as f64;
    // Halves go to the even neighbour, as in Python.
    let near = |side: f64| (side / f).round_ties_even() * f;
    let (mut h, mut w) = (near(height), near(width));
    if h * w > most as f64 {
        let beta = (height * width / most as f64).sqrt();
        h = f.max((height / beta / f).floor() * f);
        w = f.max((width / beta / f).floor() * f);
    } else if h * w < fewest as f64 {
        let beta = (fewest as f64 / (height * width)).sqrt();
        h = (height * beta / f).ceil() * f;
        w = (width * beta / f).ceil() * f;
    }
    if h < f || w < f {
        let why = format!("a side is less than half a token of {factor} pixels");
        return Err(shape(picture, why));
    }
    Ok((h as usize, w as usize))
}
