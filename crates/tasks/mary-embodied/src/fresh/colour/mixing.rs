//! Mixtures of named colours: what lies halfway between two, and in which part of the circle of hues the
//! mean of three lies.

use mary_generators::Stream;

use super::{
    HUED, INSIDE, LIKE, Lab, MIXED, Named, SECTORS, UNLIKE, any, beside_options, cielab, four,
    frame, middle, names_of, oklab, patch_options, share_a_word,
};
use crate::fresh::block::{Block, OPTIONS, Posed, gather, listed};
use crate::fresh::said::{Level, Said};
use crate::fresh::sketch::Sketch;

/// The options in the order of the answers: what lies halfway between two colours.
pub fn mixture(rng: &mut Stream, level: Level) -> Option<Block> {
    let colours = four(rng);
    let mut questions = Vec::with_capacity(OPTIONS);
    let mut clear = f64::INFINITY;
    for place in 0..OPTIONS {
        let (posed, how_clear) = (0..400).find_map(|_| {
            let (one, two) = (any(rng), any(rng));
            let how_clear = mixes_to(one, two, &colours, place)
                .filter(|c| *c >= level.clearness(MIXED).start)?;
            let options = listed(&names_of(&colours));
            let posed = Posed {
                words: Said::new(
                    format!(
                        "Two CSS named colours, {} and {}, are averaged in equal parts in a perceptual \
                         colour space. Which of {} is nearest to the result?",
                        one.name, two.name, options.en
                    ),
                    format!(
                        "把两种 CSS 颜色关键字 {}、{} 在感知均匀的颜色空间里等量平均。{} 中哪一种与结果最接近？",
                        one.name, two.name, options.zh
                    ),
                ),
                seen: Said::new(
                    "The two colours above are averaged in equal parts in a perceptual colour space. \
                     Which of the patches P to S is nearest to the result?",
                    "把上面的两种颜色在感知均匀的颜色空间里等量平均。色块 P 到 S 中哪一个与结果最接近？",
                ),
                caption: Said::new(
                    "The picture shows the two colours above, and the four options in the order named, \
                     from left to right, as patches P to S.",
                    "图中上面是两种颜色，下面按所说的顺序从左到右是四个选项，即色块 P 到 S。",
                ),
                sketch: beside_options(&[one.rgb, two.rgb], &colours.map(|c| c.rgb)),
            };
            Some((posed, how_clear))
        })?;
        clear = clear.min(how_clear);
        questions.push(posed);
    }
    level.clearness(MIXED).contains(&clear).then(|| Block {
        options: names_of(&colours),
        seen_options: patch_options(),
        questions,
    })
}

/// How clearly the middle between two colours is the option at `place` and no other, in units of the
/// margin; nothing where it is not, or where the two are too near for a mixture to be something new.
fn mixes_to(one: &Named, two: &Named, options: &[&Named; OPTIONS], place: usize) -> Option<f64> {
    if one.ok.distance(two.ok) < 0.2 {
        return None;
    }
    let (ok, cie) = (one.ok.halfway(two.ok), one.cie.halfway(two.cie));
    let far = |c: &Named| (c.ok.distance(ok), c.cie.distance(cie));
    let own = far(options[place]);
    if own.0 > LIKE.0 || own.1 > LIKE.1 {
        return None;
    }
    let clear = (0..OPTIONS)
        .filter(|j| *j != place)
        .map(|j| {
            let other = far(options[j]);
            ((other.0 - own.0) / UNLIKE.0).min((other.1 - own.1) / UNLIKE.1)
        })
        .fold(f64::INFINITY, f64::min);
    // Words last: comparing them costs more than all the figures.
    let known = |c: &&Named| share_a_word(c.name, one.name) || share_a_word(c.name, two.name);
    (clear >= 1.0 && !options.iter().any(known)).then_some(clear)
}

/// The pure screen colours that divide the circle of hues, in order.
const PURE: [(&str, &str, [u8; 3]); 4] = [
    ("red", "红", [255, 0, 0]),
    ("yellow", "黄", [255, 255, 0]),
    ("green", "绿", [0, 255, 0]),
    ("blue", "蓝", [0, 0, 255]),
];

/// Between which two of the pure colours the hue lies in one space, and how many times the least
/// distance it keeps from them.
fn between(hue: f64, space: fn([u8; 3]) -> Lab) -> Option<(usize, f64)> {
    (0..PURE.len()).find_map(|i| {
        let from = space(PURE[i].2).hue();
        let to = space(PURE[(i + 1) % PURE.len()].2).hue();
        let width = (to - from).rem_euclid(360.0);
        let at = (hue - from).rem_euclid(360.0);
        let inside = at.min(width - at) / INSIDE;
        (inside >= 1.0).then_some((i, inside))
    })
}

/// The part of the circle in which a mixture's hue lies.
pub fn sector(rng: &mut Stream, level: Level) -> Option<Block> {
    let (answers, questions) = gather(rng, 1000, |rng| {
        let three = [any(rng), any(rng), any(rng)];
        let named_pure = |c: &&Named| PURE.iter().any(|(p, ..)| share_a_word(c.name, p));
        let twice = three[0].name == three[1].name
            || three[0].name == three[2].name
            || three[1].name == three[2].name;
        if twice || three.iter().any(named_pure) {
            return None;
        }
        let (ok, cie) = (middle(three.map(|c| c.ok)), middle(three.map(|c| c.cie)));
        if ok.chroma() < HUED.0 || cie.chroma() < HUED.1 {
            return None;
        }
        let (place, one) = between(ok.hue(), oklab)?;
        let (same, two) = between(cie.hue(), cielab)?;
        if same != place || !level.clearness(SECTORS).contains(&one.min(two)) {
            return None;
        }
        let mut sketch = Sketch::new(184);
        for (number, colour) in three.iter().enumerate() {
            let left = 16.0 + 164.0 * number as f64;
            let (from, to) = ([left, 12.0], [left + 152.0, 172.0]);
            sketch.rect(from, to, colour.rgb);
            frame(&mut sketch, from, to);
        }
        let ask = "are averaged in equal parts in a perceptual colour space. On the circle of hues, \
                   between which two of the pure screen colours red, yellow, green and blue does the hue \
                   of the result lie?";
        let ask_zh = "在感知均匀的颜色空间里等量平均。在色相环上，结果的色相位于屏幕纯色红、黄、绿、蓝中的哪两种\
                      之间？";
        let names = listed(&names_of(&three));
        let posed = Posed {
            words: Said::new(
                format!("Three CSS named colours, {}, {ask}", names.en),
                format!("把三种 CSS 颜色关键字 {} {ask_zh}", names.zh),
            ),
            seen: Said::new(
                format!("The three colours in the picture {ask}"),
                format!("把图中的三种颜色{ask_zh}"),
            ),
            caption: Said::new("The picture shows the three colours.", "图中是这三种颜色。"),
            sketch,
        };
        Some((place, posed))
    })?;
    let options = answers
        .iter()
        .map(|&i| {
            let (from, to) = (PURE[i], PURE[(i + 1) % PURE.len()]);
            Said::new(
                format!("between {} and {}", from.0, to.0),
                format!("{}与{}之间", from.1, to.1),
            )
        })
        .collect();
    Some(Block {
        options,
        seen_options: None,
        questions,
    })
}
