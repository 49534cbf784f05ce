//! Straight cuts: a round cake into pieces, a polygon in two.

use mary_generators::{Stream, below, shuffle};

use crate::fresh::block::{Block, Posed, counted, listed};
use crate::fresh::said::{Level, Said};
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

/// Where two crossing cuts meet.
fn meeting(one: Cut, two: Cut) -> Option<Spot> {
    let (p, q, r, s) = (
        hour_spot(one.0),
        hour_spot(one.1),
        hour_spot(two.0),
        hour_spot(two.1),
    );
    let (d, e) = ([q[0] - p[0], q[1] - p[1]], [s[0] - r[0], s[1] - r[1]]);
    let across = d[0] * e[1] - d[1] * e[0];
    if across.abs() < 1e-9 {
        return None;
    }
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
                if crossings.iter().any(near) {
                    return None;
                }
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
        let from_to: Vec<Said> = cuts
            .iter()
            .map(|(a, b)| Said::new(format!("from {a} to {b}"), format!("从 {a} 点到 {b} 点")))
            .collect();
        let cuts_told = listed(&from_to);
        let ask = Said::new(
            "Into how many pieces does the cake fall?",
            "蛋糕一共被切成几块？",
        );
        let words = Said::new(
            format!(
                "A round cake is seen from above like the face of a clock, and cut right through along \
                 straight lines between hours on its edge: {}.",
                cuts_told.en
            ),
            format!(
                "从上方看，一个圆形蛋糕像一个钟面。沿着边缘上各钟点之间的直线把它切透：{}。",
                cuts_told.zh
            ),
        );
        let seen = Said::new(
            "The picture shows a round cake from above and the straight cuts made right through it.",
            "图中是从上方看的一个圆形蛋糕，以及把它切透的几条直线。",
        );
        let posed = Posed {
            words: words.then(&ask),
            seen: seen.then(&ask),
            caption: Said::new(
                "The picture shows the cake and the cuts; 12 is at the top.",
                "图中显示蛋糕和切线；12 点在最上面。",
            ),
            sketch: cake(&cuts),
        };
        Some((count, posed))
    })
}

fn cake(cuts: &[Cut]) -> Sketch {
    let mut sketch = Sketch::new(512);
    let middle = WIDTH as f64 / 2.0;
    let radius = 230.0;
    sketch.disc([middle, middle], radius + 3.0, BLACK);
    sketch.disc([middle, middle], radius, PAPER);
    for hour in 1..=12 {
        let spot = hour_spot(hour);
        let at = |r: f64| [middle + spot[0] * r, middle - spot[1] * r];
        sketch.line(at(radius - 10.0), at(radius + 12.0), 3.0, BLACK);
    }
    for (a, b) in cuts {
        let at = |hour: usize| {
            let spot = hour_spot(hour);
            [middle + spot[0] * radius, middle - spot[1] * radius]
        };
        sketch.line(at(*a), at(*b), 3.0, RED);
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
const POLYGONS: [&str; 6] = [
    "square", "pentagon", "hexagon", "heptagon", "octagon", "nonagon",
];
const POLYGONS_ZH: [&str; 6] = [
    "正方形",
    "正五边形",
    "正六边形",
    "正七边形",
    "正八边形",
    "正九边形",
];

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
            Self::Corner(c) => Said::new(format!("corner {}", name(c)), format!("角 {}", name(c))),
            Self::Middle(c) => {
                let (one, two) = (name(c), name(c + 1));
                Said::new(
                    format!("the middle of side {one}{two}"),
                    format!("边 {one}{two} 的中点"),
                )
            }
        }
    }
}

#[derive(Debug, Clone)]
struct Cutting {
    corners: usize,
    /// Corners cut off first.
    clipped: Vec<usize>,
    from: End,
    to: End,
    /// The part that holds this corner is asked about.
    kept: usize,
}

impl Cutting {
    fn draw(rng: &mut Stream, level: Level) -> Option<Self> {
        let (least, choice) = level.pick((4, POLYGONS.len()), [(4, 2), (5, 2), (7, 2), (8, 2)]);
        let corners = least + below(rng, choice);
        let mut order: Vec<usize> = (0..corners).collect();
        shuffle(rng, &mut order);
        let off = match level {
            Level::Any => below(rng, 4),
            rung => rung.pick(0, [0, 1, 2, 3]),
        };
        let clipped: Vec<usize> = order.split_off(corners - off.min(corners - 3));
        let halves = 2 * corners;
        let end = |half: usize| {
            if half.is_multiple_of(2) {
                End::Corner(half / 2)
            } else {
                End::Middle(half / 2)
            }
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
        let mut clipped = clipped;
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

    fn words(&self) -> Said {
        let name = |c: usize| NAMES.get(c).copied().unwrap_or('A');
        let place = self.corners - 4;
        let shape = POLYGONS.get(place).copied().unwrap_or("polygon");
        let shape_zh = POLYGONS_ZH.get(place).copied().unwrap_or("多边形");
        let kind = if self.corners == 4 { "" } else { "regular " };
        let clipped: Vec<Said> = self.clipped.iter().map(|c| Said::same(name(*c))).collect();
        let off = listed(&clipped);
        let (off, off_zh) = match clipped.len() {
            0 => (String::new(), String::new()),
            1 => (
                format!(" Corner {} is cut off with a short straight cut.", off.en),
                format!("角 {} 被一条短直线切掉。", off.zh),
            ),
            _ => (
                format!(
                    " Corners {} are cut off, each with a short straight cut.",
                    off.en
                ),
                format!("角 {} 各被一条短直线切掉。", off.zh),
            ),
        };
        let (now, now_zh) = if clipped.is_empty() {
            ("Now", "现在")
        } else {
            ("Then", "然后")
        };
        let (last, kept) = (name(self.corners - 1), name(self.kept));
        let (from, to) = (self.from.words(self.corners), self.to.words(self.corners));
        Said::new(
            format!(
                "A {kind}{shape} of paper has the corners {} to {last}, named clockwise.{off} {now} the \
                 paper is cut in two along the straight line from {} to {}. How many corners does the part \
                 with corner {kept} have?",
                name(0),
                from.en,
                to.en
            ),
            format!(
                "一张{shape_zh}的纸，各角按顺时针方向依次为 {} 到 {last}。{off_zh}{now_zh}沿着从{}到{}的直线\
                 把纸剪成两部分。含角 {kept} 的那一部分有几个角？",
                name(0),
                from.zh,
                to.zh
            ),
        )
    }

    fn sketch(&self) -> Sketch {
        let mut sketch = Sketch::new(512);
        let middle = WIDTH as f64 / 2.0;
        let turn = if self.corners == 4 {
            -std::f64::consts::FRAC_PI_4
        } else {
            0.0
        };
        let corners = regular([middle; 2], 200.0, self.corners, turn);
        let corner = |c: usize| {
            corners
                .get(c % self.corners)
                .copied()
                .unwrap_or([middle; 2])
        };
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

/// A polygon with some corners cut off, cut in two.
pub fn corners(rng: &mut Stream, level: Level) -> Option<Block> {
    counted(rng, 80, |rng| {
        let cutting = Cutting::draw(rng, level)?;
        let posed = Posed {
            words: cutting.words(),
            seen: Said::new(
                "The picture shows a piece of paper that is cut in two along the broken line. How many \
                 corners does the part with the red dot have?",
                "图中是一张沿虚线剪成两部分的纸。带红点的那一部分有几个角？",
            ),
            caption: Said::new(
                "The picture shows the paper before the last cut (broken line), a red dot in the part \
                 asked about.",
                "图中是最后一剪（虚线）之前的纸，红点标出所问的部分。",
            ),
            sketch: cutting.sketch(),
        };
        Some((cutting.count(), posed))
    })
}
