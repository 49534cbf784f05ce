//! Colour questions: lightness, chroma, hue and mixtures of named colours. Each is asked only where
//! OKLab and CIELAB give the same answer, both by a margin.

mod mixing;
mod space;
mod things;

use space::{Lab, cielab, middle, oklab};
use things::{Attribute, CSS, Coloured, LIFE, Palette};

use mary_generators::{Stream, below, coin, shuffle};
use mary_platform::given;

use super::block::{Block, FreshKind, OPTIONS, Posed, gathered, listed};
use super::said::{Level, Said, phrase};
use super::sketch::{BLACK, Sketch, WIDTH};

const LIGHTER: (f64, f64) = (0.06, 6.0);
const STRONGER: (f64, f64) = (0.035, 9.0);
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

pub static BY_NAME: [FreshKind; 6] = [
    FreshKind::new("extreme", |rng, level| extreme(&CSS, rng, level))
        .growing("the least clear comparison, in margins: 1.4, 1.25, 1.12, 1"),
    FreshKind::new("order", |rng, level| order(&CSS, rng, level))
        .growing("the least clear comparison, in margins: 2, 1.6, 1.25, 1"),
    FreshKind::new("compared", |rng, level| compared(&CSS, rng, level))
        .growing("the least clear comparison, in margins: 2.5, 1.8, 1.3, 1"),
    FreshKind::new("hue", |rng, level| hue(&CSS, rng, level)),
    FreshKind::new("mixture", mixing::mixture),
    FreshKind::new("sector", mixing::sector),
];

pub static IN_LIFE: [FreshKind; 4] = [
    FreshKind::new("life-extreme", |rng, level| extreme(&LIFE, rng, level)),
    FreshKind::new("life-order", |rng, level| order(&LIFE, rng, level)),
    FreshKind::new("life-compared", |rng, level| compared(&LIFE, rng, level)),
    FreshKind::new("life-hue", |rng, level| hue(&LIFE, rng, level)),
];

/// The least value of the other three places.
fn least_but(place: usize, value: impl Fn(usize) -> f64) -> f64 {
    let others = (0..OPTIONS).filter(|j| *j != place);
    others.map(value).fold(f64::INFINITY, f64::min)
}

/// The places with the least and the most of four, and how clearly: the smallest of their gaps to the
/// others.
fn ends(gap: impl Fn(usize, usize) -> f64) -> Option<(usize, usize, f64)> {
    let clear = |i: usize, more: bool| least_but(i, |j| if more { gap(j, i) } else { gap(i, j) });
    let find = |more: bool| {
        let mut all = (0..OPTIONS).map(|i| (i, clear(i, more)));
        all.find(|(_, clear)| *clear > 0.0)
    };
    let ((least, one), (most, two)) = (find(false)?, find(true)?);
    Some((least, most, one.min(two)))
}

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
        patch(sketch, left, 180.0, paint);
    }
}

fn patch(sketch: &mut Sketch, left: f64, wide: f64, paint: [u8; 3]) {
    let (from, to) = ([left, 12.0], [left + wide, 172.0]);
    sketch.rect(from, to, paint);
    frame(sketch, from, to);
}

fn patch_options() -> Vec<Said> {
    let patch = |letter: &char| phrase("colour.patch").with("letter", letter);
    LETTERS.iter().map(patch).collect()
}

fn names_of(colours: &[&Coloured]) -> Vec<Said> {
    colours.iter().map(|c| c.name.clone()).collect()
}

fn about_four(palette: &Palette, colours: &[&Coloured; OPTIONS], ask: &Said) -> Posed {
    let mut sketch = Sketch::new(208);
    patches(&mut sketch, 8.0, &colours.map(|c| c.rgb));
    let names = listed(&names_of(colours));
    Posed {
        words: palette.phrase("four").fill("names", &names).then(ask),
        seen: phrase("colour.four-seen").then(ask),
        caption: phrase("colour.four-caption"),
        sketch,
    }
}

/// The least and the most of lightness and chroma, each another of the four.
fn extreme(palette: &Palette, rng: &mut Stream, level: Level) -> Option<Block> {
    let colours = palette.four(rng);
    let of = |attribute: Attribute| ends(|i, j| attribute.gap(colours[i], colours[j]));
    let (darkest, lightest, light_clear) = of(Attribute::Lightness)?;
    let (greyest, strongest, chroma_clear) = of(Attribute::Chroma)?;
    let clear = light_clear.min(chroma_clear);
    given(level.clearness(ENDS).contains(&clear))?;
    // Each question at the place that answers it; nothing where one place answers two.
    let mut asks: [Option<Said>; OPTIONS] = Default::default();
    let places = [darkest, lightest, greyest, strongest];
    let extremes = ["darkest", "lightest", "greyest", "strongest"];
    for (place, which) in places.into_iter().zip(extremes) {
        asks[place] = Some(phrase(&format!("colour.{which}")));
    }
    let asks: Vec<Said> = asks.into_iter().collect::<Option<_>>()?;
    let questions = asks.iter().map(|ask| about_four(palette, &colours, ask));
    let block = Block::new(names_of(&colours), questions.collect());
    Some(block.seen_as(patch_options()))
}

fn order(palette: &Palette, rng: &mut Stream, level: Level) -> Option<Block> {
    let mut colours = palette.four(rng);
    let (attribute, way) = if coin(rng) {
        (Attribute::Lightness, "colour.by-lightness")
    } else {
        (Attribute::Chroma, "colour.by-chroma")
    };
    colours.sort_by(|a, b| attribute.least(a).total_cmp(&attribute.least(b)));
    let gaps = colours.windows(2).map(|w| attribute.gap(w[0], w[1]));
    let clear = gaps.fold(f64::INFINITY, f64::min);
    given(level.clearness(ROW).contains(&clear))?;
    let mut places = [0, 1, 2, 3];
    shuffle(rng, &mut places);
    let shown = places.map(|place| colours[place]);
    let ordinals = ["first", "second", "third", "last"];
    let questions = places.map(|place| {
        let ordinal = phrase(&format!("colour.{}", ordinals[place]));
        let ask = phrase("colour.order").fill("way", &phrase(way));
        about_four(palette, &shown, &ask.fill("ordinal", &ordinal))
    });
    let questions = questions.into();
    Some(Block::new(names_of(&shown), questions).seen_as(patch_options()))
}

/// Two colours side by side: lighter or darker, more colourful or greyer.
fn compared(palette: &Palette, rng: &mut Stream, level: Level) -> Option<Block> {
    let draw = |rng: &mut Stream| {
        let (one, two) = (palette.any(rng), palette.any(rng));
        let side = |attribute: Attribute| {
            let (more, less) = (attribute.gap(one, two), attribute.gap(two, one));
            (more > less, more.max(less))
        };
        let (lighter, light_clear) = side(Attribute::Lightness);
        let (stronger, chroma_clear) = side(Attribute::Chroma);
        let clear = light_clear.min(chroma_clear);
        given(level.clearness(SIDE_BY_SIDE).contains(&clear))?;
        let mut sketch = Sketch::new(184);
        two_patches(&mut sketch, one.rgb, two.rgb);
        let words = palette.phrase("compared");
        let posed = Posed {
            words: words.fill("one", &one.name).fill("two", &two.name),
            seen: phrase("colour.two-seen"),
            caption: phrase("colour.two-caption"),
            sketch,
        };
        let light = if lighter { "lighter" } else { "darker" };
        let chroma = if stronger { "stronger" } else { "greyer" };
        Some((phrase(&format!("colour.{light}-{chroma}")), posed))
    };
    gathered(rng, 200, draw, Said::clone)
}

/// One given colour above, the four options below.
fn beside_options(given: &[[u8; 3]], options: &[[u8; 3]]) -> Sketch {
    let mut sketch = Sketch::new(392);
    match given {
        [one, two] => two_patches(&mut sketch, *one, *two),
        _ => given
            .iter()
            .for_each(|paint| patch(&mut sketch, 166.0, 180.0, *paint)),
    }
    patches(&mut sketch, 192.0, options);
    sketch
}

/// How much nearer the right hue is than the nearest wrong one, in units of what is asked for at least.
fn hue_clearness(right: f64, nearest_wrong: f64) -> f64 {
    (nearest_wrong - right) / (APART - NEAR)
}

fn hue(palette: &Palette, rng: &mut Stream, level: Level) -> Option<Block> {
    let colours = palette.four(rng);
    let apart = |i: usize| (0..i).all(|j| colours[i].hue_gaps(colours[j]).0 >= APART);
    given((0..OPTIONS).all(|i| colours[i].hued() && apart(i)))?;
    let mut questions = Vec::with_capacity(OPTIONS);
    let mut clear = f64::INFINITY;
    for (place, option) in colours.iter().enumerate() {
        let wrong = |given: &Coloured| least_but(place, |j| given.hue_gaps(colours[j]).0);
        let clearness = |given: &Coloured| hue_clearness(given.hue_gaps(option).1, wrong(given));
        let fits = |given: &&Coloured| {
            given.hued()
                && given.name != option.name
                && given.hue_gaps(option).1 <= NEAR
                && colours.iter().all(|c| !palette.share_a_word(c, given))
                && wrong(given) >= APART
                && clearness(given) >= level.clearness(HUES).start
        };
        let fitting: Vec<&Coloured> = palette.all().iter().filter(fits).collect();
        let given = fitting.get(below(rng, fitting.len()))?;
        clear = clear.min(clearness(given));
        let options = listed(&names_of(&colours));
        let words = palette.phrase("hue");
        questions.push(Posed {
            words: words.fill("options", &options).fill("given", &given.name),
            seen: phrase("colour.hue-seen"),
            caption: phrase("colour.hue-caption"),
            sketch: beside_options(&[given.rgb], &colours.map(|c| c.rgb)),
        });
    }
    let clear_enough = level.clearness(HUES).contains(&clear);
    clear_enough.then(|| Block::new(names_of(&colours), questions).seen_as(patch_options()))
}
