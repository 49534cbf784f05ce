//! Pictures beside the questions: a list of filled outlines on white paper, turned into a PNG when
//! a model is to see it. Nothing here knows what a picture means.

use mary_contract::{Image, TaskError};
use mary_generators::glyphs::outline;
use mary_generators::{Packing, Picture};

/// A place on the paper, from the upper left corner, in dots.
pub type Spot = [f64; 2];
pub type Paint = [u8; 3];

pub const WIDTH: usize = 512;
pub const BLACK: Paint = [20, 20, 20];
pub const GREY: Paint = [150, 150, 150];
pub const PAPER: Paint = [232, 226, 208];
pub const FLAP: Paint = [198, 186, 150];
pub const RED: Paint = [200, 40, 40];

/// Fine dots along the side of a dot: edges come out smooth.
const FINE: usize = 3;

/// Something filled with one colour. Drawn only when the picture is wanted.
#[derive(Debug, Clone, PartialEq)]
struct Fill {
    form: Form,
    paint: Paint,
}

#[derive(Debug, Clone, PartialEq)]
enum Form {
    Polygon(Vec<Spot>),
    Disc(Spot, f64),
    /// A glyph with the middle of its ink at a place, and its dots per em.
    Glyph(char, Spot, f64),
    Row(Vec<char>, f64, f64),
}

/// A picture as it is built up, last fill on top.
#[derive(Debug, Clone, PartialEq)]
pub struct Sketch {
    height: usize,
    fills: Vec<Fill>,
}

impl Sketch {
    pub fn new(height: usize) -> Self {
        Self {
            height,
            fills: Vec::new(),
        }
    }

    pub fn polygon(&mut self, points: &[Spot], paint: Paint) {
        self.push(Form::Polygon(points.to_vec()), paint);
    }

    fn push(&mut self, form: Form, paint: Paint) {
        self.fills.push(Fill { form, paint });
    }

    pub fn rect(&mut self, from: Spot, to: Spot, paint: Paint) {
        let points = [from, [to[0], from[1]], to, [from[0], to[1]]];
        self.polygon(&points, paint);
    }

    pub fn disc(&mut self, centre: Spot, radius: f64, paint: Paint) {
        self.push(Form::Disc(centre, radius), paint);
    }

    pub fn line(&mut self, from: Spot, to: Spot, thick: f64, paint: Paint) {
        let (dx, dy) = (to[0] - from[0], to[1] - from[1]);
        let long = dx.hypot(dy).max(1e-9);
        let (nx, ny) = (-dy / long * thick / 2.0, dx / long * thick / 2.0);
        let points = [
            [from[0] + nx, from[1] + ny],
            [to[0] + nx, to[1] + ny],
            [to[0] - nx, to[1] - ny],
            [from[0] - nx, from[1] - ny],
        ];
        self.polygon(&points, paint);
    }

    pub fn dashes(&mut self, from: Spot, to: Spot, thick: f64, paint: Paint) {
        let long = (to[0] - from[0]).hypot(to[1] - from[1]);
        let pieces = (long / 14.0).ceil().max(1.0);
        let at = |t: f64| [0, 1].map(|axis| from[axis] + (to[axis] - from[axis]) * t);
        for piece in 0..pieces as usize {
            let start = piece as f64 / pieces;
            self.line(at(start), at(start + 0.6 / pieces), thick, paint);
        }
    }

    pub fn ring(&mut self, points: &[Spot], thick: f64, paint: Paint) {
        let next = points.iter().cycle().skip(1);
        for (a, b) in points.iter().zip(next) {
            self.line(*a, *b, thick, paint);
            self.disc(*a, thick / 2.0, paint);
        }
    }

    pub fn arrow(&mut self, from: Spot, to: Spot, thick: f64, paint: Paint) {
        let (dx, dy) = (to[0] - from[0], to[1] - from[1]);
        let long = dx.hypot(dy).max(1e-9);
        let (ux, uy) = (dx / long, dy / long);
        let head = 4.5 * thick;
        let neck = [to[0] - ux * head, to[1] - uy * head];
        self.line(from, neck, thick, paint);
        let wing = 2.2 * thick;
        let points = [
            to,
            [neck[0] - uy * wing, neck[1] + ux * wing],
            [neck[0] + uy * wing, neck[1] - ux * wing],
        ];
        self.polygon(&points, paint);
    }

    /// A glyph whose ink is centred on a place. One the font does not have leaves no mark.
    pub fn glyph_at(&mut self, symbol: char, centre: Spot, size: f64, paint: Paint) {
        self.push(Form::Glyph(symbol, centre, size), paint);
    }

    pub fn row(&mut self, symbols: &[char], baseline: f64, size: f64) {
        self.push(Form::Row(symbols.to_vec(), baseline, size), BLACK);
    }

    pub fn png(&self) -> Result<Image, TaskError> {
        let mut fine = vec![[255u8; 3]; WIDTH * FINE * self.height * FINE];
        for Fill { form, paint } in &self.fills {
            fill_in(&form.contours(), *paint, &mut fine, self.height * FINE);
        }
        let dot = |x, y| average(&fine, x as usize, y as usize);
        let picture = Picture::from_fn(WIDTH as u32, self.height as u32, dot);
        let data = picture.png(Packing::Filtered);
        let failed = |e| TaskError::Generator(format!("a picture could not be written: {e}"));
        Ok(Image::png(data.map_err(failed)?))
    }
}

/// The corners of a regular polygon; the first lies `turn` radians clockwise from the top.
pub fn regular(centre: Spot, radius: f64, corners: usize, turn: f64) -> Vec<Spot> {
    let corner = |i: usize| {
        let angle = std::f64::consts::TAU * i as f64 / corners as f64 + turn;
        [
            centre[0] + radius * angle.sin(),
            centre[1] - radius * angle.cos(),
        ]
    };
    (0..corners).map(corner).collect()
}

pub fn bounds(symbol: char) -> Option<(Spot, Spot)> {
    let contours = outline(symbol)?;
    let mut low = [f64::INFINITY; 2];
    let mut high = [f64::NEG_INFINITY; 2];
    for point in contours.iter().flatten() {
        for axis in 0..2 {
            low[axis] = low[axis].min(point[axis]);
            high[axis] = high[axis].max(point[axis]);
        }
    }
    (low[0] <= high[0]).then_some((low, high))
}

impl Form {
    /// Closed lines; inside is where they wind around a point.
    fn contours(&self) -> Vec<Vec<Spot>> {
        match self {
            Self::Polygon(points) => vec![points.clone()],
            Self::Disc(centre, radius) => vec![regular(*centre, *radius, 96, 0.0)],
            Self::Glyph(symbol, centre, size) => match bounds(*symbol) {
                Some((low, high)) => {
                    let at = [
                        centre[0] - (low[0] + high[0]) / 2.0 * size,
                        centre[1] + (low[1] + high[1]) / 2.0 * size,
                    ];
                    glyph(*symbol, at, *size)
                }
                None => Vec::new(),
            },
            Self::Row(symbols, baseline, size) => row(symbols, *baseline, *size),
        }
    }
}

fn glyph(symbol: char, at: Spot, size: f64) -> Vec<Vec<Spot>> {
    let place = |p: &Spot| [at[0] + p[0] * size, at[1] - p[1] * size];
    let placed = |contour: &Vec<Spot>| contour.iter().map(place).collect();
    let strokes = outline(symbol).unwrap_or_default();
    strokes.iter().map(placed).collect()
}

fn row(symbols: &[char], baseline: f64, size: f64) -> Vec<Vec<Spot>> {
    let boxes: Vec<(Spot, Spot)> = symbols.iter().filter_map(|s| bounds(*s)).collect();
    let gap = 0.3 * size;
    let widths = boxes.iter().map(|(low, high)| (high[0] - low[0]) * size);
    let ink: f64 = widths.sum();
    let total = ink + gap * (symbols.len() as f64 - 1.0);
    let mut x = (WIDTH as f64 - total) / 2.0;
    let mut contours = Vec::new();
    for (symbol, (low, high)) in symbols.iter().zip(boxes) {
        contours.extend(glyph(*symbol, [x - low[0] * size, baseline], size));
        x += (high[0] - low[0]) * size + gap;
    }
    contours
}

/// Row by row: where the outline is crossed, and which way.
fn fill_in(contours: &[Vec<Spot>], paint: Paint, fine: &mut [Paint], rows: usize) {
    let wide = WIDTH * FINE;
    let scale = FINE as f64;
    let heights = || contours.iter().flatten().map(|p| p[1] * scale);
    let top = heights().fold(f64::INFINITY, f64::min);
    let bottom = heights().fold(0.0, f64::max);
    for row in (top.max(0.0) as usize)..(bottom.ceil().max(0.0) as usize).min(rows) {
        let y = (row as f64 + 0.5) / scale;
        let mut crossings = crossings(contours, y);
        crossings.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut winding = 0;
        for pair in crossings.windows(2) {
            let [(from, way), (to, _)] = pair else {
                continue;
            };
            winding += way;
            if winding == 0 {
                continue;
            }
            let start = ((from * scale - 0.5).ceil().max(0.0) as usize).min(wide);
            let end = ((to * scale - 0.5).ceil().max(0.0) as usize).min(wide);
            if let Some(span) = fine.get_mut(row * wide + start..row * wide + end.max(start)) {
                span.fill(paint);
            }
        }
    }
}

fn crossings(contours: &[Vec<Spot>], y: f64) -> Vec<(f64, i32)> {
    let mut found = Vec::new();
    for contour in contours {
        let next = contour.iter().cycle().skip(1);
        for (a, b) in contour.iter().zip(next) {
            if (a[1] <= y) != (b[1] <= y) {
                let t = (y - a[1]) / (b[1] - a[1]);
                let way = if a[1] <= y { 1 } else { -1 };
                found.push((a[0] + (b[0] - a[0]) * t, way));
            }
        }
    }
    found
}

fn average(fine: &[Paint], x: usize, y: usize) -> Paint {
    let mut sum = [0usize; 3];
    for row in y * FINE..(y + 1) * FINE {
        let start = row * WIDTH * FINE + x * FINE;
        for dot in fine.get(start..start + FINE).unwrap_or_default() {
            for (total, part) in sum.iter_mut().zip(dot) {
                *total += usize::from(*part);
            }
        }
    }
    sum.map(|s| (s / (FINE * FINE)) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dots(sketch: &Sketch) -> Picture {
        let png = sketch.png().unwrap();
        Picture::from_png(&png.data).unwrap()
    }

    #[test]
    fn a_patch_has_exactly_its_colour_and_the_ground_is_white() {
        let mut sketch = Sketch::new(64);
        sketch.rect([10.0, 10.0], [40.0, 50.0], [1, 2, 3]);
        let picture = dots(&sketch);
        assert_eq!((picture.width(), picture.height()), (512, 64));
        assert_eq!(picture.get(10, 10), Some([1, 2, 3]));
        assert_eq!(picture.get(39, 49), Some([1, 2, 3]));
        assert_eq!(picture.get(40, 49), Some([255; 3]));
        assert_eq!(picture.get(9, 10), Some([255; 3]));
    }

    #[test]
    fn a_glyph_keeps_its_holes() {
        let mut sketch = Sketch::new(256);
        sketch.glyph_at('O', [256.0, 128.0], 200.0, BLACK);
        let picture = dots(&sketch);
        assert_eq!(picture.get(256, 128), Some([255; 3]));
        let dark = picture.dots().filter(|dot| dot[0] < 128).count();
        assert!((2_000..20_000).contains(&dark), "{dark}");
    }
}
