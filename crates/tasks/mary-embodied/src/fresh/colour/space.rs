//! Colours in two perceptual spaces, from the published formulas.
//!
//! OKLab after Ottosson (2020, matrices of 2021-01-25), straight from linear sRGB; CIELAB after CIE
//! 15:2004 with the white point D65 of IEC 61966-2-1. Questions are asked only where the two agree,
//! so that an answer does not hang on one model of seeing.

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lab {
    /// Lightness: 0 to 1 in OKLab, 0 to 100 in CIELAB.
    pub l: f64,
    /// From green to red.
    pub a: f64,
    /// From blue to yellow.
    pub b: f64,
}

impl Lab {
    pub fn chroma(self) -> f64 {
        self.a.hypot(self.b)
    }

    /// The angle on the circle of hues, 0 to 360 degrees.
    pub fn hue(self) -> f64 {
        self.b.atan2(self.a).to_degrees().rem_euclid(360.0)
    }

    pub fn distance(self, other: Self) -> f64 {
        let (dl, da, db) = (self.l - other.l, self.a - other.a, self.b - other.b);
        (dl * dl + da * da + db * db).sqrt()
    }

    pub fn halfway(self, other: Self) -> Self {
        Self {
            l: (self.l + other.l) / 2.0,
            a: (self.a + other.a) / 2.0,
            b: (self.b + other.b) / 2.0,
        }
    }
}

pub fn middle<const N: usize>(colours: [Lab; N]) -> Lab {
    let mean = |of: fn(&Lab) -> f64| colours.iter().map(of).sum::<f64>() / N as f64;
    Lab {
        l: mean(|c| c.l),
        a: mean(|c| c.a),
        b: mean(|c| c.b),
    }
}

/// The smaller angle between two hues, 0 to 180 degrees.
pub fn hue_gap(one: f64, two: f64) -> f64 {
    let gap = (one - two).rem_euclid(360.0);
    gap.min(360.0 - gap)
}

/// An sRGB channel without its transfer curve (IEC 61966-2-1), 0 to 1.
fn linear(channel: u8) -> f64 {
    let value = f64::from(channel) / 255.0;
    if value <= 0.04045 {
        value / 12.92
    } else {
        ((value + 0.055) / 1.055).powf(2.4)
    }
}

pub fn oklab(rgb: [u8; 3]) -> Lab {
    let [r, g, b] = rgb.map(linear);
    let l = (0.412_221_470_8 * r + 0.536_332_536_3 * g + 0.051_445_992_9 * b).cbrt();
    let m = (0.211_903_498_2 * r + 0.680_699_545_1 * g + 0.107_396_956_6 * b).cbrt();
    let s = (0.088_302_461_9 * r + 0.281_718_837_6 * g + 0.629_978_700_5 * b).cbrt();
    Lab {
        l: 0.210_454_255_3 * l + 0.793_617_785_0 * m - 0.004_072_046_8 * s,
        a: 1.977_998_495_1 * l - 2.428_592_205_0 * m + 0.450_593_709_9 * s,
        b: 0.025_904_037_1 * l + 0.782_771_766_2 * m - 0.808_675_766_0 * s,
    }
}

pub fn cielab(rgb: [u8; 3]) -> Lab {
    let [r, g, b] = rgb.map(linear);
    let x = 0.412_456_4 * r + 0.357_576_1 * g + 0.180_437_5 * b;
    let y = 0.212_672_9 * r + 0.715_152_2 * g + 0.072_175_0 * b;
    let z = 0.019_333_9 * r + 0.119_192_0 * g + 0.950_304_1 * b;
    let f = |t: f64| {
        if t > 216.0 / 24_389.0 {
            t.cbrt()
        } else {
            (24_389.0 / 27.0 * t + 16.0) / 116.0
        }
    };
    let (fx, fy, fz) = (f(x / 0.950_47), f(y), f(z / 1.088_83));
    Lab {
        l: 116.0 * fy - 16.0,
        a: 500.0 * (fx - fy),
        b: 200.0 * (fy - fz),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn near(found: f64, published: f64, by: f64) {
        assert!(
            (found - published).abs() <= by,
            "{found}, published {published}"
        );
    }

    /// The oklch() values of CSS Color Module Level 4's named colours, as browsers print them.
    #[test]
    fn oklch_is_the_published_one() {
        let table = [
            ([255, 0, 0], 0.627_96, 0.257_68, 29.234),
            ([0, 255, 0], 0.866_44, 0.294_83, 142.495),
            ([0, 0, 255], 0.452_01, 0.313_21, 264.052),
            ([255, 255, 0], 0.967_98, 0.211_01, 109.769),
            ([0, 128, 0], 0.519_75, 0.176_86, 142.495),
        ];
        for (rgb, l, c, h) in table {
            let lab = oklab(rgb);
            near(lab.l, l, 1e-4);
            near(lab.chroma(), c, 1e-4);
            near(lab.hue(), h, 0.02);
        }
        near(oklab([255; 3]).l, 1.0, 1e-6);
        near(oklab([255; 3]).chroma(), 0.0, 1e-6);
    }

    /// CIELAB (D65, 2 degrees) of the sRGB primaries, as tabulated by Lindbloom's calculator.
    #[test]
    fn cielab_is_the_published_one() {
        let table = [
            ([255, 0, 0], 53.2408, 80.0925, 67.2032),
            ([0, 255, 0], 87.7347, -86.1827, 83.1793),
            ([0, 0, 255], 32.2970, 79.1875, -107.8602),
            ([255, 255, 255], 100.0, 0.0, 0.0),
            ([0, 0, 0], 0.0, 0.0, 0.0),
        ];
        for (rgb, l, a, b) in table {
            let lab = cielab(rgb);
            near(lab.l, l, 0.01);
            near(lab.a, a, 0.02);
            near(lab.b, b, 0.02);
        }
    }

    #[test]
    fn hues_meet_at_the_full_circle() {
        near(hue_gap(350.0, 10.0), 20.0, 1e-9);
        near(hue_gap(10.0, 350.0), 20.0, 1e-9);
        near(hue_gap(0.0, 180.0), 180.0, 1e-9);
    }
}
