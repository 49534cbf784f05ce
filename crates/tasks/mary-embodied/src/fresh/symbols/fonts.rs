//! What holds of a symbol in every font that was looked at. The list `fonts.txt` is made by
//! `cargo run -p mary-embodied --example fonts -- FONT.ttf …` from fonts that need not be shipped: a line
//! for each symbol with what every font that has the symbol shows alike. A question about a symbol is asked
//! only where its answer is on this list.

use std::collections::HashMap;
use std::sync::OnceLock;

use mary_generators::glyphs::ink::{Half, Ink};

use super::cuts::{COVERS, CuttingLine, Share, lines};
use super::look;

pub const FEWEST: usize = 3;

const SIDES: [Half; 4] = [Half::Top, Half::Bottom, Half::Left, Half::Right];

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Looks {
    pub single: bool,
    /// Regions wholly surrounded by ink.
    pub regions: Option<usize>,
    /// The side it is open to, in eighths clockwise from up.
    pub opening: Option<usize>,
    /// Whether it looks the same flipped left to right, top to bottom, and turned half around.
    pub symmetry: Option<[bool; 3]>,
    /// Regions left under each cover, side by side and share by share.
    covered: Vec<Option<usize>>,
    /// Pieces after each cut: levels first.
    cut: Vec<Option<usize>>,
    crossed: Vec<Option<usize>>,
    /// Width and height of the ink in dots, a font each; nothing where a font lacks the symbol.
    pub boxes: Vec<Option<(f64, f64)>>,
}

impl Looks {
    /// Looks at a picture; `pen` is the width of an upright stroke.
    pub fn from_ink(ink: &Ink, pen: usize) -> Self {
        let upright = ink.clockwise();
        let facing = |line: CuttingLine| if line.level { ink } else { &upright };
        Self {
            single: look::single(ink),
            regions: look::regions(ink),
            opening: look::opening(ink),
            symmetry: look::symmetry(ink),
            covered: SIDES
                .into_iter()
                .flat_map(|side| COVERS.map(|share| look::regions_left(ink, side, share.value())))
                .collect(),
            cut: lines()
                .map(|l| look::pieces(facing(l), l.share.value()))
                .collect(),
            crossed: lines()
                .map(|l| look::strokes(facing(l), l.share.value(), pen))
                .collect(),
            boxes: vec![Some((ink.width() as f64, ink.height() as f64))],
        }
    }

    /// What all fonts that have the symbol show alike; nothing when too few have it.
    pub fn alike(fonts: &[Option<Self>]) -> Option<Self> {
        let having: Vec<&Self> = fonts.iter().flatten().collect();
        let (first, rest) = having.split_first()?;
        if having.len() < FEWEST {
            return None;
        }
        let mut same = (*first).clone();
        let first = |f: &Option<Looks>| f.as_ref()?.boxes.first().copied().flatten();
        same.boxes = fonts.iter().map(first).collect();
        for other in rest {
            same.keep(other);
        }
        Some(same)
    }

    /// Forgets what the other does not show alike.
    fn keep(&mut self, other: &Self) {
        fn agree<T: PartialEq>(own: &mut Option<T>, other: &Option<T>) {
            if own != other {
                *own = None;
            }
        }
        self.single &= other.single;
        agree(&mut self.regions, &other.regions);
        agree(&mut self.opening, &other.opening);
        agree(&mut self.symmetry, &other.symmetry);
        for (own, others) in [
            (&mut self.covered, &other.covered),
            (&mut self.cut, &other.cut),
            (&mut self.crossed, &other.crossed),
        ] {
            for (own, other) in own.iter_mut().zip(others) {
                agree(own, other);
            }
        }
    }

    /// How many of the facts that are clear here are others, or not clear, in another picture.
    pub fn differences(&self, other: &Self) -> usize {
        fn lost<T: PartialEq>(own: &Option<T>, other: &Option<T>) -> usize {
            usize::from(own.is_some() && own != other)
        }
        let rows = [
            (&self.covered, &other.covered),
            (&self.cut, &other.cut),
            (&self.crossed, &other.crossed),
        ];
        let rows = rows.into_iter();
        let pairs = rows.flat_map(|(own, other)| own.iter().zip(other));
        let in_rows: usize = pairs.map(|(own, other)| lost(own, other)).sum();
        in_rows
            + lost(&self.regions, &other.regions)
            + lost(&self.opening, &other.opening)
            + lost(&self.symmetry, &other.symmetry)
    }

    pub fn regions_left(&self, side: Half, share: Share) -> Option<usize> {
        let row = SIDES.iter().position(|s| *s == side)?;
        let column = COVERS.iter().position(|s| *s == share)?;
        self.covered.get(row * COVERS.len() + column).copied()?
    }

    pub fn pieces(&self, line: CuttingLine) -> Option<usize> {
        self.cut.get(place(line)?).copied()?
    }

    pub fn strokes(&self, line: CuttingLine) -> Option<usize> {
        self.crossed.get(place(line)?).copied()?
    }

    pub fn line(&self, symbol: char) -> String {
        let digit = |value: &Option<usize>| value.map_or("-".into(), |v| v.to_string());
        let row = |values: &[Option<usize>]| -> String { values.iter().map(digit).collect() };
        let symmetry = self.symmetry.map_or("-".into(), |kept| {
            kept.map(|k| if k { "1" } else { "0" }).concat()
        });
        let size = |b: &Option<(f64, f64)>| b.map_or("-".into(), |(w, h)| format!("{w}x{h}"));
        let boxes: Vec<String> = self.boxes.iter().map(size).collect();
        format!(
            "{symbol} {} {} {} {symmetry} {} {} {} {}",
            u8::from(self.single),
            digit(&self.regions),
            digit(&self.opening),
            row(&self.covered),
            row(&self.cut),
            row(&self.crossed),
            boxes.join(" ")
        )
    }

    fn read(line: &str) -> Option<(char, Self)> {
        let mut parts = line.split(' ');
        let mut next = || parts.next();
        let count = |text: &str| text.parse::<usize>().ok();
        let row = |text: &str| -> Vec<Option<usize>> {
            let digits = text.chars().map(|c| c.to_digit(10));
            digits.map(|d| d.map(|d| d as usize)).collect()
        };
        let symbol = next()?.chars().next()?;
        let (single, regions, opening) = (next()? == "1", count(next()?), count(next()?));
        let symmetry = match next()?.as_bytes() {
            [a, b, c] => Some([*a == b'1', *b == b'1', *c == b'1']),
            _ => None,
        };
        let (covered, cut, crossed) = (row(next()?), row(next()?), row(next()?));
        let boxes = parts
            .map(|text| {
                let (w, h) = text.split_once('x')?;
                Some((w.parse().ok()?, h.parse().ok()?))
            })
            .collect();
        Some((
            symbol,
            Self {
                single,
                regions,
                opening,
                symmetry,
                covered,
                cut,
                crossed,
                boxes,
            },
        ))
    }
}

fn place(line: CuttingLine) -> Option<usize> {
    lines().position(|l| l == line)
}

pub fn listed(symbol: char) -> Option<&'static Looks> {
    static LIST: OnceLock<HashMap<char, Looks>> = OnceLock::new();
    let list = LIST.get_or_init(|| {
        let lines = include_str!("fonts.txt").lines();
        let lines = lines.filter(|line| !line.starts_with("# "));
        lines.filter_map(Looks::read).collect()
    });
    list.get(&symbol)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mary_generators::glyphs::{glyphs, pen};

    /// The font that draws the pictures is the first of the list: nothing on the list may differ from it.
    #[test]
    fn the_list_says_of_our_font_what_our_font_shows() {
        let mut facts = 0;
        for glyph in glyphs() {
            let Some(listed) = listed(glyph.symbol) else {
                continue;
            };
            assert!(listed.boxes.iter().flatten().count() >= FEWEST);
            let mut own = Looks::from_ink(&glyph.ink, pen());
            own.boxes = listed.boxes.clone();
            let mut kept = own.clone();
            kept.keep(listed);
            assert_eq!(&kept, listed, "{}", glyph.symbol);
            facts += listed.cut.iter().chain(&listed.crossed).flatten().count();
            let (symbol, again) = Looks::read(&listed.line(glyph.symbol)).unwrap();
            assert_eq!((symbol, &again), (glyph.symbol, listed));
        }
        assert!(facts > 300, "{facts}");
    }

    #[test]
    fn a_fact_that_one_font_lacks_is_forgotten() {
        let of = |symbol: char| {
            Looks::from_ink(mary_generators::glyphs::picture(symbol).unwrap(), pen())
        };
        // Two drawings of one symbol that differ in what they enclose.
        let fonts = [Some(of('O')), Some(of('O')), Some(of('C')), None];
        let alike = Looks::alike(&fonts).unwrap();
        assert_eq!((alike.regions, alike.opening), (None, None));
        assert!(alike.single && alike.boxes.len() == 4 && alike.boxes[3].is_none());
        assert_eq!(Looks::alike(&fonts[..2]), None, "two fonts are too few");
    }
}
