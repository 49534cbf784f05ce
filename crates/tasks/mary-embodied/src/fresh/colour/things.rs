//! What colour questions are about: the named colours of CSS Color Module Level 4, and things as they
//! look in life (snow, coal, a ripe lemon).
//!
//! A named colour has one look. A thing has three (in daylight, a little lighter and a little darker, or of
//! another specimen), and a question is asked only where every one of them gives the same answer by the
//! margins of the named colours. The looks of things are our own estimates for common specimens; no name
//! carries the name of a colour, in either language, so that the answer is not in the words.
//!
//! Of the named colours, doubles (aqua, fuchsia, the second spelling of gray) are in once. "dark gray" and
//! "dark sea green" are left out: both are lighter than their names say.

use std::sync::OnceLock;

use mary_generators::{Stream, below};

use super::space::{Lab, cielab, hue_gap, oklab};
use super::{HUED, LIGHTER, OPTIONS, STRONGER};
use crate::fresh::said::{Said, phrase};

#[derive(Debug, Clone)]
pub(super) struct Coloured {
    /// A named colour is called by its keyword in both languages: it is a name of a standard, and a
    /// translation would carry the character of its hue.
    pub(super) name: Said,
    pub(super) rgb: [u8; 3],
    /// In OKLab and in CIELAB; never empty.
    looks: Vec<(Lab, Lab)>,
}

impl Coloured {
    /// A line of a list: `alice blue | f0f8ff`, or `snow | 雪 | fafcff e6ebf0 ffffff`.
    fn read(line: &str) -> Option<Self> {
        let (name, colours) = line.rsplit_once(" | ")?;
        let name = match name.split_once(" | ") {
            Some((en, zh)) => Said::new(en, zh),
            None => Said::same(name),
        };
        let rgb = |hex: &str| {
            let [_, r, g, b] = u32::from_str_radix(hex, 16).ok()?.to_be_bytes();
            Some([r, g, b])
        };
        let colours: Vec<[u8; 3]> = colours.split(' ').filter_map(rgb).collect();
        Some(Self {
            name,
            rgb: *colours.first()?,
            looks: colours.iter().map(|c| (oklab(*c), cielab(*c))).collect(),
        })
    }

    pub(super) fn look(&self) -> (Lab, Lab) {
        self.looks[0]
    }

    pub(super) fn hued(&self) -> bool {
        let least = |of: fn(&(Lab, Lab)) -> Lab| {
            let chromas = self.looks.iter().map(|l| of(l).chroma());
            chromas.fold(f64::INFINITY, f64::min)
        };
        least(|l| l.0) >= HUED.0 && least(|l| l.1) >= HUED.1
    }

    /// The smallest and the largest distance of two hues, over all looks and both spaces.
    pub(super) fn hue_gaps(&self, other: &Self) -> (f64, f64) {
        let mut range = (f64::INFINITY, 0.0f64);
        for a in &self.looks {
            for b in &other.looks {
                for gap in [hue_gap(a.0.hue(), b.0.hue()), hue_gap(a.1.hue(), b.1.hue())] {
                    range = (range.0.min(gap), range.1.max(gap));
                }
            }
        }
        range
    }
}

/// An attribute that grows from colour to colour, in both spaces.
#[derive(Clone, Copy)]
pub(super) enum Attribute {
    Lightness,
    Chroma,
}

impl Attribute {
    fn value(self, lab: Lab) -> f64 {
        match self {
            Self::Lightness => lab.l,
            Self::Chroma => lab.chroma(),
        }
    }

    pub(super) fn least(self, c: &Coloured) -> f64 {
        let values = c.looks.iter().map(|l| self.value(l.0));
        values.fold(f64::INFINITY, f64::min)
    }

    /// By how many margins the second has more of it, whatever the looks of the two, in the space that says
    /// less.
    pub(super) fn gap(self, one: &Coloured, two: &Coloured) -> f64 {
        let margin = match self {
            Self::Lightness => LIGHTER,
            Self::Chroma => STRONGER,
        };
        let mut least = f64::INFINITY;
        for a in &one.looks {
            for b in &two.looks {
                let ok = (self.value(b.0) - self.value(a.0)) / margin.0;
                let cie = (self.value(b.1) - self.value(a.1)) / margin.1;
                least = least.min(ok).min(cie);
            }
        }
        least
    }
}

pub(super) struct Palette {
    /// The phrases' first word.
    words: &'static str,
    list: &'static str,
    read: OnceLock<Vec<Coloured>>,
    /// Two names may have a word in common, and then the name alone would tell.
    telling_names: bool,
}

pub(super) static CSS: Palette = Palette {
    words: "css",
    list: include_str!("names.txt"),
    read: OnceLock::new(),
    telling_names: true,
};

pub(super) static LIFE: Palette = Palette {
    words: "life",
    list: include_str!("things.txt"),
    read: OnceLock::new(),
    telling_names: false,
};

impl Palette {
    pub(super) fn all(&self) -> &[Coloured] {
        self.read.get_or_init(|| {
            let lines = self.list.lines().filter(|line| !line.starts_with('#'));
            lines.filter_map(Coloured::read).collect()
        })
    }

    pub(super) fn any(&self, rng: &mut Stream) -> &Coloured {
        let all = self.all();
        // The list is compiled in and not empty.
        &all[below(rng, all.len())]
    }

    pub(super) fn four(&self, rng: &mut Stream) -> [&Coloured; OPTIONS] {
        loop {
            let drawn = [(); OPTIONS].map(|()| self.any(rng));
            let twice = |i: usize| drawn[..i].iter().any(|d| d.name == drawn[i].name);
            if !(0..OPTIONS).any(twice) {
                return drawn;
            }
        }
    }

    pub(super) fn phrase(&self, key: &str) -> Said {
        phrase(&format!("{}.{key}", self.words))
    }

    pub(super) fn share_a_word(&self, one: &Coloured, two: &Coloured) -> bool {
        self.telling_names && share_a_word(&one.name.en, &two.name.en)
    }
}

pub(super) fn share_a_word(one: &str, two: &str) -> bool {
    one.split(' ').any(|w| two.split(' ').any(|v| v == w))
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
    fn no_name_of_a_thing_tells_its_colour() {
        assert_eq!(LIFE.all().len(), 50);
        for thing in LIFE.all() {
            for word in TELLING {
                let Said { en, zh } = &thing.name;
                let said = en.split(' ').any(|w| w == word.trim()) || zh.contains(word);
                assert!(!said, "{en} {zh}: {word}");
            }
            assert_eq!(thing.looks.len(), 3);
        }
    }

    #[test]
    fn every_line_but_the_first_is_a_colour() {
        let lines = include_str!("names.txt").lines().count();
        assert_eq!(CSS.all().len(), lines - 1);
        let white = CSS.all().iter().find(|c| c.name.en == "white").unwrap();
        assert_eq!(white.rgb, [255; 3]);
    }
}
