//! Resizing on 8-bit numbers with antialiasing, as Pillow does it: weights as whole numbers with 22 bits
//! after the point, across first and down afterwards, each pass rounded to bytes.

use crate::pictures::Picture;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filter {
    Nearest,
    /// Lanczos with three lobes.
    Lanczos,
    Bilinear,
    /// Cubic convolution with a = -1/2.
    Bicubic,
    Box,
    Hamming,
}

impl Filter {
    /// By the number that Pillow gives it.
    pub fn numbered(number: u64) -> Option<Self> {
        Some(match number {
            0 => Self::Nearest,
            1 => Self::Lanczos,
            2 => Self::Bilinear,
            3 => Self::Bicubic,
            4 => Self::Box,
            5 => Self::Hamming,
            _ => return None,
        })
    }

    fn support(self) -> f64 {
        match self {
            Self::Nearest | Self::Box => 0.5,
            Self::Bilinear | Self::Hamming => 1.0,
            Self::Bicubic => 2.0,
            Self::Lanczos => 3.0,
        }
    }

    fn weight(self, x: f64) -> f64 {
        let sinc = |x: f64| {
            if x == 0.0 {
                return 1.0;
            }
            let x = x * std::f64::consts::PI;
            x.sin() / x
        };
        match self {
            Self::Nearest | Self::Box => f64::from(x > -0.5 && x <= 0.5),
            Self::Bilinear => (1.0 - x.abs()).max(0.0),
            Self::Hamming => {
                let x = x.abs();
                match x {
                    0.0 => 1.0,
                    x if x >= 1.0 => 0.0,
                    x => sinc(x) * (0.54 + 0.46 * (x * std::f64::consts::PI).cos()),
                }
            }
            Self::Bicubic => {
                let (x, a) = (x.abs(), -0.5);
                if x < 1.0 {
                    ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
                } else if x < 2.0 {
                    (((x - 5.0) * x + 8.0) * x - 4.0) * a
                } else {
                    0.0
                }
            }
            Self::Lanczos if (-3.0..3.0).contains(&x) => sinc(x) * sinc(x / 3.0),
            Self::Lanczos => 0.0,
        }
    }
}

/// Bits after the point of a weight.
const BITS: u32 = 32 - 8 - 2;

/// For every new place: the first old one, and the weights from there on.
struct Weights {
    firsts: Vec<usize>,
    starts: Vec<usize>,
    weights: Vec<i32>,
}

impl Weights {
    fn new(filter: Filter, from: usize, to: usize) -> Self {
        let scale = from as f64 / to as f64;
        let stretch = scale.max(1.0);
        let support = filter.support() * stretch;
        let mut all = Self {
            firsts: Vec::with_capacity(to),
            starts: Vec::with_capacity(to + 1),
            weights: vec![],
        };
        let mut line: Vec<f64> = vec![];
        for place in 0..to {
            let centre = (place as f64 + 0.5) * scale;
            // Pillow cuts towards zero, then clamps.
            let first = ((centre - support + 0.5) as i64).max(0) as usize;
            let end = ((centre + support + 0.5) as i64).clamp(0, from as i64) as usize;
            line.clear();
            line.extend((first..end).map(|x| {
                let away = x as f64 - centre + 0.5;
                filter.weight(away * stretch.recip())
            }));
            let total: f64 = line.iter().sum();
            all.firsts.push(first);
            all.starts.push(all.weights.len());
            let unit = f64::from(1u32 << BITS);
            all.weights.extend(line.iter().map(|w| {
                let w = if total == 0.0 { *w } else { w / total };
                (w * unit + if w < 0.0 { -0.5 } else { 0.5 }) as i32
            }));
        }
        all.starts.push(all.weights.len());
        all
    }

    fn at(&self, place: usize) -> (usize, &[i32]) {
        let weights = &self.weights[self.starts[place]..self.starts[place + 1]];
        (self.firsts[place], weights)
    }
}

fn byte(sum: i32) -> u8 {
    (sum >> BITS).clamp(0, 255) as u8
}

const HALF: i32 = 1 << (BITS - 1);

/// A picture of another size. Sizes of nought count as one.
pub fn resize(picture: &Picture, width: usize, height: usize, filter: Filter) -> Picture {
    let (width, height) = (width.max(1), height.max(1));
    if (width, height) == (picture.width(), picture.height()) {
        return picture.clone();
    }
    if filter == Filter::Nearest {
        return nearest(picture, width, height);
    }
    let across = (width != picture.width()).then(|| self::across(picture, width, filter));
    let picture = across.as_ref().unwrap_or(picture);
    match height == picture.height() {
        true => picture.clone(),
        false => down(picture, height, filter),
    }
}

fn across(picture: &Picture, width: usize, filter: Filter) -> Picture {
    let weights = Weights::new(filter, picture.width(), width);
    let mut rgb = Vec::with_capacity(width * picture.height() * 3);
    for y in 0..picture.height() {
        let row = picture.row(y);
        for x in 0..width {
            let (first, weights) = weights.at(x);
            let mut sums = [HALF; 3];
            for (pixel, weight) in row[first * 3..].chunks_exact(3).zip(weights) {
                for (sum, part) in sums.iter_mut().zip(pixel) {
                    *sum = sum.wrapping_add(i32::from(*part).wrapping_mul(*weight));
                }
            }
            rgb.extend(sums.map(byte));
        }
    }
    whole(width, picture.height(), rgb)
}

fn down(picture: &Picture, height: usize, filter: Filter) -> Picture {
    let weights = Weights::new(filter, picture.height(), height);
    let mut rgb = Vec::with_capacity(picture.width() * height * 3);
    let mut sums = vec![HALF; picture.width() * 3];
    for y in 0..height {
        let (first, weights) = weights.at(y);
        sums.fill(HALF);
        for (i, weight) in weights.iter().enumerate() {
            for (sum, part) in sums.iter_mut().zip(picture.row(first + i)) {
                *sum = sum.wrapping_add(i32::from(*part).wrapping_mul(*weight));
            }
        }
        rgb.extend(sums.iter().map(|&s| byte(s)));
    }
    whole(picture.width(), height, rgb)
}

fn nearest(picture: &Picture, width: usize, height: usize) -> Picture {
    let place = |i: usize, from: usize, to: usize| {
        let at = (i as f64 + 0.5) * (from as f64 / to as f64);
        (at as usize).min(from - 1)
    };
    let mut rgb = Vec::with_capacity(width * height * 3);
    for y in 0..height {
        let row = picture.row(place(y, picture.height(), height));
        for x in 0..width {
            let at = place(x, picture.width(), width) * 3;
            rgb.extend_from_slice(&row[at..at + 3]);
        }
    }
    whole(width, height, rgb)
}

fn whole(width: usize, height: usize, rgb: Vec<u8>) -> Picture {
    Picture::new(width, height, rgb).unwrap_or_else(|| Picture::filled(width, height, [0; 3]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn one_colour_stays_one_colour(
            from in (1usize..40, 1usize..40),
            to in (1usize..40, 1usize..40),
            colour: [u8; 3],
            number in 0u64..6,
        ) {
            let filter = Filter::numbered(number).unwrap();
            let picture = Picture::filled(from.0, from.1, colour);
            let resized = resize(&picture, to.0, to.1, filter);
            prop_assert_eq!(resized, Picture::filled(to.0, to.1, colour));
        }
    }
}
