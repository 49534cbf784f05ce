//! Geometry once more, by brute force: every square of a sheet is carried through the folds, pieces
//! are counted on a raster, areas by counting dots, polygons cut by coordinates, cubes folded in
//! space.

use std::collections::{HashMap, HashSet};

use super::{between, names, only};

pub fn solve(kind: &str, words: &str, options: &[String]) -> usize {
    let count = |n: usize| only(options, |o| o == n.to_string());
    match kind {
        "fold-count" => count(holes(words).len()),
        "fold-where" => {
            let holes = holes(words);
            only(options, |o| holes.contains(&square(o)))
        }
        "pieces" => count(pieces(words)),
        "corners" => count(corners(words)),
        "compare" => compare(words, options),
        "cube-net" => only(options, |o| o == opposite(words)),
        "pile" => count(pile(words)),
        "board" => board(words, options),
        "heading" => heading(words, options),
        other => panic!("no such kind: {other}"),
    }
}

fn number(text: &str) -> usize {
    text.trim()
        .parse()
        .unwrap_or_else(|_| panic!("no number: {text}"))
}

/// `column 3, row 5`.
fn square(text: &str) -> (usize, usize) {
    (
        number(between(text, "column ", ",")),
        number(text.split("row ").nth(1).unwrap()),
    )
}

/// Every square whose paper lies where the hole is punched.
fn holes(words: &str) -> HashSet<(usize, usize)> {
    let size = number(between(words, "board of ", " columns"));
    let mut paper: Vec<((usize, usize), (f64, f64))> = Vec::new();
    for c in 1..=size {
        for r in 1..=size {
            paper.push(((c, r), (c as f64 - 0.5, r as f64 - 0.5)));
        }
    }
    for sentence in words.split(". ") {
        if !sentence.contains("is folded over") {
            continue;
        }
        let moving = between(sentence, "the ", " part");
        let along_columns = sentence.contains("between columns");
        let line = number(between(
            sentence,
            if along_columns { "columns " } else { "rows " },
            " and",
        )) as f64;
        for (_, (x, y)) in &mut paper {
            let at = if along_columns { x } else { y };
            let moves = match moving {
                "left" | "upper" => *at < line,
                _ => *at > line,
            };
            if moves {
                *at = 2.0 * line - *at;
            }
        }
    }
    let column = number(between(words, "over column ", ","));
    let row = number(between(
        words,
        &format!("over column {column}, row "),
        " of",
    ));
    let (x, y) = (column as f64 - 0.5, row as f64 - 0.5);
    paper
        .into_iter()
        .filter(|(_, at)| (at.0 - x).abs() < 0.1 && (at.1 - y).abs() < 0.1)
        .map(|(square, _)| square)
        .collect()
}

/// Dots of a raster that lie on the same side of every cut belong to one piece.
fn pieces(words: &str) -> usize {
    let list = between(words, "edge: ", ". ");
    let spot = |hour: usize| {
        let angle = hour as f64 * std::f64::consts::PI / 6.0;
        (angle.sin(), angle.cos())
    };
    let cuts: Vec<_> = names(list)
        .iter()
        .map(|cut| {
            let (a, b) = (
                number(between(cut, "from ", " to")),
                number(cut.split(" to ").nth(1).unwrap()),
            );
            (spot(a), spot(b))
        })
        .collect();
    let fine = 260;
    let mut seen = HashSet::new();
    for i in 0..fine {
        for j in 0..fine {
            let (x, y) = (
                (2 * i + 1) as f64 / fine as f64 - 1.0,
                (2 * j + 1) as f64 / fine as f64 - 1.0,
            );
            if x * x + y * y >= 0.998 {
                continue;
            }
            let mut sides = 0u32;
            for ((ax, ay), (bx, by)) in &cuts {
                let side = (bx - ax) * (y - ay) - (by - ay) * (x - ax);
                sides = 2 * sides + u32::from(side > 0.0);
            }
            seen.insert(sides);
        }
    }
    seen.len()
}

type P = (f64, f64);

/// The polygon in coordinates, its corners clipped, then cut by the line; corners left on the side of
/// the named one.
fn corners(words: &str) -> usize {
    let shape = between(words, "A ", " of paper").trim_start_matches("regular ");
    let n = [
        "square", "pentagon", "hexagon", "heptagon", "octagon", "nonagon",
    ]
    .iter()
    .position(|s| *s == shape)
    .unwrap()
        + 4;
    let letters = "ABCDEFGHI";
    let corner = |name: &str| -> P {
        let at = letters.find(name.trim()).unwrap() as f64;
        let angle = at / n as f64 * std::f64::consts::TAU;
        (angle.sin(), angle.cos())
    };
    let part = |a: P, b: P, t: f64| (a.0 + (b.0 - a.0) * t, a.1 + (b.1 - a.1) * t);
    let clipped: Vec<&str> = if words.contains("are cut off") {
        names(between(words, "Corners ", " are cut off"))
    } else if words.contains("is cut off") {
        vec![between(words, ". Corner ", " is cut off")]
    } else {
        vec![]
    };
    let all: Vec<String> = letters.chars().take(n).map(String::from).collect();
    let mut outline: Vec<P> = Vec::new();
    for (i, name) in all.iter().enumerate() {
        let here = corner(name);
        if clipped.contains(&name.as_str()) {
            outline.push(part(here, corner(&all[(i + n - 1) % n]), 0.15));
            outline.push(part(here, corner(&all[(i + 1) % n]), 0.15));
        } else {
            outline.push(here);
        }
    }
    let end = |text: &str| match text.strip_prefix("corner ") {
        Some(name) => corner(name),
        None => {
            let side = text.strip_prefix("the middle of side ").unwrap();
            part(corner(&side[..1]), corner(&side[1..2]), 0.5)
        }
    };
    let line = between(words, "straight line from ", ". How");
    let (from, to) = line.split_once(" to ").unwrap();
    let (from, to) = (end(from), end(to));
    let side = |p: P| (to.0 - from.0) * (p.1 - from.1) - (to.1 - from.1) * (p.0 - from.0);
    let kept = side(corner(between(words, "part with corner ", " have")));
    assert!(kept.abs() > 1e-6);
    let mut left: Vec<P> = Vec::new();
    for i in 0..outline.len() {
        let (a, b) = (outline[i], outline[(i + 1) % outline.len()]);
        let (sa, sb) = (side(a) * kept.signum(), side(b) * kept.signum());
        if sa > -1e-9 {
            left.push(a);
        }
        if (sa > 1e-9 && sb < -1e-9) || (sa < -1e-9 && sb > 1e-9) {
            left.push(part(a, b, sa / (sa - sb)));
        }
    }
    // Only points where the outline really turns are corners.
    let m = left.len();
    (0..m)
        .filter(|&i| {
            let (a, b, c) = (left[(i + m - 1) % m], left[i], left[(i + 1) % m]);
            let turn = (b.0 - a.0) * (c.1 - b.1) - (b.1 - a.1) * (c.0 - b.0);
            turn.abs() > 1e-7
        })
        .count()
}

/// A shape as a test for points and as a fine outline.
fn shape(text: &str) -> (Vec<P>, f64) {
    let sizes: Vec<f64> = text
        .split(' ')
        .filter_map(|w| w.parse::<f64>().ok())
        .collect();
    let ring = |n: usize, radius: f64| -> Vec<P> {
        (0..n)
            .map(|i| {
                let angle = std::f64::consts::TAU * i as f64 / n as f64;
                (radius * angle.cos(), radius * angle.sin())
            })
            .collect()
    };
    let a = sizes[0];
    let points = if text.contains("equilateral") {
        ring(3, a / 3f64.sqrt())
    } else if text.contains("right triangle") {
        vec![(0.0, 0.0), (a, 0.0), (0.0, sizes[1])]
    } else if text.contains("hexagon") {
        ring(6, a)
    } else if text.contains("circle") {
        ring(720, a / 2.0)
    } else if text.contains("rectangle") {
        vec![(0.0, 0.0), (a, 0.0), (a, sizes[1]), (0.0, sizes[1])]
    } else {
        vec![(0.0, 0.0), (a, 0.0), (a, a), (0.0, a)]
    };
    // The area by counting dots row by row.
    let (low, high) = points
        .iter()
        .fold((f64::MAX, f64::MIN), |(l, h), p| (l.min(p.1), h.max(p.1)));
    let rows = 400;
    let step = (high - low) / rows as f64;
    let mut area = 0.0;
    for row in 0..rows {
        let y = low + (row as f64 + 0.5) * step;
        let mut xs: Vec<f64> = Vec::new();
        for i in 0..points.len() {
            let (p, q) = (points[i], points[(i + 1) % points.len()]);
            if (p.1 > y) != (q.1 > y) {
                xs.push(p.0 + (q.0 - p.0) * (y - p.1) / (q.1 - p.1));
            }
        }
        xs.sort_by(f64::total_cmp);
        area += xs.chunks(2).map(|c| c[1] - c[0]).sum::<f64>() * step;
    }
    (points, area)
}

fn compare(words: &str, options: &[String]) -> usize {
    let list = between(words, "card: ", ". Which");
    // Sizes have an `and` of their own: shapes begin with an article.
    let list = list.replace(" and a ", ", a ").replace(" and an ", ", an ");
    let shapes: Vec<&str> = list.split(", ").collect();
    assert_eq!(shapes.len(), 4);
    let value = |option: &str| {
        let kind = option.strip_prefix("the ").unwrap();
        let text = shapes
            .iter()
            .find(|s| s.contains(&format!("{kind} with")))
            .unwrap();
        let (points, area) = shape(text);
        if words.contains("area") {
            return area;
        }
        (0..points.len())
            .map(|i| {
                let (p, q) = (points[i], points[(i + 1) % points.len()]);
                (p.0 - q.0).hypot(p.1 - q.1)
            })
            .sum()
    };
    let most = words.contains("largest") || words.contains("longest");
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

type Axis = [i32; 3];

fn cross(a: Axis, b: Axis) -> Axis {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

fn minus(a: Axis) -> Axis {
    a.map(|v| -v)
}

/// Folds the net in space: each square has a normal and a direction that is right on paper.
fn opposite(words: &str) -> String {
    let lines: Vec<Vec<char>> = words
        .lines()
        .filter(|l| {
            !l.is_empty()
                && l.chars()
                    .all(|c| c.is_ascii_digit() || c == '.' || c == ' ')
        })
        .map(|l| l.chars().filter(|c| *c != ' ').collect())
        .collect();
    let mut cells: HashMap<(i32, i32), char> = HashMap::new();
    for (y, line) in lines.iter().enumerate() {
        for (x, c) in line.iter().enumerate().filter(|(_, c)| **c != '.') {
            cells.insert((x as i32, y as i32), *c);
        }
    }
    assert_eq!(cells.len(), 6);
    let start = *cells.keys().min().unwrap();
    let mut frames: HashMap<(i32, i32), (Axis, Axis)> = HashMap::new();
    frames.insert(start, ([0, 0, 1], [1, 0, 0]));
    let mut queue = vec![start];
    while let Some((x, y)) = queue.pop() {
        let (normal, right) = frames[&(x, y)];
        let up = cross(normal, right);
        // Over the edge the normal turns into that direction.
        let next = [
            ((x + 1, y), (right, minus(normal))),
            ((x - 1, y), (minus(right), normal)),
            ((x, y - 1), (up, right)),
            ((x, y + 1), (minus(up), right)),
        ];
        for (at, frame) in next {
            if cells.contains_key(&at) && !frames.contains_key(&at) {
                frames.insert(at, frame);
                queue.push(at);
            }
        }
    }
    let normals: HashSet<Axis> = frames.values().map(|f| f.0).collect();
    assert_eq!(normals.len(), 6, "the net covers every face: {words}");
    let given = between(words, "opposite the ", "?").chars().next().unwrap();
    let at = cells.iter().find(|(_, c)| **c == given).unwrap().0;
    let wanted = minus(frames[at].0);
    let other = frames.iter().find(|(_, f)| f.0 == wanted).unwrap().0;
    cells[other].to_string()
}

/// Cube by cube.
fn pile(words: &str) -> usize {
    let rows: Vec<Vec<usize>> = words
        .lines()
        .filter(|l| l.len() == 5 && l.chars().all(|c| c.is_ascii_digit() || c == ' '))
        .map(|l| l.split(' ').map(number).collect())
        .collect();
    let mut cubes: HashSet<(usize, usize, usize)> = HashSet::new();
    for (y, row) in rows.iter().enumerate() {
        for (x, height) in row.iter().enumerate() {
            cubes.extend((0..*height).map(|z| (x, y, z)));
        }
    }
    if words.contains("from the front") {
        let seen: HashSet<_> = cubes.iter().map(|(x, _, z)| (x, z)).collect();
        seen.len()
    } else if words.contains("from the right") {
        let seen: HashSet<_> = cubes.iter().map(|(_, y, z)| (y, z)).collect();
        seen.len()
    } else {
        cubes
            .iter()
            .filter(|(x, y, z)| cubes.contains(&(*x, *y, z + 1)))
            .count()
    }
}

/// The moves of a question, each as a map of points around the middle, y upwards.
pub fn moved(words: &str, thing: &str, mut at: P) -> P {
    let mark = format!("the {thing} is ");
    for told in words.split(&mark).skip(1) {
        if told.starts_with("flipped so that left") {
            at.0 = -at.0;
        } else if told.starts_with("flipped so that top") {
            at.1 = -at.1;
        } else {
            let degrees = number(between(told, "rotated by ", " degrees")) as f64;
            let clockwise = !told
                .split(" degrees")
                .nth(1)
                .unwrap()
                .starts_with(" counterclockwise");
            let angle = if clockwise { -degrees } else { degrees }.to_radians();
            at = (
                at.0 * angle.cos() - at.1 * angle.sin(),
                at.0 * angle.sin() + at.1 * angle.cos(),
            );
        }
    }
    at
}

fn board(words: &str, options: &[String]) -> usize {
    let size = number(between(words, "board of ", " columns")) as f64;
    let middle = (size + 1.0) / 2.0;
    let column = number(between(words, "in column ", " from")) as f64;
    let row = number(between(words, "and row ", " from")) as f64;
    let (x, y) = moved(words, "board", (column - middle, middle - row));
    let (column, row) = ((x + middle).round() as usize, (middle - y).round() as usize);
    only(options, |o| square(o) == (column, row))
}

/// The unit vector of a direction in words, y upwards.
pub fn direction(text: &str) -> P {
    let mut at = (0.0, 0.0);
    if text.contains("up") {
        at.1 += 1.0;
    }
    if text.contains("down") {
        at.1 -= 1.0;
    }
    if text.contains("right") {
        at.0 += 1.0;
    }
    if text.contains("left") {
        at.0 -= 1.0;
    }
    let long = f64::hypot(at.0, at.1);
    (at.0 / long, at.1 / long)
}

/// The option that points the same way.
pub fn pointing(options: &[String], at: P) -> usize {
    only(options, |o| {
        let way = direction(o);
        way.0 * at.0 + way.1 * at.1 > 0.99 * f64::hypot(at.0, at.1)
    })
}

fn heading(words: &str, options: &[String]) -> usize {
    let start = direction(between(words, "points ", ". "));
    pointing(options, moved(words, "arrow", start))
}
