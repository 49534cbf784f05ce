//! Colour questions: lightness, chroma, hue and mixtures of named colours. Each is asked only where
//! OKLab and CIELAB give the same answer, both by a margin.

mod names;
mod space;

pub use names::{Named, named};
pub use space::{Lab, cielab, hue_gap, middle, oklab};

use mary_items::{Stream, below, coin, shuffle};

use super::block::{Block, Kind, OPTIONS, Posed, gather, listed};
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

/// The kinds of colour question.
pub static KINDS: [Kind; 6] = [
    Kind {
        name: "extreme",
        draw: extreme,
    },
    Kind {
        name: "order",
        draw: order,
    },
    Kind {
        name: "compared",
        draw: compared,
    },
    Kind {
        name: "hue",
        draw: hue,
    },
    Kind {
        name: "mixture",
        draw: mixture,
    },
    Kind {
        name: "sector",
        draw: sector,
    },
];

/// The margins in words, for the conventions.
pub const MARGINS: &str = "CSS named colours, sRGB; an answer must hold in OKLab and in CIELAB (D65) \
    alike: lightness apart by 0.06 and 6, chroma by 0.035 and 9, hue neighbours within 18 degrees and \
    others beyond 42, a mixture within 0.07 and 13 of its answer and the others at least 0.09 and 16 \
    farther";

fn any(rng: &mut Stream) -> &'static Named {
    let all = named();
    // The table is compiled in and not empty.
    all.get(below(rng, all.len())).unwrap_or(&all[0])
}

/// Four different colours.
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

    /// Whether the second clearly has more of it.
    fn grows(self, one: &Named, two: &Named) -> bool {
        let (a, b, margin) = (self.of(one), self.of(two), self.margin());
        b.0 - a.0 >= margin.0 && b.1 - a.1 >= margin.1
    }

    /// The places of the colours with clearly the least and clearly the most of it.
    fn ends(self, four: &[&Named; OPTIONS]) -> Option<(usize, usize)> {
        let beats = |i: usize, more: bool| {
            (0..OPTIONS).filter(|j| *j != i).all(|j| {
                if more {
                    self.grows(four[j], four[i])
                } else {
                    self.grows(four[i], four[j])
                }
            })
        };
        let least = (0..OPTIONS).find(|i| beats(*i, false))?;
        let most = (0..OPTIONS).find(|i| beats(*i, true))?;
        Some((least, most))
    }
}

/// Patches in a row, named P to S.
const LETTERS: [char; OPTIONS] = ['P', 'Q', 'R', 'S'];

fn patches(sketch: &mut Sketch, top: f64, colours: &[&Named]) {
    let cell = WIDTH as f64 / OPTIONS as f64;
    for (place, (colour, letter)) in colours.iter().zip(LETTERS).enumerate() {
        let left = place as f64 * cell;
        let from = [left + 8.0, top];
        sketch.rect(from, [left + cell - 8.0, top + 150.0], colour.rgb);
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

fn patch_options() -> Option<Vec<String>> {
    Some(LETTERS.iter().map(|l| format!("patch {l}")).collect())
}

fn names_of(colours: &[&Named]) -> Vec<String> {
    colours.iter().map(|c| c.name.to_owned()).collect()
}

const ROW: &str =
    "The picture shows the four colours in the order named, from left to right, as patches P to S.";

/// The four colours shown, and a question about one of them.
fn about_four(colours: &[&Named; OPTIONS], ask: &str) -> Posed {
    let mut sketch = Sketch::new(208);
    patches(&mut sketch, 8.0, colours);
    Posed {
        words: format!(
            "Take the CSS named colours {}. {ask}",
            listed(&names_of(colours))
        ),
        seen: format!("The picture shows four colours as patches P to S. {ask}"),
        caption: ROW,
        sketch,
    }
}

/// Lightest, darkest, most and least colourful, each another of the four.
fn extreme(rng: &mut Stream) -> Option<Block> {
    let colours = four(rng);
    let (darkest, lightest) = Attribute::Lightness.ends(&colours)?;
    let (greyest, strongest) = Attribute::Chroma.ends(&colours)?;
    let mut asks = [""; OPTIONS];
    asks[darkest] = "Which of them is the darkest?";
    asks[lightest] = "Which of them is the lightest?";
    asks[greyest] = "Which of them is the closest to a neutral grey (has the lowest chroma)?";
    asks[strongest] = "Which of them is the most colourful (has the highest chroma)?";
    if asks.contains(&"") {
        return None;
    }
    Some(Block {
        options: names_of(&colours),
        seen_options: patch_options(),
        questions: asks.iter().map(|ask| about_four(&colours, ask)).collect(),
    })
}

/// The places in a row from least to most.
fn order(rng: &mut Stream) -> Option<Block> {
    let mut colours = four(rng);
    let (attribute, way) = if coin(rng) {
        (Attribute::Lightness, "from the darkest to the lightest")
    } else {
        (
            Attribute::Chroma,
            "from the greyest to the most colourful (by chroma)",
        )
    };
    colours.sort_by(|a, b| attribute.of(a).0.total_cmp(&attribute.of(b).0));
    if !colours.windows(2).all(|w| attribute.grows(w[0], w[1])) {
        return None;
    }
    let mut places: Vec<usize> = (0..OPTIONS).collect();
    shuffle(rng, &mut places);
    let shown: [&Named; OPTIONS] = std::array::from_fn(|i| {
        let place = places.get(i).copied().unwrap_or(i);
        colours[place]
    });
    let ordinals = ["first", "second", "third", "last"];
    let questions = places
        .iter()
        .map(|place| {
            let ordinal = ordinals.get(*place).copied().unwrap_or("last");
            about_four(
                &shown,
                &format!("Put them in order {way}. Which of them comes {ordinal}?"),
            )
        })
        .collect();
    Some(Block {
        options: names_of(&shown),
        seen_options: patch_options(),
        questions,
    })
}

/// Two colours side by side: lighter or darker, more colourful or greyer.
fn compared(rng: &mut Stream) -> Option<Block> {
    let (answers, questions) = gather(rng, 200, |rng| {
        let (one, two) = (any(rng), any(rng));
        let side = |attribute: Attribute| {
            let more = attribute.grows(one, two);
            (more || attribute.grows(two, one)).then_some(more)
        };
        let lighter = side(Attribute::Lightness)?;
        let stronger = side(Attribute::Chroma)?;
        let answer = match (lighter, stronger) {
            (true, true) => "lighter and more colourful",
            (true, false) => "lighter and greyer",
            (false, true) => "darker and more colourful",
            (false, false) => "darker and greyer",
        };
        let mut sketch = Sketch::new(184);
        two_patches(&mut sketch, one.rgb, two.rgb);
        let posed = Posed {
            words: format!(
                "Compared with the CSS named colour {}, what is {} like in lightness and chroma?",
                one.name, two.name
            ),
            seen: "The picture shows two colours. Compared with the left one, what is the right one like in \
                   lightness and chroma?"
                .into(),
            caption: "The picture shows the first colour on the left and the second on the right.",
            sketch,
        };
        Some((answer, posed))
    })?;
    Some(Block {
        options: answers.into_iter().map(str::to_owned).collect(),
        seen_options: None,
        questions,
    })
}

/// Whether two names have a word in common: then the name alone would tell.
fn share_a_word(one: &str, two: &str) -> bool {
    one.split(' ').any(|w| two.split(' ').any(|v| v == w))
}

/// One given colour above, the four options below.
fn beside_options(given: &[[u8; 3]], options: &[&Named]) -> Sketch {
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

/// The nearest hue of four.
fn hue(rng: &mut Stream) -> Option<Block> {
    let colours = four(rng);
    let apart = |i: usize| (0..i).all(|j| gaps(colours[i], colours[j]).0 >= APART);
    if !(0..OPTIONS).all(|i| hued(colours[i]) && apart(i)) {
        return None;
    }
    let mut questions = Vec::with_capacity(OPTIONS);
    for (place, option) in colours.iter().enumerate() {
        let fits = |given: &&'static Named| {
            hued(given)
                && given.name != option.name
                && gaps(given, option).1 <= NEAR
                && colours.iter().all(|c| !share_a_word(c.name, given.name))
                && (0..OPTIONS)
                    .filter(|j| *j != place)
                    .all(|j| gaps(given, colours[j]).0 >= APART)
        };
        let fitting: Vec<&'static Named> = named().iter().filter(fits).collect();
        let given = fitting.get(below(rng, fitting.len()))?;
        questions.push(Posed {
            words: format!(
                "Which of the CSS named colours {} has the hue nearest to that of {}?",
                listed(&names_of(&colours)),
                given.name
            ),
            seen: "Which of the patches P to S has the hue nearest to that of the patch above them?"
                .into(),
            caption: "The picture shows the colour asked about above, and the four options in the order \
                      named, from left to right, as patches P to S.",
            sketch: beside_options(&[given.rgb], &colours),
        });
    }
    Some(Block {
        options: names_of(&colours),
        seen_options: patch_options(),
        questions,
    })
}

/// The options in the order of the answers: what lies halfway between two colours.
fn mixture(rng: &mut Stream) -> Option<Block> {
    let colours = four(rng);
    let mut questions = Vec::with_capacity(OPTIONS);
    for place in 0..OPTIONS {
        let posed = (0..400).find_map(|_| {
            let (one, two) = (any(rng), any(rng));
            mixes_to(one, two, &colours, place).then(|| Posed {
                words: format!(
                    "Two CSS named colours, {} and {}, are averaged in equal parts in a perceptual \
                     colour space. Which of {} is nearest to the result?",
                    one.name,
                    two.name,
                    listed(&names_of(&colours))
                ),
                seen: "The two colours above are averaged in equal parts in a perceptual colour space. \
                       Which of the patches P to S is nearest to the result?"
                    .into(),
                caption: "The picture shows the two colours above, and the four options in the order \
                          named, from left to right, as patches P to S.",
                sketch: beside_options(&[one.rgb, two.rgb], &colours),
            })
        })?;
        questions.push(posed);
    }
    Some(Block {
        options: names_of(&colours),
        seen_options: patch_options(),
        questions,
    })
}

/// Whether the middle between two colours clearly is the option at `place` and no other, the two
/// being far enough apart for a mixture to be something new.
fn mixes_to(one: &Named, two: &Named, options: &[&Named; OPTIONS], place: usize) -> bool {
    if one.ok.distance(two.ok) < 0.2 {
        return false;
    }
    let (ok, cie) = (one.ok.halfway(two.ok), one.cie.halfway(two.cie));
    let far = |c: &Named| (c.ok.distance(ok), c.cie.distance(cie));
    let own = far(options[place]);
    let clear = own.0 <= LIKE.0
        && own.1 <= LIKE.1
        && (0..OPTIONS).filter(|j| *j != place).all(|j| {
            let other = far(options[j]);
            other.0 - own.0 >= UNLIKE.0 && other.1 - own.1 >= UNLIKE.1
        });
    // Words last: comparing them costs more than all the figures.
    let known = |c: &&Named| share_a_word(c.name, one.name) || share_a_word(c.name, two.name);
    clear && !options.iter().any(known)
}

/// The pure screen colours that divide the circle of hues, in order.
const PURE: [(&str, [u8; 3]); 4] = [
    ("red", [255, 0, 0]),
    ("yellow", [255, 255, 0]),
    ("green", [0, 255, 0]),
    ("blue", [0, 0, 255]),
];

/// Between which two of the pure colours the hue lies, if clearly so in one space.
fn between(hue: f64, space: fn([u8; 3]) -> Lab) -> Option<usize> {
    (0..PURE.len()).find(|&i| {
        let from = space(PURE[i].1).hue();
        let to = space(PURE[(i + 1) % PURE.len()].1).hue();
        let width = (to - from).rem_euclid(360.0);
        let at = (hue - from).rem_euclid(360.0);
        at >= INSIDE && at <= width - INSIDE
    })
}

/// The part of the circle in which a mixture's hue lies.
fn sector(rng: &mut Stream) -> Option<Block> {
    let (answers, questions) = gather(rng, 1000, |rng| {
        let three = [any(rng), any(rng), any(rng)];
        let named_pure = |c: &&Named| PURE.iter().any(|(p, _)| share_a_word(c.name, p));
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
        let place = between(ok.hue(), oklab).filter(|p| between(cie.hue(), cielab) == Some(*p))?;
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
        let posed = Posed {
            words: format!(
                "Three CSS named colours, {}, {ask}",
                listed(&names_of(&three))
            ),
            seen: format!("The three colours in the picture {ask}"),
            caption: "The picture shows the three colours.",
            sketch,
        };
        Some((place, posed))
    })?;
    let options = answers
        .iter()
        .map(|&i| {
            let (from, to) = (PURE[i].0, PURE[(i + 1) % PURE.len()].0);
            format!("between {from} and {to}")
        })
        .collect();
    Some(Block {
        options,
        seen_options: None,
        questions,
    })
}
