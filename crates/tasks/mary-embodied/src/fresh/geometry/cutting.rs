//! Straight cuts: a round cake into pieces, a polygon in two.

use std::f64::consts::FRAC_PI_4;

use mary_generators::{Stream, below, shuffle};
use mary_platform::given;

use crate::fresh::block::{Block, Posed, counted, listed};
use crate::fresh::said::{Level, Said, phrase};
use crate::fresh::sketch::{BLACK, PAPER, RED, Sketch, Spot, WIDTH, regular};

/// Crossings nearer than this, as a share of the radius, might be taken for one.
const APART: f64 = 0.12;

/// A cut across a clock face, from hour to hour.
type Cut = (usize, usize);

fn hour_spot(hour: usize) -> Spot {
    let angle = std::f64::consts::TAU * hour as f64 / 12.0;
    [angle.sin(), angle.cos()]
}

/// Whether two cuts cross inside: the ends of one lie on both sides of the other.
fn cross(one: Cut, two: Cut) -> bool {
    let inside = |h: usize| {
        let at = (h + 12 - one.0) % 12;
        let end = (one.1 + 12 - one.0) % 12;
        (at > 0 && at < end, at == 0 || at == end)
    };
    let ((a, a_on), (b, b_on)) = (inside(two.0 % 12), inside(two.1 % 12));
    !a_on && !b_on && a != b
}

fn meeting(one: Cut, two: Cut) -> Option<Spot> {
    let [p, q, r, s] = [one.0, one.1, two.0, two.1].map(hour_spot);
    let (d, e) = ([q[0] - p[0], q[1] - p[1]], [s[0] - r[0], s[1] - r[1]]);
    let across = d[0] * e[1] - d[1] * e[0];
    given(across.abs() >= 1e-9)?;
    let t = ((r[0] - p[0]) * e[1] - (r[1] - p[1]) * e[0]) / across;
    Some([p[0] + d[0] * t, p[1] + d[1] * t])
}

/// The number of pieces, unless two crossings lie too near to be told apart: one, one more for each
/// cut, and one more for each crossing.
fn piece_count(cuts: &[Cut]) -> Option<usize> {
    let mut crossings: Vec<Spot> = Vec::new();
    for (number, one) in cuts.iter().enumerate() {
        for two in cuts.iter().skip(number + 1) {
            if cross(*one, *two) {
                let at = meeting(*one, *two)?;
                let near = |c: &Spot| (c[0] - at[0]).hypot(c[1] - at[1]) < APART;
                given(!crossings.iter().any(near))?;
                crossings.push(at);
            }
        }
    }
    Some(1 + cuts.len() + crossings.len())
}

fn draw_cuts(rng: &mut Stream, number: usize) -> Vec<Cut> {
    let mut cuts: Vec<Cut> = Vec::with_capacity(number);
    while cuts.len() < number {
        let (a, b) = (1 + below(rng, 12), 1 + below(rng, 12));
        let gap = (a + 12 - b) % 12;
        let same = |c: &Cut| *c == (a, b) || *c == (b, a);
        if (2..=10).contains(&gap) && !cuts.iter().any(same) {
            cuts.push((a, b));
        }
    }
    cuts
}

/// A round cake cut from hour to hour; as many cuts in all four questions, so that counting cuts
/// strikes out nothing.
pub fn pieces(rng: &mut Stream, level: Level) -> Option<Block> {
    let (least, choice) = level.pick((3, 3), [(3, 1), (4, 1), (5, 1), (6, 1)]);
    let number = least + below(rng, choice);
    counted(rng, 80, |rng| {
        let cuts = draw_cuts(rng, number);
        let count = piece_count(&cuts)?;
        let told = |(a, b): &Cut| phrase("cake.cut").with("a", a).with("b", b);
        let told = listed(&cuts.iter().map(told).collect::<Vec<_>>());
        let posed = Posed::new("cake", cake(&cuts), |said| said.fill("cuts", &told));
        Some((count, posed))
    })
}

fn cake(cuts: &[Cut]) -> Sketch {
    let mut sketch = Sketch::new(512);
    let middle = WIDTH as f64 / 2.0;
    let radius = 230.0;
    sketch.disc([middle, middle], radius + 3.0, BLACK);
    sketch.disc([middle, middle], radius, PAPER);
    let at = |hour: usize, r: f64| {
        let [x, y] = hour_spot(hour);
        [middle + x * r, middle - y * r]
    };
    for hour in 1..=12 {
        sketch.line(at(hour, radius - 10.0), at(hour, radius + 12.0), 3.0, BLACK);
    }
    for (a, b) in cuts {
        sketch.line(at(*a, radius), at(*b, radius), 3.0, RED);
    }
    sketch
}

/// An end of a cut through a polygon: a corner, or the middle of the side after it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Corner(usize),
    Middle(usize),
}

const NAMES: [char; 9] = ['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'I'];
const MOST_CORNERS: usize = 9;

impl End {
    /// Its place on the way around, in half sides.
    fn half(self) -> usize {
        match self {
            Self::Corner(c) => 2 * c,
            Self::Middle(c) => 2 * c + 1,
        }
    }

    fn words(self, corners: usize) -> Said {
        let name = |c: usize| NAMES.get(c % corners).copied().unwrap_or('A');
        match self {
            Self::Corner(c) => phrase("polygon.corner").with("c", name(c)),
            Self::Middle(c) => {
                let (one, two) = (name(c), name(c + 1));
                phrase("polygon.middle").with("one", one).with("two", two)
            }
        }
    }
}

#[derive(Debug, Clone)]
struct Cutting {
    corners: usize,
    clipped: Vec<usize>,
    from: End,
    to: End,
    /// The part that holds this corner is asked about.
    kept: usize,
}

impl Cutting {
    fn draw(rng: &mut Stream, level: Level) -> Option<Self> {
        let (least, choice) = level.pick((4, MOST_CORNERS - 3), [(4, 2), (5, 2), (7, 2), (8, 2)]);
        let corners = least + below(rng, choice);
        let mut order: Vec<usize> = (0..corners).collect();
        shuffle(rng, &mut order);
        let off = match level {
            Level::Any => below(rng, 4),
            rung => rung.pick(0, [0, 1, 2, 3]),
        };
        let mut clipped: Vec<usize> = order.split_off(corners - off.min(corners - 3));
        let halves = 2 * corners;
        let end = |half: usize| match half % 2 {
            0 => End::Corner(half / 2),
            _ => End::Middle(half / 2),
        };
        let (from, to) = (end(below(rng, halves)), end(below(rng, halves)));
        let gap = (to.half() + halves - from.half()) % halves;
        let on_clipped = |e: End| matches!(e, End::Corner(c) if clipped.contains(&c));
        // Both ends on one side would cut nothing; an end on a lost corner would be nowhere.
        let same_side = |g: usize| g <= 1 || (g == 2 && matches!(from, End::Corner(_)));
        if same_side(gap) || same_side(halves - gap) || on_clipped(from) || on_clipped(to) {
            return None;
        }
        let ends = [from.half(), to.half()];
        let kept = order.into_iter().find(|c| !ends.contains(&(2 * c)))?;
        clipped.sort_unstable();
        Some(Self {
            corners,
            clipped,
            from,
            to,
            kept,
        })
    }

    /// Corners of the part with the kept corner: both ends of the cut, and every corner between them
    /// on that side, twice where it was cut off.
    fn count(&self) -> usize {
        let halves = 2 * self.corners;
        let after = |half: usize| (half + halves - self.from.half()) % halves;
        let end = after(self.to.half());
        let kept_first = after(2 * self.kept) < end;
        let mut count = 2;
        for corner in 0..self.corners {
            let at = after(2 * corner);
            if at != 0 && at != end && (at < end) == kept_first {
                count += 1 + usize::from(self.clipped.contains(&corner));
            }
        }
        count
    }

    fn posed(&self) -> Posed {
        let name = |c: usize| NAMES.get(c).copied().unwrap_or('A');
        let off: Vec<Said> = self.clipped.iter().map(|c| Said::same(name(*c))).collect();
        let first = match off.len() {
            0 => "polygon.off-none",
            1 => "polygon.off-one",
            _ => "polygon.off-more",
        };
        let first = phrase(first).fill("off", &listed(&off));
        let shape = phrase(&format!("polygon.{}", self.corners));
        let [from, to] = [self.from, self.to].map(|end| end.words(self.corners));
        Posed::new("polygon", self.sketch(), |said| {
            said.fill("shape", &shape)
                .with("last", name(self.corners - 1))
                .fill("first", &first)
                .fill("from", &from)
                .fill("to", &to)
                .with("kept", name(self.kept))
        })
    }

    fn sketch(&self) -> Sketch {
        let mut sketch = Sketch::new(512);
        let middle = WIDTH as f64 / 2.0;
        let square = self.corners == 4;
        let turn = if square { -FRAC_PI_4 } else { 0.0 };
        let corners = regular([middle; 2], 200.0, self.corners, turn);
        let corner = |c: usize| corners[c % self.corners];
        let part = |a: Spot, b: Spot, t: f64| [a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t];
        let mut outline = Vec::new();
        for c in 0..self.corners {
            if self.clipped.contains(&c) {
                outline.push(part(corner(c), corner(c + self.corners - 1), 0.2));
                outline.push(part(corner(c), corner(c + 1), 0.2));
            } else {
                outline.push(corner(c));
            }
        }
        sketch.polygon(&outline, PAPER);
        sketch.ring(&outline, 3.0, BLACK);
        let end = |e: End| match e {
            End::Corner(c) => corner(c),
            End::Middle(c) => part(corner(c), corner(c + 1), 0.5),
        };
        sketch.dashes(end(self.from), end(self.to), 3.0, RED);
        let kept = part([middle; 2], corner(self.kept), 0.8);
        sketch.disc(kept, 9.0, RED);
        for (c, name) in (0..self.corners).zip(NAMES) {
            sketch.glyph_at(name, part([middle; 2], corner(c), 1.14), 34.0, BLACK);
        }
        sketch
    }
}

pub fn corners(rng: &mut Stream, level: Level) -> Option<Block> {
    counted(rng, 80, |rng| {
        let cutting = Cutting::draw(rng, level)?;
        Some((cutting.count(), cutting.posed()))
    })
}
