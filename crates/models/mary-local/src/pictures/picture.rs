//! A picture in memory: three bytes for every pixel.

/// Red, green and blue of every pixel, row after row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    width: usize,
    height: usize,
    rgb: Vec<u8>,
}

impl Picture {
    /// From its pixels; `None` where their number does not fit.
    pub fn new(width: usize, height: usize, rgb: Vec<u8>) -> Option<Self> {
        let fits = width.checked_mul(height)?.checked_mul(3)? == rgb.len();
        (fits && !rgb.is_empty()).then_some(Self { width, height, rgb })
    }

    pub fn filled(width: usize, height: usize, colour: [u8; 3]) -> Self {
        let (width, height) = (width.max(1), height.max(1));
        Self {
            width,
            height,
            rgb: colour.repeat(width * height),
        }
    }

    pub fn width(&self) -> usize {
        self.width
    }

    pub fn height(&self) -> usize {
        self.height
    }

    pub fn rgb(&self) -> &[u8] {
        &self.rgb
    }

    pub fn row(&self, y: usize) -> &[u8] {
        &self.rgb[y * self.width * 3..(y + 1) * self.width * 3]
    }

    /// A rectangle of it; what lies outside is black. `left` and `top` may be negative.
    pub fn window(&self, left: isize, top: isize, width: usize, height: usize) -> Self {
        self.window_on((left, top), (width, height), [0; 3])
    }

    pub fn window_on(
        &self,
        (left, top): (isize, isize),
        (width, height): (usize, usize),
        background: [u8; 3],
    ) -> Self {
        let mut out = Self::filled(width, height, background);
        for y in 0..out.height {
            let Some(from) = y.checked_add_signed(top).filter(|&y| y < self.height) else {
                continue;
            };
            let first = left.max(0) as usize;
            let to = first.saturating_add_signed(-left);
            if first >= self.width || to >= out.width {
                continue;
            }
            let count = (self.width - first).min(out.width - to);
            let row = &self.row(from)[first * 3..(first + count) * 3];
            let at = (y * out.width + to) * 3;
            out.rgb[at..at + count * 3].copy_from_slice(row);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_may_reach_beyond_the_picture() {
        let picture = Picture::new(2, 1, vec![1, 2, 3, 4, 5, 6]).unwrap();
        let window = picture.window(-1, 0, 4, 2);
        assert_eq!(window.row(0), [0, 0, 0, 1, 2, 3, 4, 5, 6, 0, 0, 0]);
        assert_eq!(window.row(1), [0; 12]);
        assert_eq!(picture.window(1, 0, 1, 1).rgb(), [4, 5, 6]);
        assert_eq!(picture.window(5, 0, 1, 1).rgb(), [0; 3]);
        assert!(Picture::new(2, 2, vec![0; 3]).is_none());
    }
}
