//! Shapes of given size side by side: which is larger, which has the longer outline.

use std::f64::consts::PI;

use mary_generators::{Stream, below, shuffle};
use mary_platform::given;

use crate::fresh::block::{Block, OPTIONS, Posed, listed};
use crate::fresh::said::{Level, Said, phrase};
use crate::fresh::sketch::{BLACK, PAPER, Sketch, Spot, WIDTH, regular};

/// The most must be this much more than the next, and the least this much less.
const MARGIN: f64 = 1.08;

/// A flat shape; sizes in centimetres.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Shape {
    Square(f64),
    Rectangle(f64, f64),
    Circle(f64),
    RightTriangle(f64, f64),
    EquilateralTriangle(f64),
    Hexagon(f64),
}

impl Shape {
    fn draw(rng: &mut Stream, kind: usize) -> Self {
        let mut size = |from: usize, to: usize| (from + below(rng, to - from + 1)) as f64;
        match kind {
            0 => Self::Square(size(3, 12)),
            1 => {
                let short = size(1, 9);
                Self::Rectangle(short, short + size(1, 14))
            }
            2 => Self::Circle(size(3, 14)),
            3 => {
                let short = size(3, 11);
                Self::RightTriangle(short, short + size(0, 11))
            }
            4 => Self::EquilateralTriangle(size(4, 18)),
            _ => Self::Hexagon(size(2, 8)),
        }
    }

    fn area(self) -> f64 {
        match self {
            Self::Square(a) => a * a,
            Self::Rectangle(a, b) => a * b,
            Self::Circle(d) => PI * d * d / 4.0,
            Self::RightTriangle(a, b) => a * b / 2.0,
            Self::EquilateralTriangle(a) => 3f64.sqrt() / 4.0 * a * a,
            Self::Hexagon(a) => 1.5 * 3f64.sqrt() * a * a,
        }
    }

    fn outline(self) -> f64 {
        match self {
            Self::Square(a) => 4.0 * a,
            Self::Rectangle(a, b) => 2.0 * (a + b),
            Self::Circle(d) => PI * d,
            Self::RightTriangle(a, b) => a + b + a.hypot(b),
            Self::EquilateralTriangle(a) => 3.0 * a,
            Self::Hexagon(a) => 6.0 * a,
        }
    }

    fn sized(self) -> (&'static str, f64, f64) {
        match self {
            Self::Square(a) => ("square", a, a),
            Self::Rectangle(a, b) => ("rectangle", a, b),
            Self::Circle(a) => ("circle", a, a),
            Self::RightTriangle(a, b) => ("right-triangle", a, b),
            Self::EquilateralTriangle(a) => ("triangle", a, a),
            Self::Hexagon(a) => ("hexagon", a, a),
        }
    }

    fn name(self) -> Said {
        phrase(&format!("shapes.{}", self.sized().0))
    }

    fn words(self) -> Said {
        let (name, a, b) = self.sized();
        let said = phrase(&format!("shapes.{name}-sized"));
        said.with("a", a).with("b", b)
    }

    /// Its corners around the origin, in centimetres.
    fn corners(self) -> Vec<Spot> {
        let boxed = |w: f64, h: f64| {
            let (x, y) = (w / 2.0, h / 2.0);
            vec![[-x, -y], [x, -y], [x, y], [-x, y]]
        };
        match self {
            Self::Square(a) => boxed(a, a),
            Self::Rectangle(a, b) => boxed(b, a),
            Self::Circle(d) => regular([0.0; 2], d / 2.0, 96, 0.0),
            Self::RightTriangle(a, b) => {
                let (x, y) = (b / 2.0, a / 2.0);
                vec![[-x, y], [x, y], [-x, -y]]
            }
            Self::EquilateralTriangle(a) => {
                let (x, y) = (a / 2.0, a * 3f64.sqrt() / 2.0 / 2.0);
                vec![[0.0, -y], [x, y], [-x, y]]
            }
            Self::Hexagon(a) => regular([0.0; 2], a, 6, 0.0),
        }
    }
}

const LETTERS: [char; OPTIONS] = ['P', 'Q', 'R', 'S'];

fn sketch(shapes: &[Shape]) -> Sketch {
    let mut sketch = Sketch::new(512);
    let half = WIDTH as f64 / 2.0;
    let corners = shapes.iter().flat_map(|s| s.corners()).flatten();
    let reach = corners.map(f64::abs).fold(1.0, f64::max);
    let scale = 112.0 / reach;
    for (place, (shape, letter)) in shapes.iter().zip(LETTERS).enumerate() {
        let (column, row) = ((place % 2) as f64, (place / 2) as f64);
        let centre = [half * (0.5 + column), half * (0.5 + row) + 6.0];
        let point = |p: &Spot| [centre[0] + p[0] * scale, centre[1] + p[1] * scale];
        let points: Vec<Spot> = shape.corners().iter().map(point).collect();
        sketch.polygon(&points, PAPER);
        sketch.ring(&points, 2.5, BLACK);
        let corner = [centre[0] - half / 2.0 + 16.0, centre[1] - half / 2.0 + 14.0];
        sketch.glyph_at(letter, corner, 28.0, BLACK);
    }
    sketch
}

/// The places with the least and the most, and by what factor they stand out at least.
fn ends(values: &[f64]) -> Option<(usize, usize, f64)> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let [least, next, .., last, most] = order.as_slice() else {
        return None;
    };
    let clear = (values[*next] / values[*least]).min(values[*most] / values[*last]);
    Some((*least, *most, clear))
}

/// Largest and smallest area, longest and shortest outline, each another of the four.
pub fn compare(rng: &mut Stream, _level: Level) -> Option<Block> {
    let mut kinds: Vec<usize> = (0..6).collect();
    shuffle(rng, &mut kinds);
    kinds.truncate(OPTIONS);
    let shapes: Vec<Shape> = kinds.iter().map(|k| Shape::draw(rng, *k)).collect();
    let areas: Vec<f64> = shapes.iter().map(|s| s.area()).collect();
    let outlines: Vec<f64> = shapes.iter().map(|s| s.outline()).collect();
    let (small, large, areas_apart) = ends(&areas)?;
    let (short, long, outlines_apart) = ends(&outlines)?;
    given(areas_apart.min(outlines_apart) >= MARGIN)?;
    let mut asks = [""; OPTIONS];
    let places = [small, large, short, long].into_iter();
    for (place, ask) in places.zip(["smallest", "largest", "shortest", "longest"]) {
        asks[place] = ask;
    }
    given(!asks.contains(&""))?;
    let described = listed(&shapes.iter().map(|s| s.words()).collect::<Vec<_>>());
    let questions = asks.map(|ask| {
        let ask = phrase(&format!("shapes.{ask}"));
        Posed::new("shapes", sketch(&shapes), |said| {
            said.fill("described", &described).fill("ask", &ask)
        })
    });
    let letter = |letter: &char| phrase("shapes.letter").with("letter", letter);
    let options = shapes.iter().map(|s| s.name()).collect();
    Some(Block::new(options, questions.into()).seen_as(LETTERS.iter().map(letter).collect()))
}
