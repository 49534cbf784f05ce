//! What pictures of symbols show, as the list `fonts.txt` keeps it. The example `fonts` makes the list with
//! this; the tests ask whether the list still says of our font what our font shows.

pub mod look;

use mary_embodied::fresh::symbols::cuts::{COVERS, CuttingLine, Share, lines};
use mary_embodied::fresh::symbols::fonts::{FEWEST, Looks, SIDES};
use mary_generators::glyphs::ink::Ink;

fn value(share: Share) -> f64 {
    match share {
        Share::Quarter => 0.25,
        Share::Third => 1.0 / 3.0,
        Share::Half => 0.5,
        Share::TwoThirds => 2.0 / 3.0,
        Share::ThreeQuarters => 0.75,
    }
}

/// Looks at a picture; `pen` is the width of an upright stroke.
pub fn from_ink(ink: &Ink, pen: usize) -> Looks {
    let upright = ink.clockwise();
    let facing = |line: CuttingLine| if line.level { ink } else { &upright };
    Looks {
        single: look::single(ink),
        regions: look::regions(ink),
        opening: look::opening(ink),
        symmetry: look::symmetry(ink),
        covered: SIDES
            .into_iter()
            .flat_map(|side| COVERS.map(|share| look::regions_left(ink, side, value(share))))
            .collect(),
        cut: lines()
            .map(|l| look::pieces(facing(l), value(l.share)))
            .collect(),
        crossed: lines()
            .map(|l| look::strokes(facing(l), value(l.share), pen))
            .collect(),
        boxes: vec![Some((ink.width() as f64, ink.height() as f64))],
    }
}

/// What all fonts that have the symbol show alike; nothing when too few have it.
pub fn alike(fonts: &[Option<Looks>]) -> Option<Looks> {
    let having: Vec<&Looks> = fonts.iter().flatten().collect();
    let (first, rest) = having.split_first()?;
    if having.len() < FEWEST {
        return None;
    }
    let mut same = (*first).clone();
    let first = |f: &Option<Looks>| f.as_ref()?.boxes.first().copied().flatten();
    same.boxes = fonts.iter().map(first).collect();
    for other in rest {
        keep(&mut same, other);
    }
    Some(same)
}

/// Forgets what the other does not show alike.
fn keep(own: &mut Looks, other: &Looks) {
    fn agree<T: PartialEq>(own: &mut Option<T>, other: &Option<T>) {
        if own != other {
            *own = None;
        }
    }
    own.single &= other.single;
    agree(&mut own.regions, &other.regions);
    agree(&mut own.opening, &other.opening);
    agree(&mut own.symmetry, &other.symmetry);
    for (own, others) in [
        (&mut own.covered, &other.covered),
        (&mut own.cut, &other.cut),
        (&mut own.crossed, &other.crossed),
    ] {
        for (own, other) in own.iter_mut().zip(others) {
            agree(own, other);
        }
    }
}

/// The line of the list that says this of a symbol.
pub fn line(looks: &Looks, symbol: char) -> String {
    let digit = |value: &Option<usize>| value.map_or("-".into(), |v| v.to_string());
    let row = |values: &[Option<usize>]| -> String { values.iter().map(digit).collect() };
    let symmetry = looks.symmetry.map_or("-".into(), |kept| {
        kept.map(|k| if k { "1" } else { "0" }).concat()
    });
    let size = |b: &Option<(f64, f64)>| b.map_or("-".into(), |(w, h)| format!("{w}x{h}"));
    let boxes: Vec<String> = looks.boxes.iter().map(size).collect();
    format!(
        "{symbol} {} {} {} {symmetry} {} {} {} {}",
        u8::from(looks.single),
        digit(&looks.regions),
        digit(&looks.opening),
        row(&looks.covered),
        row(&looks.cut),
        row(&looks.crossed),
        boxes.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use mary_embodied::fresh::symbols::fonts::listed;
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
            let mut own = from_ink(&glyph.ink, pen());
            own.boxes = listed.boxes.clone();
            let mut kept = own.clone();
            keep(&mut kept, listed);
            assert_eq!(&kept, listed, "{}", glyph.symbol);
            facts += listed.cut.iter().chain(&listed.crossed).flatten().count();
            let (symbol, again) = Looks::read(&line(listed, glyph.symbol)).unwrap();
            assert_eq!((symbol, &again), (glyph.symbol, listed));
        }
        assert!(facts > 300, "{facts}");
    }

    #[test]
    fn a_fact_that_one_font_lacks_is_forgotten() {
        let of = |symbol: char| from_ink(mary_generators::glyphs::picture(symbol).unwrap(), pen());
        // Two drawings of one symbol that differ in what they enclose.
        let fonts = [Some(of('O')), Some(of('O')), Some(of('C')), None];
        let same = alike(&fonts).unwrap();
        assert_eq!((same.regions, same.opening), (None, None));
        assert!(same.single && same.boxes.len() == 4 && same.boxes[3].is_none());
        assert_eq!(alike(&fonts[..2]), None, "two fonts are too few");
    }
}
