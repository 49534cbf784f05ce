//! Colours once more: from the chromaticities of the sRGB primaries through XYZ, to OKLab by its two
//! published matrices and to CIELAB under D50 after Bradford's adaptation. Another table of names,
//! other constants, another way; both spaces must give the answer.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::{between, names, only};

type V = [f64; 3];
type M = [V; 3];

fn times(m: &M, v: V) -> V {
    std::array::from_fn(|i| (0..3).map(|j| m[i][j] * v[j]).sum())
}

fn inverse(m: &M) -> M {
    let minor = |i: usize, j: usize| {
        let (a, b) = ((i + 1) % 3, (i + 2) % 3);
        let (c, d) = ((j + 1) % 3, (j + 2) % 3);
        m[a][c] * m[b][d] - m[a][d] * m[b][c]
    };
    let det: f64 = (0..3).map(|j| m[0][j] * minor(0, j)).sum();
    std::array::from_fn(|i| std::array::from_fn(|j| minor(j, i) / det))
}

fn xyz_of_xy(x: f64, y: f64) -> V {
    [x / y, 1.0, (1.0 - x - y) / y]
}

/// Linear sRGB to XYZ, from the primaries and the white of IEC 61966-2-1.
fn to_xyz() -> M {
    let primaries = [
        xyz_of_xy(0.64, 0.33),
        xyz_of_xy(0.30, 0.60),
        xyz_of_xy(0.15, 0.06),
    ];
    let columns: M = std::array::from_fn(|i| std::array::from_fn(|j| primaries[j][i]));
    let scale = times(&inverse(&columns), xyz_of_xy(0.3127, 0.3290));
    std::array::from_fn(|i| std::array::from_fn(|j| columns[i][j] * scale[j]))
}

fn xyz(rgb: [u8; 3]) -> V {
    let linear = rgb.map(|c| {
        let c = f64::from(c) / 255.0;
        if c < 0.04 {
            c / 12.92
        } else {
            (0.947_867_298_6 * c + 0.052_132_701_4).powf(2.4)
        }
    });
    times(&to_xyz(), linear)
}

fn oklab(rgb: [u8; 3]) -> V {
    let lms = times(
        &[
            [0.8189330101, 0.3618667424, -0.1288597137],
            [0.0329845436, 0.9293118715, 0.0361456387],
            [0.0482003018, 0.2643662691, 0.6338517070],
        ],
        xyz(rgb),
    );
    times(
        &[
            [0.2104542553, 0.7936177850, -0.0040720468],
            [1.9779984951, -2.4285922050, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.8086757660],
        ],
        lms.map(|v| v.max(0.0).powf(1.0 / 3.0)),
    )
}

fn cielab_d50(rgb: [u8; 3]) -> V {
    let bradford: M = [
        [0.8951, 0.2664, -0.1614],
        [-0.7502, 1.7135, 0.0367],
        [0.0389, -0.0685, 1.0296],
    ];
    let d65 = xyz_of_xy(0.3127, 0.3290);
    let d50 = xyz_of_xy(0.3457, 0.3585);
    let (from, to) = (times(&bradford, d65), times(&bradford, d50));
    let cone = times(&bradford, xyz(rgb));
    let adapted = times(
        &inverse(&bradford),
        std::array::from_fn(|i| cone[i] * to[i] / from[i]),
    );
    let delta: f64 = 6.0 / 29.0;
    let f = |t: f64| {
        if t > delta.powi(3) {
            t.powf(1.0 / 3.0)
        } else {
            t / (3.0 * delta * delta) + 4.0 / 29.0
        }
    };
    let [x, y, z] = std::array::from_fn(|i| f(adapted[i] / d50[i]));
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

fn table() -> &'static HashMap<String, [u8; 3]> {
    static TABLE: OnceLock<HashMap<String, [u8; 3]>> = OnceLock::new();
    TABLE.get_or_init(|| {
        include_str!("css-colours.txt")
            .lines()
            .filter(|l| !l.starts_with('#'))
            .map(|line| {
                let mut parts = line.split(' ');
                let name = parts.next().unwrap().to_owned();
                let rgb: Vec<u8> = parts.map(|p| p.parse().unwrap()).collect();
                (name, rgb.try_into().unwrap())
            })
            .collect()
    })
}

/// A named colour in a space, worked out once.
fn known(space: Space, name: &str) -> V {
    static KNOWN: OnceLock<HashMap<String, [V; 2]>> = OnceLock::new();
    let all = KNOWN.get_or_init(|| {
        let both = |rgb: &[u8; 3]| [oklab(*rgb), cielab_d50(*rgb)];
        let colours = table().iter();
        colours
            .map(|(name, rgb)| (name.clone(), both(rgb)))
            .collect()
    });
    let values = all
        .get(&name.replace(' ', ""))
        .unwrap_or_else(|| panic!("no colour `{name}`"));
    values[space as usize]
}

/// A colour in OKLab (0) or CIELAB (1).
pub fn in_space(space: usize, rgb: [u8; 3]) -> V {
    if space == 0 {
        oklab(rgb)
    } else {
        cielab_d50(rgb)
    }
}

/// A named colour in OKLab.
pub fn named(name: &str) -> V {
    known(Space::Oklab, name)
}

/// The answer of an eye that sees every colour in OKLab with an error of this size.
pub fn blurred(
    kind: &str,
    words: &str,
    options: &[String],
    size: f64,
    error: &mut dyn FnMut() -> f64,
) -> usize {
    let list = match kind {
        "compared" => vec![
            between(words, "named colour ", ", what"),
            between(words, "what is ", " like"),
        ],
        _ => names(between(words, "colours ", ". ")),
    };
    let seen: HashMap<&str, V> = list
        .into_iter()
        .map(|name| (name, known(Space::Oklab, name).map(|v| v + size * error())))
        .collect();
    answer(kind, words, options, &|name: &str| seen[name])
}

#[derive(Clone, Copy)]
enum Space {
    Oklab,
    Cielab,
}

pub fn chroma(v: V) -> f64 {
    (v[1] * v[1] + v[2] * v[2]).sqrt()
}

pub fn hue(v: V) -> f64 {
    let angle = v[2].atan2(v[1]).to_degrees();
    if angle < 0.0 { angle + 360.0 } else { angle }
}

fn far(a: V, b: V) -> f64 {
    (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>().sqrt()
}

fn mean(a: V, b: V) -> V {
    std::array::from_fn(|i| 0.5 * a[i] + 0.5 * b[i])
}

pub fn solve(kind: &str, words: &str, options: &[String]) -> usize {
    let one = solve_in(Space::Oklab, kind, words, options);
    let two = solve_in(Space::Cielab, kind, words, options);
    assert_eq!(one, two, "the spaces disagree: {words} {options:?}");
    one
}

/// The place of the smallest value.
fn least(values: &[f64]) -> usize {
    (0..values.len())
        .min_by(|a, b| values[*a].total_cmp(&values[*b]))
        .unwrap()
}

fn solve_in(space: Space, kind: &str, words: &str, options: &[String]) -> usize {
    answer(kind, words, options, &|name: &str| known(space, name))
}

/// The answer when each named colour is seen as `of` says.
fn answer(kind: &str, words: &str, options: &[String], of: &dyn Fn(&str) -> V) -> usize {
    let rank = |value: &dyn Fn(&str) -> f64| -> usize {
        least(&options.iter().map(|o| value(o)).collect::<Vec<_>>())
    };
    match kind {
        "extreme" => {
            let offered = names(between(words, "colours ", ". "));
            assert!(options.iter().all(|o| offered.contains(&o.as_str())));
            if words.contains("darkest") {
                rank(&|o| of(o)[0])
            } else if words.contains("lightest") {
                rank(&|o| -of(o)[0])
            } else if words.contains("lowest chroma") {
                rank(&|o| chroma(of(o)))
            } else {
                assert!(words.contains("highest chroma"));
                rank(&|o| -chroma(of(o)))
            }
        }
        "order" => {
            let mut row = names(between(words, "colours ", ". "));
            let by_light = words.contains("darkest");
            row.sort_by(|a, b| {
                let value = |n: &str| if by_light { of(n)[0] } else { chroma(of(n)) };
                value(a).total_cmp(&value(b))
            });
            let place = match between(words, "comes ", "?") {
                "first" => 0,
                "second" => 1,
                "third" => 2,
                _ => 3,
            };
            only(options, |o| o == row[place])
        }
        "compared" => {
            let (a, b) = (
                of(between(words, "named colour ", ", what")),
                of(between(words, "what is ", " like")),
            );
            let light = if b[0] > a[0] { "lighter" } else { "darker" };
            let strong = if chroma(b) > chroma(a) {
                "more colourful"
            } else {
                "greyer"
            };
            only(options, |o| o == format!("{light} and {strong}"))
        }
        "hue" => {
            let given = hue(of(between(words, "that of ", "?")));
            rank(&|o| {
                let gap = (hue(of(o)) - given).abs();
                if gap > 180.0 { 360.0 - gap } else { gap }
            })
        }
        "mixture" => {
            let pair = names(between(words, "colours, ", ", are"));
            let mixed = mean(of(pair[0]), of(pair[1]));
            rank(&|o| far(of(o), mixed))
        }
        "sector" => {
            let mixed = names(between(words, "colours, ", ", are"))
                .iter()
                .fold([0.0; 3], |sum: V, name| {
                    std::array::from_fn(|i| sum[i] + of(name)[i])
                });
            let mixed = hue(mixed);
            only(options, |o| {
                let ends = names(o.strip_prefix("between ").unwrap());
                // The screen's pure green is called lime among the names.
                let pure = |n: &str| hue(of(if n == "green" { "lime" } else { n }));
                let (from, to) = (pure(ends[0]), pure(ends[1]));
                if from < to {
                    from < mixed && mixed < to
                } else {
                    mixed > from || mixed < to
                }
            })
        }
        other => panic!("no such kind: {other}"),
    }
}

/// Ottosson's own table of XYZ and OKLab pairs (2020), to the three digits printed.
#[test]
fn the_other_pipeline_is_the_published_one() {
    let white = oklab([255; 3]);
    assert!((white[0] - 1.0).abs() < 1e-3 && chroma(white) < 1e-3);
    let green = cielab_d50([0, 128, 0]);
    // CSS Color Module Level 4 prints lab(46.2775% -47.5621 48.5837) for `green`.
    for (found, printed) in green.iter().zip([46.2775, -47.5621, 48.5837]) {
        assert!((found - printed).abs() < 0.05, "{green:?}");
    }
}
