//! Symbols once more: outlines taken from the font anew, filled by a scan line at another size, and
//! looked at by other means: united patches instead of flooding, crossings of the exact outline,
//! rays of sight instead of a hull.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use ab_glyph::{Font as _, FontRef, OutlineCurve};

use super::geometry::{moved, pointing};
use super::{between, only};

static FONT: &[u8] = include_bytes!("../../../../core/mary-generators/assets/glyphs.ttf");
/// Dots per em; the generator draws with 120 per line height.
const SIZE: f64 = 173.0;

/// Straight pieces of an outline, y downwards, the upper left of the box at 0.
struct Outline {
    pieces: Vec<[f64; 4]>,
    width: f64,
    height: f64,
}

#[derive(Clone, PartialEq)]
struct Raster {
    width: usize,
    height: usize,
    ink: Vec<bool>,
}

fn outline(symbol: char) -> Outline {
    let font = FontRef::try_from_slice(FONT).unwrap();
    let curves = font.outline(font.glyph_id(symbol)).unwrap().curves;
    let scale = SIZE / f64::from(font.units_per_em().unwrap());
    let mut pieces = Vec::new();
    for curve in curves {
        let control: Vec<(f64, f64)> = match curve {
            OutlineCurve::Line(a, b) => vec![a, b],
            OutlineCurve::Quad(a, b, c) => vec![a, b, c],
            OutlineCurve::Cubic(a, b, c, d) => vec![a, b, c, d],
        }
        .iter()
        .map(|p| (f64::from(p.x) * scale, -f64::from(p.y) * scale))
        .collect();
        // Bernstein's form, nineteen steps.
        let at = |t: f64| -> (f64, f64) {
            let n = control.len() - 1;
            let mut point = (0.0, 0.0);
            for (k, p) in control.iter().enumerate() {
                let choose = (0..k).fold(1.0, |c, i| c * (n - i) as f64 / (i + 1) as f64);
                let weight = choose * t.powi(k as i32) * (1.0 - t).powi((n - k) as i32);
                point = (point.0 + weight * p.0, point.1 + weight * p.1);
            }
            point
        };
        let steps = if control.len() == 2 { 1 } else { 19 };
        for i in 0..steps {
            let (a, b) = (
                at(i as f64 / steps as f64),
                at((i + 1) as f64 / steps as f64),
            );
            pieces.push([a.0, a.1, b.0, b.1]);
        }
    }
    let low = |i: usize| {
        pieces
            .iter()
            .map(|p| p[i].min(p[i + 2]))
            .fold(f64::MAX, f64::min)
    };
    let high = |i: usize| {
        pieces
            .iter()
            .map(|p| p[i].max(p[i + 2]))
            .fold(f64::MIN, f64::max)
    };
    let (left, top) = (low(0), low(1));
    let (width, height) = (high(0) - left, high(1) - top);
    for p in &mut pieces {
        *p = [p[0] - left, p[1] - top, p[2] - left, p[3] - top];
    }
    Outline {
        pieces,
        width,
        height,
    }
}

impl Outline {
    /// The stretches of a level line that lie in the ink.
    fn spans(&self, y: f64) -> Vec<(f64, f64)> {
        let mut crossings: Vec<(f64, i32)> = self
            .pieces
            .iter()
            .filter(|p| (p[1] > y) != (p[3] > y))
            .map(|p| {
                let x = p[0] + (p[2] - p[0]) * (y - p[1]) / (p[3] - p[1]);
                (x, if p[3] > p[1] { 1 } else { -1 })
            })
            .collect();
        crossings.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut spans = Vec::new();
        let (mut winding, mut from) = (0, 0.0);
        for (x, way) in crossings {
            if winding == 0 {
                from = x;
            }
            winding += way;
            if winding == 0 && x - from > 1e-6 {
                spans.push((from, x));
            }
        }
        spans
    }

    /// Rows and columns changed.
    fn transposed(&self) -> Self {
        Self {
            pieces: self
                .pieces
                .iter()
                .map(|p| [p[1], p[0], p[3], p[2]])
                .collect(),
            width: self.height,
            height: self.width,
        }
    }

    fn raster(&self) -> Raster {
        let (width, height) = (self.width.ceil() as usize, self.height.ceil() as usize);
        let mut ink = vec![false; width * height];
        for y in 0..height {
            for (from, to) in self.spans(y as f64 + 0.5) {
                for x in 0..width {
                    let at = x as f64 + 0.5;
                    ink[y * width + x] |= from < at && at < to;
                }
            }
        }
        Raster { width, height, ink }
    }
}

impl Raster {
    fn dot(&self, x: isize, y: isize) -> bool {
        x >= 0
            && y >= 0
            && (x as usize) < self.width
            && (y as usize) < self.height
            && self.ink[y as usize * self.width + x as usize]
    }

    fn rows(&self, from: usize, to: usize) -> Self {
        Self {
            width: self.width,
            height: to - from,
            ink: self.ink[from * self.width..to * self.width].to_vec(),
        }
    }

    fn transposed(&self) -> Self {
        let ink = (0..self.width * self.height)
            .map(|i| {
                let (x, y) = (i % self.height, i / self.height);
                self.ink[x * self.width + y]
            })
            .collect();
        Self {
            width: self.height,
            height: self.width,
            ink,
        }
    }

    /// Patches of one colour joined along sides: how many in ink, and how many blank ones that a frame
    /// of blank dots around the picture does not reach.
    fn patches(&self) -> (usize, usize) {
        let (w, h) = (self.width + 2, self.height + 2);
        let ink = |i: usize| self.dot((i % w) as isize - 1, (i / w) as isize - 1);
        let mut parent: Vec<usize> = (0..w * h).collect();
        fn root(parent: &mut [usize], mut i: usize) -> usize {
            while parent[i] != i {
                parent[i] = parent[parent[i]];
                i = parent[i];
            }
            i
        }
        for i in 0..w * h {
            for j in [i + 1, i + w] {
                let beside = j < w * h && (j != i + 1 || j % w != 0);
                if beside && ink(i) == ink(j) {
                    let (a, b) = (root(&mut parent, i), root(&mut parent, j));
                    parent[a] = b;
                }
            }
        }
        let mut sizes: HashMap<usize, usize> = HashMap::new();
        for i in 0..w * h {
            *sizes.entry(root(&mut parent, i)).or_default() += 1;
        }
        let outside = root(&mut parent, 0);
        // A speck at a cut edge is an accident of the raster.
        let real = |want: bool| {
            sizes
                .iter()
                .filter(|(r, n)| ink(**r) == want && **r != outside && **n > 6)
                .count()
        };
        (real(true), real(false))
    }

    /// The direction (x to the right, y upwards) in which most blank dots see out, counting those that
    /// see out in exactly one of the four directions.
    fn sight(&self) -> Option<(f64, f64)> {
        let mut votes = [0usize; 4];
        let ways: [(isize, isize); 4] = [(0, -1), (1, 0), (0, 1), (-1, 0)];
        for y in 0..self.height as isize {
            for x in 0..self.width as isize {
                if self.dot(x, y) {
                    continue;
                }
                let free: Vec<usize> = (0..4)
                    .filter(|&w| {
                        let (dx, dy) = ways[w];
                        let (mut px, mut py) = (x, y);
                        while (0..self.width as isize).contains(&px)
                            && (0..self.height as isize).contains(&py)
                        {
                            if self.dot(px, py) {
                                return false;
                            }
                            px += dx;
                            py += dy;
                        }
                        true
                    })
                    .collect();
                if let [only] = free.as_slice() {
                    votes[*only] += 1;
                }
            }
        }
        let all: usize = votes.iter().sum();
        let best = (0..4).max_by_key(|&w| votes[w])?;
        let clear = votes[best] as f64 > 0.85 * all as f64;
        let (dx, dy) = ways[best];
        clear.then_some((dx as f64, -dy as f64))
    }

    /// Whether a moved copy covers nearly the same ink, within one part in twenty-two of each side.
    fn same(&self, from: impl Fn(usize, usize) -> (usize, usize)) -> bool {
        let (wide, high) = ((self.width / 22) as isize, (self.height / 22) as isize);
        let near = |x: isize, y: isize, test: &dyn Fn(isize, isize) -> bool| {
            (-high..=high).any(|dy| (-wide..=wide).any(|dx| test(x + dx, y + dy)))
        };
        let moved = |x: isize, y: isize| {
            if x < 0 || y < 0 || x as usize >= self.width || y as usize >= self.height {
                return false;
            }
            let (x, y) = from(x as usize, y as usize);
            self.dot(x as isize, y as isize)
        };
        let own = |x: isize, y: isize| self.dot(x, y);
        let (mut ink, mut covered) = (0usize, 0usize);
        for y in 0..self.height as isize {
            for x in 0..self.width as isize {
                if own(x, y) {
                    ink += 1;
                    covered += usize::from(near(x, y, &moved));
                }
            }
        }
        covered as f64 > 0.93 * ink as f64
    }
}

/// What is found once for a symbol and a way of looking.
fn remembered(key: String, find: impl FnOnce() -> usize) -> usize {
    static KNOWN: OnceLock<Mutex<HashMap<String, usize>>> = OnceLock::new();
    let known = KNOWN.get_or_init(Mutex::default);
    if let Some(value) = known.lock().unwrap().get(&key) {
        return *value;
    }
    let value = find();
    known.lock().unwrap().insert(key, value);
    value
}

fn raster(symbol: char) -> Arc<Raster> {
    static KNOWN: OnceLock<Mutex<HashMap<char, Arc<Raster>>>> = OnceLock::new();
    let mut known = KNOWN.get_or_init(Mutex::default).lock().unwrap();
    known
        .entry(symbol)
        .or_insert_with(|| Arc::new(outline(symbol).raster()))
        .clone()
}

/// A line: level or not, and how far down or from the left.
fn line(words: &str) -> (bool, f64) {
    let level = words.contains("a horizontal line");
    let share = if words.contains("three quarters") {
        0.75
    } else if words.contains("two thirds") {
        2.0 / 3.0
    } else if words.contains("a quarter") {
        0.25
    } else if words.contains("a third") {
        1.0 / 3.0
    } else {
        assert!(words.contains("halfway"));
        0.5
    };
    (level, share)
}

fn pieces(symbol: char, level: bool, share: f64) -> usize {
    let mut picture = (*raster(symbol)).clone();
    if !level {
        picture = picture.transposed();
    }
    let at = (share * picture.height as f64).round() as usize;
    picture.rows(0, at).patches().0 + picture.rows(at, picture.height).patches().0
}

fn strokes(symbol: char, level: bool, share: f64) -> usize {
    let mut shape = outline(symbol);
    if !level {
        shape = shape.transposed();
    }
    shape.spans(share * shape.height).len()
}

fn regions_left(symbol: char, cover: &str) -> usize {
    let (side, share) = cover.split_once(' ').unwrap();
    let share = match share {
        "quarter" => 0.25,
        "third" => 1.0 / 3.0,
        _ => 0.5,
    };
    let mut picture = (*raster(symbol)).clone();
    if side == "left" || side == "right" {
        picture = picture.transposed();
    }
    let end = picture.height;
    let gone = (share * end as f64).round() as usize;
    let rest = if side == "upper" || side == "left" {
        picture.rows(gone, end)
    } else {
        picture.rows(0, end - gone)
    };
    rest.patches().1
}

fn same(symbol: char, how: &str) -> bool {
    let found = remembered(format!("{how} {symbol}"), || {
        let picture = raster(symbol);
        let (w, h) = (picture.width - 1, picture.height - 1);
        usize::from(match how {
            "left" => picture.same(|x, y| (w - x, y)),
            "top" => picture.same(|x, y| (x, h - y)),
            _ => picture.same(|x, y| (w - x, h - y)),
        })
    });
    found == 1
}

pub fn solve(kind: &str, words: &str, options: &[String]) -> usize {
    let symbols: Vec<char> = between(words, "\"", "\"")
        .chars()
        .filter(|c| *c != ' ')
        .collect();
    let sum = |what: &str, of: &dyn Fn(char) -> usize| -> usize {
        let total: usize = symbols
            .iter()
            .map(|s| remembered(format!("{what} {s}"), || of(*s)))
            .sum();
        only(options, |o| o == total.to_string())
    };
    let one = |option: &str| option.chars().next().unwrap();
    match kind {
        "regions" => sum("regions", &|s| raster(s).patches().1),
        "covered" => {
            let cover = between(words, "The ", " of each");
            sum(cover, &|s| regions_left(s, cover))
        }
        "cut" => {
            let (level, share) = line(words);
            sum(&format!("cut {level} {share}"), &|s| {
                pieces(s, level, share)
            })
        }
        "crossed" => {
            let (level, share) = line(words);
            sum(&format!("crossed {level} {share}"), &|s| {
                strokes(s, level, share)
            })
        }
        "opening" => {
            let way = remembered(format!("sight {}", symbols[0]), || {
                match raster(symbols[0]).sight() {
                    Some((0.0, 1.0)) => 0,
                    Some((1.0, _)) => 1,
                    Some((0.0, -1.0)) => 2,
                    Some(_) => 3,
                    None => panic!("{} is open to no side or to several", symbols[0]),
                }
            });
            let start = [(0.0, 1.0), (1.0, 0.0), (0.0, -1.0), (-1.0, 0.0)][way];
            pointing(options, moved(words, "symbol", start))
        }
        "symmetry" => {
            let keeps = |s: char| [same(s, "left"), same(s, "top"), same(s, "around")];
            let ask = words.split("\" ").nth(1).unwrap();
            if ask.contains("looks different") {
                only(options, |o| keeps(one(o)) == [false; 3])
            } else if ask.contains("left and right") {
                only(options, |o| keeps(one(o))[0])
            } else if ask.contains("top and bottom") {
                only(options, |o| keeps(one(o))[1])
            } else {
                only(options, |o| keeps(one(o))[2])
            }
        }
        "size" => {
            let value = |o: &str| {
                let shape = outline(one(o));
                if words.contains("widest") || words.contains("narrowest") {
                    shape.width
                } else {
                    shape.height
                }
            };
            let most = words.contains("widest") || words.contains("the tallest");
            (0..4)
                .max_by(|i, j| {
                    let (a, b) = (value(&options[*i]), value(&options[*j]));
                    if most {
                        a.total_cmp(&b)
                    } else {
                        b.total_cmp(&a)
                    }
                })
                .unwrap()
        }
        other => panic!("no such kind: {other}"),
    }
}
