//! Colour questions: lightness, chroma, hue and mixtures of named colours. Each is asked only where
//! OKLab and CIELAB give the same answer, both by a margin.

mod life;
mod mixing;
mod names;
mod space;

pub use names::{Named, named};
pub use space::{Lab, cielab, hue_gap, middle, oklab};

use mary_generators::{Stream, below, coin, shuffle};

use super::block::{Block, Kind, OPTIONS, Posed, gather, listed};
use super::said::{Level, Said};
use super::sketch::{BLACK, Sketch, WIDTH};

/// Two colours differ in lightness from here on: (OKLab, CIELAB).
const LIGHTER: (f64, f64) = (0.06, 6.0);
/// Two colours differ in chroma from here on.
const STRONGER: (f64, f64) = (0.035, 9.0);
/// A colour has a hue from this chroma on.
const HUED: (f64, f64) = (0.06, 16.0);
/// Hues this near are neighbours, in degrees.
const NEAR: f64 = 18.0;
/// A hue is no neighbour from here on.
const APART: f64 = 42.0;
/// A mixture looks like a colour this near to it.
const LIKE: (f64, f64) = (0.07, 13.0);
/// The next one must be this much farther.
const UNLIKE: (f64, f64) = (0.09, 16.0);
/// A hue lies clearly between two others from this many degrees on.
const INSIDE: f64 = 7.0;

/// On the ladder colours come nearer to each other: how clear the least clear comparison is on the first
/// three rungs, in margins; the last rung reaches down to the margin itself.
const ENDS: [f64; 3] = [1.4, 1.25, 1.12];
const ROW: [f64; 3] = [2.0, 1.6, 1.25];
const SIDE_BY_SIDE: [f64; 3] = [2.5, 1.8, 1.3];
const HUES: [f64; 3] = [1.6, 1.3, 1.15];
const MIXED: [f64; 3] = [1.4, 1.25, 1.12];
const SECTORS: [f64; 3] = [3.0, 2.0, 1.4];

/// The kinds of question about colours that are named.
pub static BY_NAME: [Kind; 6] = [
    Kind {
        name: "extreme",
        draw: extreme,
        grows: Some("the least clear comparison, in margins: 1.4, 1.25, 1.12, 1"),
    },
    Kind {
        name: "order",
        draw: order,
        grows: Some("the least clear comparison, in margins: 2, 1.6, 1.25, 1"),
    },
    Kind {
        name: "compared",
        draw: compared,
        grows: Some("the least clear comparison, in margins: 2.5, 1.8, 1.3, 1"),
    },
    Kind {
        name: "hue",
        draw: hue,
        grows: None,
    },
    Kind {
        name: "mixture",
        draw: mixing::mixture,
        grows: None,
    },
    Kind {
        name: "sector",
        draw: mixing::sector,
        grows: None,
    },
];

/// The kinds of question about things as they look in life.
pub static IN_LIFE: [Kind; 4] = [
    Kind {
        name: "life-extreme",
        draw: life::extreme,
        grows: None,
    },
    Kind {
        name: "life-order",
        draw: life::order,
        grows: None,
    },
    Kind {
        name: "life-compared",
        draw: life::compared,
        grows: None,
    },
    Kind {
        name: "life-hue",
        draw: life::hue,
        grows: None,
    },
];

/// The margins in words, for the conventions.
pub const MARGINS: &str = "CSS named colours, sRGB; an answer must hold in OKLab and in CIELAB (D65) \
    alike: lightness apart by 0.06 and 6, chroma by 0.035 and 9, hue neighbours within 18 degrees and \
    others beyond 42, a mixture within 0.07 and 13 of its answer and the others at least 0.09 and 16 \
    farther; things as they look in life: by the same margins for every one of the three typical colours \
    a thing has";

fn any(rng: &mut Stream) -> &'static Named {
    let all = named();
    // The table is compiled in and not empty.
    all.get(below(rng, all.len())).unwrap_or(&all[0])
}

fn four(rng: &mut Stream) -> [&'static Named; OPTIONS] {
    loop {
        let drawn = [any(rng), any(rng), any(rng), any(rng)];
        let twice = |i: usize| drawn[..i].iter().any(|d| d.name == drawn[i].name);
        if !(0..OPTIONS).any(twice) {
            return drawn;
        }
    }
}

fn hued(c: &Named) -> bool {
    c.ok.chroma() >= HUED.0 && c.cie.chroma() >= HUED.1
}

/// How far apart two hues are: the smaller and the larger of the two spaces' opinions.
fn gaps(one: &Named, two: &Named) -> (f64, f64) {
    let ok = hue_gap(one.ok.hue(), two.ok.hue());
    let cie = hue_gap(one.cie.hue(), two.cie.hue());
    (ok.min(cie), ok.max(cie))
}

/// An attribute that grows from colour to colour, in both spaces.
#[derive(Clone, Copy)]
enum Attribute {
    Lightness,
    Chroma,
}

impl Attribute {
    fn of(self, c: &Named) -> (f64, f64) {
        match self {
            Self::Lightness => (c.ok.l, c.cie.l),
            Self::Chroma => (c.ok.chroma(), c.cie.chroma()),
        }
    }

    fn margin(self) -> (f64, f64) {
        match self {
            Self::Lightness => LIGHTER,
            Self::Chroma => STRONGER,
        }
    }

    /// By how many margins the second has more of it, in the space that says less.
    fn gap(self, one: &Named, two: &Named) -> f64 {
        let (a, b, margin) = (self.of(one), self.of(two), self.margin());
        ((b.0 - a.0) / margin.0).min((b.1 - a.1) / margin.1)
    }
}

/// The places with the least and the most of four, and how clearly: the smallest of their gaps to the
/// others.
fn ends(gap: impl Fn(usize, usize) -> f64) -> Option<(usize, usize, f64)> {
    let clear = |i: usize, more: bool| {
        (0..OPTIONS)
            .filter(|j| *j != i)
            .map(|j| if more { gap(j, i) } else { gap(i, j) })
            .fold(f64::INFINITY, f64::min)
    };
    let find = |more: bool| {
        (0..OPTIONS)
            .map(|i| (i, clear(i, more)))
            .find(|(_, clear)| *clear > 0.0)
    };
    let ((least, one), (most, two)) = (find(false)?, find(true)?);
    Some((least, most, one.min(two)))
}

/// Patches in a row, named P to S.
const LETTERS: [char; OPTIONS] = ['P', 'Q', 'R', 'S'];

fn patches(sketch: &mut Sketch, top: f64, colours: &[[u8; 3]]) {
    let cell = WIDTH as f64 / OPTIONS as f64;
    for (place, (colour, letter)) in colours.iter().zip(LETTERS).enumerate() {
        let left = place as f64 * cell;
        let from = [left + 8.0, top];
        sketch.rect(from, [left + cell - 8.0, top + 150.0], *colour);
        frame(sketch, from, [left + cell - 8.0, top + 150.0]);
        sketch.glyph_at(letter, [left + cell / 2.0, top + 176.0], 34.0, BLACK);
    }
}

/// A thin line around a patch, so that white has an edge too.
fn frame(sketch: &mut Sketch, from: [f64; 2], to: [f64; 2]) {
    let corners = [from, [to[0], from[1]], to, [from[0], to[1]]];
    sketch.ring(&corners, 1.0, [120; 3]);
}

fn two_patches(sketch: &mut Sketch, one: [u8; 3], two: [u8; 3]) {
    for (left, paint) in [(64.0, one), (268.0, two)] {
        let (from, to) = ([left, 12.0], [left + 180.0, 172.0]);
        sketch.rect(from, to, paint);
        frame(sketch, from, to);
    }
}

fn patch_options() -> Option<Vec<Said>> {
    let patch = |l: &char| Said::new(format!("patch {l}"), format!("色块 {l}"));
    Some(LETTERS.iter().map(patch).collect())
}

/// A named colour is called by its keyword in both languages: it is a name of a standard, and a
/// translation would carry the character of its hue.
fn names_of(colours: &[&Named]) -> Vec<Said> {
    colours.iter().map(|c| Said::same(c.name)).collect()
}

fn row_caption() -> Said {
    Said::new(
        "The picture shows the four colours in the order named, from left to right, as patches P to S.",
        "图中按所说的顺序从左到右显示四种颜色，即色块 P 到 S。",
    )
}

/// What is asked about the four when only patches are shown.
fn seen_four(ask: &Said) -> Said {
    Said::new(
        "The picture shows four colours as patches P to S.",
        "图中有四种颜色，即色块 P 到 S。",
    )
    .then(ask)
}

/// The four colours shown, and a question about one of them.
fn about_four(colours: &[&Named; OPTIONS], ask: &Said) -> Posed {
    let mut sketch = Sketch::new(208);
    patches(&mut sketch, 8.0, &colours.map(|c| c.rgb));
    let names = listed(&names_of(colours));
    let words = Said::new(
        format!("Take the CSS named colours {}.", names.en),
        format!("取 CSS 颜色关键字 {}。", names.zh),
    );
    Posed {
        words: words.then(ask),
        seen: seen_four(ask),
        caption: row_caption(),
        sketch,
    }
}

/// The questions about the ends of a row: darkest, lightest, greyest, most colourful.
fn end_asks() -> [Said; OPTIONS] {
    [
        Said::new("Which of them is the darkest?", "其中哪一种最暗？"),
        Said::new("Which of them is the lightest?", "其中哪一种最亮？"),
        Said::new(
            "Which of them is the closest to a neutral grey (has the lowest chroma)?",
            "其中哪一种最接近中性灰（彩度最低）？",
        ),
        Said::new(
            "Which of them is the most colourful (has the highest chroma)?",
            "其中哪一种最鲜艳（彩度最高）？",
        ),
    ]
}

/// Each of the four questions about ends, at the place that answers it; nothing where one place answers
/// two.
fn asks_by_place(places: [usize; OPTIONS]) -> Option<Vec<Said>> {
    let mut asks: [Option<Said>; OPTIONS] = Default::default();
    for (place, ask) in places.into_iter().zip(end_asks()) {
        *asks.get_mut(place)? = Some(ask);
    }
    asks.into_iter().collect()
}

/// Lightest, darkest, most and least colourful, each another of the four.
fn extreme(rng: &mut Stream, level: Level) -> Option<Block> {
    let colours = four(rng);
    let of = |attribute: Attribute| ends(|i, j| attribute.gap(colours[i], colours[j]));
    let (darkest, lightest, light_clear) = of(Attribute::Lightness)?;
    let (greyest, strongest, chroma_clear) = of(Attribute::Chroma)?;
    if !level
        .clearness(ENDS)
        .contains(&light_clear.min(chroma_clear))
    {
        return None;
    }
    let asks = asks_by_place([darkest, lightest, greyest, strongest])?;
    Some(Block {
        options: names_of(&colours),
        seen_options: patch_options(),
        questions: asks.iter().map(|ask| about_four(&colours, ask)).collect(),
    })
}

/// The question for the place in a row.
fn order_ask(attribute: Attribute, place: usize) -> Said {
    let (way, way_zh) = match attribute {
        Attribute::Lightness => ("from the darkest to the lightest", "从最暗到最亮"),
        Attribute::Chroma => (
            "from the greyest to the most colourful (by chroma)",
            "按彩度从最灰到最鲜艳",
        ),
    };
    let (ordinal, ordinal_zh) = [
        ("first", "第一"),
        ("second", "第二"),
        ("third", "第三"),
        ("last", "最后"),
    ][place.min(OPTIONS - 1)];
    Said::new(
        format!("Put them in order {way}. Which of them comes {ordinal}?"),
        format!("把它们{way_zh}排成一列。排在{ordinal_zh}的是哪一种？"),
    )
}

/// The places in a row from least to most.
fn order(rng: &mut Stream, level: Level) -> Option<Block> {
    let mut colours = four(rng);
    let attribute = if coin(rng) {
        Attribute::Lightness
    } else {
        Attribute::Chroma
    };
    colours.sort_by(|a, b| attribute.of(a).0.total_cmp(&attribute.of(b).0));
    let clear = colours
        .windows(2)
        .map(|w| attribute.gap(w[0], w[1]))
        .fold(f64::INFINITY, f64::min);
    if !level.clearness(ROW).contains(&clear) {
        return None;
    }
    let mut places: Vec<usize> = (0..OPTIONS).collect();
    shuffle(rng, &mut places);
    let shown: [&Named; OPTIONS] = std::array::from_fn(|i| {
        let place = places.get(i).copied().unwrap_or(i);
        colours[place]
    });
    let questions = places
        .iter()
        .map(|place| about_four(&shown, &order_ask(attribute, *place)))
        .collect();
    Some(Block {
        options: names_of(&shown),
        seen_options: patch_options(),
        questions,
    })
}

/// What a colour is like beside another: lighter or darker, more colourful or greyer.
fn comparison(lighter: bool, stronger: bool) -> Said {
    match (lighter, stronger) {
        (true, true) => Said::new("lighter and more colourful", "更亮而且更鲜艳"),
        (true, false) => Said::new("lighter and greyer", "更亮而且更灰"),
        (false, true) => Said::new("darker and more colourful", "更暗而且更鲜艳"),
        (false, false) => Said::new("darker and greyer", "更暗而且更灰"),
    }
}

fn two_caption() -> Said {
    Said::new(
        "The picture shows the first colour on the left and the second on the right.",
        "图中左边是前一种颜色，右边是后一种。",
    )
}

fn seen_two() -> Said {
    Said::new(
        "The picture shows two colours. Compared with the left one, what is the right one like in \
         lightness and chroma?",
        "图中有两种颜色。与左边的相比，右边的明度和彩度如何？",
    )
}

/// Two colours side by side: lighter or darker, more colourful or greyer.
fn compared(rng: &mut Stream, level: Level) -> Option<Block> {
    let (answers, questions) = gather(rng, 200, |rng| {
        let (one, two) = (any(rng), any(rng));
        let side = |attribute: Attribute| {
            let (more, less) = (attribute.gap(one, two), attribute.gap(two, one));
            (more > less, more.max(less))
        };
        let (lighter, light_clear) = side(Attribute::Lightness);
        let (stronger, chroma_clear) = side(Attribute::Chroma);
        if !level
            .clearness(SIDE_BY_SIDE)
            .contains(&light_clear.min(chroma_clear))
        {
            return None;
        }
        let mut sketch = Sketch::new(184);
        two_patches(&mut sketch, one.rgb, two.rgb);
        let posed = Posed {
            words: Said::new(
                format!(
                    "Compared with the CSS named colour {}, what is {} like in lightness and chroma?",
                    one.name, two.name
                ),
                format!(
                    "与 CSS 颜色关键字 {} 相比，{} 的明度和彩度如何？",
                    one.name, two.name
                ),
            ),
            seen: seen_two(),
            caption: two_caption(),
            sketch,
        };
        Some((comparison(lighter, stronger), posed))
    })?;
    Some(Block {
        options: answers,
        seen_options: None,
        questions,
    })
}

/// Whether two names have a word in common: then the name alone would tell.
fn share_a_word(one: &str, two: &str) -> bool {
    one.split(' ').any(|w| two.split(' ').any(|v| v == w))
}

/// One given colour above, the four options below.
fn beside_options(given: &[[u8; 3]], options: &[[u8; 3]]) -> Sketch {
    let mut sketch = Sketch::new(392);
    match given {
        [one, two] => two_patches(&mut sketch, *one, *two),
        _ => {
            for paint in given {
                sketch.rect([166.0, 12.0], [346.0, 172.0], *paint);
                frame(&mut sketch, [166.0, 12.0], [346.0, 172.0]);
            }
        }
    }
    patches(&mut sketch, 192.0, options);
    sketch
}

fn hue_seen() -> Said {
    Said::new(
        "Which of the patches P to S has the hue nearest to that of the patch above them?",
        "色块 P 到 S 中，哪一个的色相与上面的色块最接近？",
    )
}

fn hue_caption() -> Said {
    Said::new(
        "The picture shows the colour asked about above, and the four options in the order named, from \
         left to right, as patches P to S.",
        "图中上面是所问的颜色，下面按所说的顺序从左到右是四个选项，即色块 P 到 S。",
    )
}

/// How much nearer the right hue is than the nearest wrong one, in units of what is asked for at least.
fn hue_clearness(right: f64, nearest_wrong: f64) -> f64 {
    (nearest_wrong - right) / (APART - NEAR)
}

/// The nearest hue of four.
fn hue(rng: &mut Stream, level: Level) -> Option<Block> {
    let colours = four(rng);
    let apart = |i: usize| (0..i).all(|j| gaps(colours[i], colours[j]).0 >= APART);
    if !(0..OPTIONS).all(|i| hued(colours[i]) && apart(i)) {
        return None;
    }
    let mut questions = Vec::with_capacity(OPTIONS);
    let mut clear = f64::INFINITY;
    for (place, option) in colours.iter().enumerate() {
        let wrong = |given: &Named| {
            (0..OPTIONS)
                .filter(|j| *j != place)
                .map(|j| gaps(given, colours[j]).0)
                .fold(f64::INFINITY, f64::min)
        };
        let fits = |given: &&'static Named| {
            hued(given)
                && given.name != option.name
                && gaps(given, option).1 <= NEAR
                && colours.iter().all(|c| !share_a_word(c.name, given.name))
                && wrong(given) >= APART
                && hue_clearness(gaps(given, option).1, wrong(given)) >= level.clearness(HUES).start
        };
        let fitting: Vec<&'static Named> = named().iter().filter(fits).collect();
        let given = fitting.get(below(rng, fitting.len()))?;
        clear = clear.min(hue_clearness(gaps(given, option).1, wrong(given)));
        let options = listed(&names_of(&colours));
        questions.push(Posed {
            words: Said::new(
                format!(
                    "Which of the CSS named colours {} has the hue nearest to that of {}?",
                    options.en, given.name
                ),
                format!(
                    "CSS 颜色关键字 {} 中，哪一种的色相与 {} 最接近？",
                    options.zh, given.name
                ),
            ),
            seen: hue_seen(),
            caption: hue_caption(),
            sketch: beside_options(&[given.rgb], &colours.map(|c| c.rgb)),
        });
    }
    level.clearness(HUES).contains(&clear).then(|| Block {
        options: names_of(&colours),
        seen_options: patch_options(),
        questions,
    })
}
