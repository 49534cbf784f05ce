//! The symbols of letter geometry, drawn from an open font (a cut of DejaVu Sans; its licence lies
//! beside it in `assets/`).

pub mod ink;

use std::sync::OnceLock;

use ab_glyph::{Font as _, FontRef, OutlineCurve, Point, PxScale};

use self::ink::{Form, Ink};

static FONT: &[u8] = include_bytes!("../../assets/glyphs.ttf");
/// Dots per em: capitals come out about 88 dots high.
pub const SIZE: f32 = 120.0;

/// Everything that is asked about or offered as an option. Shapes that need a caption to be told
/// apart (Latin A and Greek Alpha) are in only once.
pub const SYMBOLS: &str = "ABCDEFGHIKLMNOPQRSTUVWXYZ\
    abcdefhkmnpqrtuvwxyz\
    23456789\
    ()[]<>/\\-+=?\
    ΓΛΠΦΨΔ\
    ∀ƎƆ⅂⅃ЯШЭИ\
    ǝɔɟɥɯɹʇʎ\
    ∩∪⊂⊃∈∋⊥⊢⊣⊓⊔⊏⊐⌈⌉⌊⌋\
    ←↑→↓↖↗↘↙\
    △▽◁▷□◇\
    ×±«»¿";

#[derive(Debug, Clone)]
pub struct Glyph {
    pub symbol: char,
    pub ink: Ink,
    pub form: Form,
}

/// All symbols the font can draw, in order.
pub fn glyphs() -> &'static [Glyph] {
    static GLYPHS: OnceLock<Vec<Glyph>> = OnceLock::new();
    GLYPHS.get_or_init(|| {
        // The font is compiled in; a test checks that every symbol is in it.
        let Ok(font) = FontRef::try_from_slice(FONT) else {
            return Vec::new();
        };
        let glyphs = SYMBOLS.chars().filter_map(|symbol| {
            let ink = draw(&font, symbol, SIZE)?;
            let form = Form::from_ink(&ink);
            Some(Glyph { symbol, ink, form })
        });
        glyphs.collect()
    })
}

/// The thickness of the font's upright stroke, in dots.
pub fn pen() -> usize {
    let letter = glyphs().iter().find(|g| g.symbol == 'I');
    letter.map_or(12, |g| g.ink.width())
}

pub fn picture(symbol: char) -> Option<&'static Ink> {
    glyphs().iter().find(|g| g.symbol == symbol).map(|g| &g.ink)
}

pub type Contour = Vec<[f64; 2]>;

/// The outline of a symbol for drawing at any size: closed contours, one em wide, the baseline at 0
/// and y growing upwards. Inside is where the contours wind around a point (non-zero rule).
pub fn outline(symbol: char) -> Option<&'static [Contour]> {
    static OUTLINES: OnceLock<Vec<(char, Vec<Contour>)>> = OnceLock::new();
    let outlines = OUTLINES.get_or_init(|| {
        let Ok(font) = FontRef::try_from_slice(FONT) else {
            return Vec::new();
        };
        let traced = |symbol| Some((symbol, trace(&font, symbol)?));
        SYMBOLS.chars().filter_map(traced).collect()
    });
    let found = outlines.iter().find(|(s, _)| *s == symbol)?;
    Some(&found.1)
}

fn trace(font: &FontRef<'_>, symbol: char) -> Option<Vec<Contour>> {
    let id = font.glyph_id(symbol);
    if id.0 == 0 {
        return None;
    }
    let em = f64::from(font.units_per_em()?);
    let at = |p: Point| [f64::from(p.x) / em, f64::from(p.y) / em];
    let mut contours: Vec<Contour> = Vec::new();
    for curve in font.outline(id)?.curves {
        let points: Contour = match curve {
            OutlineCurve::Line(a, b) => vec![at(a), at(b)],
            OutlineCurve::Quad(a, b, c) => vec![at(a), at(b), at(c)],
            OutlineCurve::Cubic(a, b, c, d) => vec![at(a), at(b), at(c), at(d)],
        };
        let start = points.first().copied().unwrap_or_default();
        let goes_on = contours.last().and_then(|c| c.last()) == Some(&start);
        if !goes_on {
            contours.push(vec![start]);
        }
        if let Some(contour) = contours.last_mut() {
            let steps = if points.len() == 2 { 1 } else { CURVE_STEPS };
            contour.extend((1..=steps).map(|i| bezier(&points, i as f64 / steps as f64)));
        }
    }
    Some(contours)
}

/// Straight pieces that stand for one curve of an outline.
const CURVE_STEPS: usize = 12;

/// The point of a Bezier curve at `t`, by de Casteljau's halving.
fn bezier(points: &[[f64; 2]], t: f64) -> [f64; 2] {
    if t >= 1.0 {
        // The very end, so that contours close without a rounding gap.
        return points.last().copied().unwrap_or_default();
    }
    let mut line = points.to_vec();
    while line.len() > 1 {
        let between = line.windows(2).map(|w| {
            let (a, b) = (w[0], w[1]);
            [a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t]
        });
        line = between.collect();
    }
    line.first().copied().unwrap_or_default()
}

/// The picture of a symbol, if the font has it, at a size in dots per line.
pub fn draw(font: &impl ab_glyph::Font, symbol: char, size: f32) -> Option<Ink> {
    let id = font.glyph_id(symbol);
    if id.0 == 0 {
        return None;
    }
    let outlined = font.outline_glyph(id.with_scale(PxScale::from(size)))?;
    let bounds = outlined.px_bounds();
    let (width, height) = (bounds.width() as usize + 1, bounds.height() as usize + 1);
    let mut dots = vec![false; width * height];
    outlined.draw(|x, y, coverage| {
        if coverage > 0.5
            && let Some(dot) = dots.get_mut(y as usize * width + x as usize)
        {
            *dot = true;
        }
    });
    Ink::new(width, height, |x, y| {
        dots.get(y * width + x).copied().unwrap_or(false)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_font_draws_every_symbol() {
        let drawn: String = glyphs().iter().map(|g| g.symbol).collect();
        assert_eq!(drawn, SYMBOLS);
        assert!((8..20).contains(&pen()));
    }

    #[test]
    fn an_outline_encloses_the_area_of_the_ink() {
        for glyph in glyphs() {
            let contours = outline(glyph.symbol).unwrap();
            let doubled: f64 = contours
                .iter()
                .flat_map(|c| {
                    let next = c.iter().cycle().skip(1);
                    c.iter().zip(next).map(|(a, b)| a[0] * b[1] - a[1] * b[0])
                })
                .sum();
            let ink = (0..glyph.ink.height())
                .flat_map(|y| (0..glyph.ink.width()).map(move |x| (x, y)))
                .filter(|&(x, y)| glyph.ink.dot(x, y))
                .count() as f64;
            // Dots per em differ from the nominal size by the font's own line height.
            let ratio = doubled.abs() / 2.0 / ink;
            assert!(
                (0.8e-4..1.2e-4).contains(&ratio),
                "{} {ratio}",
                glyph.symbol
            );
        }
    }
}
