//! Colour as things look in life: snow, coal, a ripe lemon. A thing has three typical colours (as it
//! looks in daylight, a little lighter and a little darker, or of another specimen), and a question is asked
//! only where every one of them gives the same answer by the margins of the named colours.
//!
//! The values are our own estimates for common specimens; no name carries the name of a colour, in
//! either language, so that the answer is not in the words.

use std::sync::OnceLock;

use mary_generators::{Stream, below, coin, shuffle};

use super::{
    APART, Attribute, ENDS, HUES, Lab, NEAR, ROW, SIDE_BY_SIDE, asks_by_place, beside_options,
    cielab, comparison, ends, hue_caption, hue_clearness, hue_gap, hue_seen, oklab, order_ask,
    patch_options, patches, row_caption, seen_four, seen_two, two_caption, two_patches,
};
use crate::fresh::block::{Block, OPTIONS, Posed, gather, listed};
use crate::fresh::said::{Level, Said};
use crate::fresh::sketch::Sketch;

/// A thing and how it looks.
#[derive(Debug, Clone)]
struct Thing {
    name: (&'static str, &'static str),
    rgb: [u8; 3],
    looks: Vec<(Lab, Lab)>,
}

fn things() -> &'static [Thing] {
    static KNOWN: OnceLock<Vec<Thing>> = OnceLock::new();
    KNOWN.get_or_init(|| {
        include_str!("things.txt")
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(thing)
            .collect()
    })
}

fn thing(line: &'static str) -> Option<Thing> {
    let mut parts = line.split(" | ");
    let name = (parts.next()?, parts.next()?);
    let colours: Vec<[u8; 3]> = parts
        .next()?
        .split(' ')
        .filter_map(|hex| {
            let [_, r, g, b] = u32::from_str_radix(hex, 16).ok()?.to_be_bytes();
            Some([r, g, b])
        })
        .collect();
    Some(Thing {
        name,
        rgb: *colours.first()?,
        looks: colours.iter().map(|c| (oklab(*c), cielab(*c))).collect(),
    })
}

impl Thing {
    fn said(&self) -> Said {
        Said::new(self.name.0, self.name.1)
    }

    /// Least and most of an attribute over its looks, in both spaces.
    fn range(&self, attribute: Attribute) -> ((f64, f64), (f64, f64)) {
        let value = |lab: &Lab| match attribute {
            Attribute::Lightness => lab.l,
            Attribute::Chroma => lab.chroma(),
        };
        let over = |values: Vec<f64>| {
            values
                .iter()
                .fold((f64::INFINITY, f64::NEG_INFINITY), |r, v| {
                    (r.0.min(*v), r.1.max(*v))
                })
        };
        (
            over(self.looks.iter().map(|l| value(&l.0)).collect()),
            over(self.looks.iter().map(|l| value(&l.1)).collect()),
        )
    }

    fn hued(&self) -> bool {
        let ((ok, _), (cie, _)) = self.range(Attribute::Chroma);
        ok >= super::HUED.0 && cie >= super::HUED.1
    }
}

/// By how many margins the second has more of it, whatever the looks of the two.
fn gap(attribute: Attribute, one: &Thing, two: &Thing) -> f64 {
    let (a, b, margin) = (
        one.range(attribute),
        two.range(attribute),
        attribute.margin(),
    );
    ((b.0.0 - a.0.1) / margin.0).min((b.1.0 - a.1.1) / margin.1)
}

/// The smallest and the largest distance of two hues, over all looks and both spaces.
fn hue_gaps(one: &Thing, two: &Thing) -> (f64, f64) {
    let mut range = (f64::INFINITY, 0.0f64);
    for a in &one.looks {
        for b in &two.looks {
            for gap in [hue_gap(a.0.hue(), b.0.hue()), hue_gap(a.1.hue(), b.1.hue())] {
                range = (range.0.min(gap), range.1.max(gap));
            }
        }
    }
    range
}

fn any(rng: &mut Stream) -> &'static Thing {
    let all = things();
    // The table is compiled in and not empty.
    all.get(below(rng, all.len())).unwrap_or(&all[0])
}

fn four(rng: &mut Stream) -> [&'static Thing; OPTIONS] {
    loop {
        let drawn = [any(rng), any(rng), any(rng), any(rng)];
        let twice = |i: usize| drawn[..i].iter().any(|d| d.name == drawn[i].name);
        if !(0..OPTIONS).any(twice) {
            return drawn;
        }
    }
}

fn names(things: &[&Thing]) -> Vec<Said> {
    things.iter().map(|t| t.said()).collect()
}

fn about_four(things: &[&Thing; OPTIONS], ask: &Said) -> Posed {
    let mut sketch = Sketch::new(208);
    patches(&mut sketch, 8.0, &things.map(|t| t.rgb));
    let list = listed(&names(things));
    let words = Said::new(
        format!("Think of how these look in daylight: {}.", list.en),
        format!("想一想这些东西在日光下的样子：{}。", list.zh),
    );
    Posed {
        words: words.then(ask),
        seen: seen_four(ask),
        caption: row_caption(),
        sketch,
    }
}

/// Darkest, lightest, greyest and most colourful, each another of the four.
pub fn extreme(rng: &mut Stream, level: Level) -> Option<Block> {
    let four = four(rng);
    let of = |attribute: Attribute| ends(|i, j| gap(attribute, four[i], four[j]));
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
        options: names(&four),
        seen_options: patch_options(),
        questions: asks.iter().map(|ask| about_four(&four, ask)).collect(),
    })
}

/// The places in a row from least to most.
pub fn order(rng: &mut Stream, level: Level) -> Option<Block> {
    let mut four = four(rng);
    let attribute = if coin(rng) {
        Attribute::Lightness
    } else {
        Attribute::Chroma
    };
    let middle = |t: &Thing| t.range(attribute).0.0;
    four.sort_by(|a, b| middle(a).total_cmp(&middle(b)));
    let clear = four
        .windows(2)
        .map(|w| gap(attribute, w[0], w[1]))
        .fold(f64::INFINITY, f64::min);
    if !level.clearness(ROW).contains(&clear) {
        return None;
    }
    let mut places: Vec<usize> = (0..OPTIONS).collect();
    shuffle(rng, &mut places);
    let shown: [&Thing; OPTIONS] =
        std::array::from_fn(|i| four[places.get(i).copied().unwrap_or(i)]);
    let questions = places
        .iter()
        .map(|place| about_four(&shown, &order_ask(attribute, *place)))
        .collect();
    Some(Block {
        options: names(&shown),
        seen_options: patch_options(),
        questions,
    })
}

/// Two things side by side.
pub fn compared(rng: &mut Stream, level: Level) -> Option<Block> {
    let (answers, questions) = gather(rng, 200, |rng| {
        let (one, two) = (any(rng), any(rng));
        let side = |attribute: Attribute| {
            let (more, less) = (gap(attribute, one, two), gap(attribute, two, one));
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
        let ((a, a_zh), (b, b_zh)) = (one.name, two.name);
        let posed = Posed {
            words: Said::new(
                format!(
                    "As they look in daylight, and compared with {a}: what is {b} like in lightness and \
                     chroma?"
                ),
                format!("在日光下看，与“{a_zh}”相比，“{b_zh}”的明度和彩度如何？"),
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

/// The nearest hue of four.
pub fn hue(rng: &mut Stream, level: Level) -> Option<Block> {
    let four = four(rng);
    let apart = |i: usize| (0..i).all(|j| hue_gaps(four[i], four[j]).0 >= APART);
    if !(0..OPTIONS).all(|i| four[i].hued() && apart(i)) {
        return None;
    }
    let mut questions = Vec::with_capacity(OPTIONS);
    let mut clear = f64::INFINITY;
    for (place, option) in four.iter().enumerate() {
        let wrong = |given: &Thing| {
            (0..OPTIONS)
                .filter(|j| *j != place)
                .map(|j| hue_gaps(given, four[j]).0)
                .fold(f64::INFINITY, f64::min)
        };
        let fits = |given: &&'static Thing| {
            given.hued()
                && given.name != option.name
                && hue_gaps(given, option).1 <= NEAR
                && wrong(given) >= APART
                && hue_clearness(hue_gaps(given, option).1, wrong(given))
                    >= level.clearness(HUES).start
        };
        let fitting: Vec<&'static Thing> = things().iter().filter(fits).collect();
        let given = fitting.get(below(rng, fitting.len()))?;
        clear = clear.min(hue_clearness(hue_gaps(given, option).1, wrong(given)));
        let options = listed(&names(&four));
        let (name, name_zh) = given.name;
        questions.push(Posed {
            words: Said::new(
                format!(
                    "As they look in daylight, which of these has the hue nearest to that of {name}: {}?",
                    options.en
                ),
                format!(
                    "在日光下看，下列哪一种的色相与“{name_zh}”最接近：{}？",
                    options.zh
                ),
            ),
            seen: hue_seen(),
            caption: hue_caption(),
            sketch: beside_options(&[given.rgb], &four.map(|t| t.rgb)),
        });
    }
    level.clearness(HUES).contains(&clear).then(|| Block {
        options: names(&four),
        seen_options: patch_options(),
        questions,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words for colours and for light and dark, in both languages.
    const TELLING: [&str; 24] = [
        "red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "black", "white",
        "grey", "dark", "light ", "红", "橙", "黄", "绿", "蓝", "紫", "粉", "白", "黑", "灰", "深",
    ];

    #[test]
    fn no_name_tells_its_colour() {
        assert_eq!(things().len(), 50);
        for thing in things() {
            for word in TELLING {
                let (en, zh) = thing.name;
                let said = en.split(' ').any(|w| w == word.trim()) || zh.contains(word);
                assert!(!said, "{en} {zh}: {word}");
            }
            assert_eq!(thing.looks.len(), 3);
        }
    }
}
