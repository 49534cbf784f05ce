//! Mixtures of named colours: what lies halfway between two, and in which part of the circle of hues the
//! mean of three lies.

use mary_generators::Stream;
use mary_platform::given;

use super::things::share_a_word;
use super::{
    CSS, Coloured, HUED, INSIDE, LIKE, Lab, MIXED, SECTORS, UNLIKE, beside_options, cielab,
    least_but, middle, names_of, oklab, patch, patch_options,
};
use crate::fresh::block::{Block, OPTIONS, Posed, gathered, listed};
use crate::fresh::said::{Level, phrase};
use crate::fresh::sketch::Sketch;

/// The options in the order of the answers: what lies halfway between two colours.
pub fn mixture(rng: &mut Stream, level: Level) -> Option<Block> {
    let colours = CSS.four(rng);
    let mut questions = Vec::with_capacity(OPTIONS);
    let mut clear = f64::INFINITY;
    for place in 0..OPTIONS {
        let (posed, how_clear) = (0..400).find_map(|_| {
            let (one, two) = (CSS.any(rng), CSS.any(rng));
            let how_clear = mixes_to(one, two, &colours, place)
                .filter(|c| *c >= level.clearness(MIXED).start)?;
            let options = listed(&names_of(&colours));
            let sketch = beside_options(&[one.rgb, two.rgb], &colours.map(|c| c.rgb));
            let posed = Posed::new("mixture", sketch, |said| {
                said.fill("one", &one.name)
                    .fill("two", &two.name)
                    .fill("options", &options)
            });
            Some((posed, how_clear))
        })?;
        clear = clear.min(how_clear);
        questions.push(posed);
    }
    let clear_enough = level.clearness(MIXED).contains(&clear);
    clear_enough.then(|| Block::new(names_of(&colours), questions).seen_as(patch_options()))
}

/// How clearly the middle between two colours is the option at `place` and no other, in units of the
/// margin; nothing where it is not, or where the two are too near for a mixture to be something new.
fn mixes_to(
    one: &Coloured,
    two: &Coloured,
    options: &[&Coloured; OPTIONS],
    place: usize,
) -> Option<f64> {
    given(one.look().0.distance(two.look().0) >= 0.2)?;
    let (a, b) = (one.look(), two.look());
    let (ok, cie) = (a.0.halfway(b.0), a.1.halfway(b.1));
    let far = |c: &Coloured| (c.look().0.distance(ok), c.look().1.distance(cie));
    let own = far(options[place]);
    given(own.0 <= LIKE.0 && own.1 <= LIKE.1)?;
    let clear = least_but(place, |j| {
        let other = far(options[j]);
        ((other.0 - own.0) / UNLIKE.0).min((other.1 - own.1) / UNLIKE.1)
    });
    // Words last: comparing them costs more than all the figures.
    let known = |c: &&Coloured| CSS.share_a_word(c, one) || CSS.share_a_word(c, two);
    (clear >= 1.0 && !options.iter().any(known)).then_some(clear)
}

const PURE: [(&str, [u8; 3]); 4] = [
    ("red", [255, 0, 0]),
    ("yellow", [255, 255, 0]),
    ("green", [0, 255, 0]),
    ("blue", [0, 0, 255]),
];

/// Between which two of the pure colours the hue lies in one space, and how many times the least
/// distance it keeps from them.
fn between(hue: f64, space: fn([u8; 3]) -> Lab) -> Option<(usize, f64)> {
    (0..PURE.len()).find_map(|i| {
        let from = space(PURE[i].1).hue();
        let to = space(PURE[(i + 1) % PURE.len()].1).hue();
        let width = (to - from).rem_euclid(360.0);
        let at = (hue - from).rem_euclid(360.0);
        let inside = at.min(width - at) / INSIDE;
        (inside >= 1.0).then_some((i, inside))
    })
}

pub fn sector(rng: &mut Stream, level: Level) -> Option<Block> {
    let draw = |rng: &mut Stream| {
        let three = [CSS.any(rng), CSS.any(rng), CSS.any(rng)];
        let named_pure = |c: &&Coloured| PURE.iter().any(|(p, _)| share_a_word(&c.name.en, p));
        let [a, b, c] = three.map(|c| &c.name);
        let twice = a == b || a == c || b == c;
        given(!twice && !three.iter().any(named_pure))?;
        let ok = middle(three.map(|c| c.look().0));
        let cie = middle(three.map(|c| c.look().1));
        given(ok.chroma() >= HUED.0 && cie.chroma() >= HUED.1)?;
        let (place, one) = between(ok.hue(), oklab)?;
        let (same, two) = between(cie.hue(), cielab)?;
        given(same == place && level.clearness(SECTORS).contains(&one.min(two)))?;
        let mut sketch = Sketch::new(184);
        for (number, colour) in three.iter().enumerate() {
            patch(&mut sketch, 16.0 + 164.0 * number as f64, 152.0, colour.rgb);
        }
        let names = listed(&names_of(&three));
        let posed = Posed::new("sector", sketch, |said| said.fill("names", &names));
        Some((place, posed))
    };
    gathered(rng, 1000, draw, |&i| {
        let (from, to) = (PURE[i].0, PURE[(i + 1) % PURE.len()].0);
        phrase(&format!("sector.{from}-{to}"))
    })
}
