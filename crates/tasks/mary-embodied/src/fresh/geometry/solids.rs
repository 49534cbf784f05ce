//! Cubes: one folded from a net, and many piled on a board.

use mary_generators::{Stream, below, shuffle};

use crate::fresh::block::{Block, OPTIONS, Posed, counted};
use crate::fresh::said::{Level, Said, phrase};
use crate::fresh::sketch::{BLACK, GREY, PAPER, Sketch, WIDTH};

/// A square of a net and the face it becomes.
type Square = (i32, i32);

/// The cube as it rolls over the net: which of its faces (0 and 1, 2 and 3, 4 and 5 are opposite) lies
/// below, to the north and to the east.
#[derive(Debug, Clone, Copy)]
struct Cube {
    below: usize,
    north: usize,
    east: usize,
}

fn opposite(face: usize) -> usize {
    face ^ 1
}

impl Cube {
    /// Rolled over one edge onto the next square.
    fn rolled(self, step: (i32, i32)) -> Self {
        let Self { below, north, east } = self;
        let (below, north, east) = match step {
            (1, 0) => (east, north, opposite(below)),
            (-1, 0) => (opposite(east), north, below),
            (0, -1) => (north, opposite(below), east),
            _ => (opposite(north), below, east),
        };
        Self { below, north, east }
    }
}

const STEPS: [(i32, i32); 4] = [(1, 0), (-1, 0), (0, 1), (0, -1)];

/// A random net: squares grown one by one, each a face that was still missing.
fn draw_net(rng: &mut Stream) -> Option<Vec<(Square, usize)>> {
    let start = Cube {
        below: 0,
        north: 2,
        east: 4,
    };
    let mut net: Vec<(Square, Cube)> = vec![((0, 0), start)];
    for _ in 0..60 {
        if net.len() == 6 {
            break;
        }
        let ((x, y), cube) = *net.get(below(rng, net.len()))?;
        let step = STEPS[below(rng, STEPS.len())];
        let next = (x + step.0, y + step.1);
        let rolled = cube.rolled(step);
        let takes = |(square, c): &(Square, Cube)| *square == next || c.below == rolled.below;
        if !net.iter().any(takes) {
            net.push((next, rolled));
        }
    }
    // Two squares side by side that were not rolled over their shared edge must meet there all the
    // same: else the paper would have to be cut between them.
    let joined = net.iter().all(|((x, y), cube)| {
        STEPS.iter().all(|s| {
            let beside = net.iter().find(|(other, _)| *other == (x + s.0, y + s.1));
            beside.is_none_or(|(_, c)| cube.rolled(*s).below == c.below)
        })
    });
    (net.len() == 6 && joined).then(|| net.iter().map(|(s, c)| (*s, c.below)).collect())
}

/// Numbers on the faces; not those of a die, whose opposite faces people know.
const FIRST_NUMBER: usize = 2;

struct Numbered {
    squares: Vec<(Square, usize)>,
    wide: i32,
    high: i32,
}

impl Numbered {
    fn new(net: &[(Square, usize)], numbers: &[usize]) -> Option<Self> {
        let left = net.iter().map(|((x, _), _)| *x).min()?;
        let top = net.iter().map(|((_, y), _)| *y).min()?;
        let square = |((x, y), face): &(Square, usize)| ((x - left, y - top), numbers[*face]);
        let squares: Vec<(Square, usize)> = net.iter().map(square).collect();
        Some(Self {
            wide: squares.iter().map(|((x, _), _)| x + 1).max()?,
            high: squares.iter().map(|((_, y), _)| y + 1).max()?,
            squares,
        })
    }

    fn words(&self) -> String {
        let cell = |at: Square| {
            let here = self.squares.iter().find(|(s, _)| *s == at);
            here.map_or(".".to_owned(), |(_, n)| n.to_string())
        };
        let line = |y: i32| {
            let cells: Vec<String> = (0..self.wide).map(|x| cell((x, y))).collect();
            cells.join(" ")
        };
        let lines: Vec<String> = (0..self.high).map(line).collect();
        lines.join("\n")
    }

    fn sketch(&self) -> Sketch {
        let step = (500.0 / f64::from(self.wide.max(self.high))).min(110.0);
        let mut sketch = Sketch::new((step * f64::from(self.high)) as usize + 12);
        let left = (WIDTH as f64 - step * f64::from(self.wide)) / 2.0;
        for ((x, y), number) in &self.squares {
            let from = [left + f64::from(*x) * step, 6.0 + f64::from(*y) * step];
            let to = [from[0] + step, from[1] + step];
            sketch.rect(from, to, PAPER);
            let corners = [from, [to[0], from[1]], to, [from[0], to[1]]];
            sketch.ring(&corners, 2.5, BLACK);
            let digit = char::from_digit(*number as u32, 10).unwrap_or('?');
            let centre = [(from[0] + to[0]) / 2.0, (from[1] + to[1]) / 2.0];
            sketch.glyph_at(digit, centre, step * 0.55, BLACK);
        }
        sketch
    }
}

/// Which number lies opposite another once the cube is folded. The number asked about is never
/// offered, so that there is nothing to strike out.
pub fn net(rng: &mut Stream, _level: Level) -> Option<Block> {
    let mut numbers: Vec<usize> = (FIRST_NUMBER..FIRST_NUMBER + 6).collect();
    shuffle(rng, &mut numbers);
    let (offered, asked) = numbers.split_at(OPTIONS);
    let mut questions = Vec::with_capacity(OPTIONS);
    for answer in offered {
        let given = *asked.get(below(rng, asked.len()))?;
        let mut on_faces = numbers.clone();
        on_faces.retain(|n| n != answer && *n != given);
        shuffle(rng, &mut on_faces);
        let pair = 2 * below(rng, 3);
        on_faces.insert(pair, *answer);
        on_faces.insert(pair + 1, given);
        let net = (0..40).find_map(|_| draw_net(rng))?;
        let net = Numbered::new(&net, &on_faces)?;
        let plan = net.words();
        questions.push(Posed::new("net", net.sketch(), |said| {
            said.with("plan", &plan).with("given", given)
        }));
    }
    let options = offered.iter().map(Said::same).collect();
    Some(Block::new(options, questions))
}

/// Towers on a board of three by three, the last row in front.
type Towers = [[usize; 3]; 3];

#[derive(Debug, Clone, Copy)]
enum View {
    Front,
    Side,
    Covered,
}

impl View {
    fn count(self, towers: &Towers) -> usize {
        match self {
            Self::Front => {
                let column = |c: usize| towers.iter().map(|row| row[c]).max().unwrap_or(0);
                (0..3).map(column).sum()
            }
            Self::Side => towers.iter().flat_map(|row| row.iter().max()).sum(),
            Self::Covered => towers.iter().flatten().map(|h| h.saturating_sub(1)).sum(),
        }
    }

    fn ask(self) -> Said {
        match self {
            Self::Front => phrase("pile.front"),
            Self::Side => phrase("pile.side"),
            Self::Covered => phrase("pile.covered"),
        }
    }
}

/// Towers of a level: of any height from none to four on every square, or a number of towers that grows.
fn draw_towers(rng: &mut Stream, level: Level) -> Towers {
    let mut towers: Towers = [[0; 3]; 3];
    if level == Level::Any {
        for tower in towers.iter_mut().flatten() {
            *tower = below(rng, 5);
        }
        return towers;
    }
    let mut squares: Vec<usize> = (0..9).collect();
    shuffle(rng, &mut squares);
    for square in squares.into_iter().take(level.pick(9, [2, 4, 6, 9])) {
        towers[square / 3][square % 3] = 1 + below(rng, 4);
    }
    towers
}

pub fn pile(rng: &mut Stream, level: Level) -> Option<Block> {
    counted(rng, 60, |rng| {
        let towers = draw_towers(rng, level);
        let view = [View::Front, View::Side, View::Covered][below(rng, 3)];
        let rows = towers
            .map(|row| row.map(|h| h.to_string()).join(" "))
            .join("\n");
        let ask = view.ask();
        let posed = Posed::new("pile", plan(&towers), |said| {
            said.with("rows", &rows).fill("ask", &ask)
        });
        Some((view.count(&towers), posed))
    })
}

fn plan(towers: &Towers) -> Sketch {
    let mut sketch = Sketch::new(400);
    let step = 128.0;
    let (left, top) = ((WIDTH as f64 - 3.0 * step) / 2.0, 8.0);
    for (row, heights) in towers.iter().enumerate() {
        for (column, &height) in heights.iter().enumerate() {
            let from = [left + column as f64 * step, top + row as f64 * step];
            sketch.rect(from, [from[0] + step, from[1] + step], GREY);
            let inner = [from[0] + 2.0, from[1] + 2.0];
            sketch.rect(inner, [from[0] + step - 2.0, from[1] + step - 2.0], PAPER);
            let spots: &[[f64; 2]] = match height {
                0 => &[],
                1 => &[[0.5, 0.5]],
                2 => &[[0.3, 0.3], [0.7, 0.7]],
                3 => &[[0.25, 0.25], [0.5, 0.5], [0.75, 0.75]],
                _ => &[[0.3, 0.3], [0.7, 0.3], [0.3, 0.7], [0.7, 0.7]],
            };
            for spot in spots {
                let at = [from[0] + spot[0] * step, from[1] + spot[1] * step];
                sketch.disc(at, 11.0, BLACK);
            }
        }
    }
    sketch
}
