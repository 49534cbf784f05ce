//! The symbols of letter geometry, drawn from an open font (a cut of DejaVu Sans; its licence lies
//! beside it in `assets/`).

pub mod ink;

use std::sync::OnceLock;

use ab_glyph::{Font as _, FontRef, PxScale};

use self::ink::{Form, Ink};

static FONT: &[u8] = include_bytes!("../../assets/glyphs.ttf");
/// Dots per em: capitals come out about 88 dots high.
const SIZE: f32 = 120.0;

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

/// A symbol and its picture.
#[derive(Debug, Clone)]
pub struct Glyph {
    /// As it is written.
    pub symbol: char,
    /// As it is drawn.
    pub ink: Ink,
    /// For comparison.
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
        SYMBOLS
            .chars()
            .filter_map(|symbol| {
                let ink = draw(&font, symbol)?;
                let form = Form::of(&ink);
                Some(Glyph { symbol, ink, form })
            })
            .collect()
    })
}

/// The thickness of the font's upright stroke, in dots.
pub fn pen() -> usize {
    glyphs()
        .iter()
        .find(|g| g.symbol == 'I')
        .map_or(12, |g| g.ink.width())
}

/// The picture of a symbol.
pub fn picture(symbol: char) -> Option<&'static Ink> {
    glyphs().iter().find(|g| g.symbol == symbol).map(|g| &g.ink)
}

fn draw(font: &FontRef<'_>, symbol: char) -> Option<Ink> {
    let id = font.glyph_id(symbol);
    if id.0 == 0 {
        return None;
    }
    let outlined = font.outline_glyph(id.with_scale(PxScale::from(SIZE)))?;
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
}
