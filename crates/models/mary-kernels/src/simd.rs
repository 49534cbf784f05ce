//! Chooses the widest instructions of the processor at run time, for loops that the compiler vectorises.

use std::sync::OnceLock;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Width {
    Baseline,
    /// AVX2 with fused multiply-add.
    V3,
    /// AVX-512.
    V4,
}

/// Values of the environment variable `MARY_CPU`, which forbids wider instructions than these: `portable` leaves the code
/// that every processor has.
pub const CHOICES: [(&str, Width); 3] = [
    ("portable", Width::Baseline),
    ("avx2", Width::V3),
    ("auto", Width::V4),
];

/// The widest the processor has, unless `MARY_CPU` says less.
pub fn width() -> Width {
    static WIDTH: OnceLock<Width> = OnceLock::new();
    *WIDTH.get_or_init(|| {
        let said = std::env::var("MARY_CPU").unwrap_or_default();
        let allowed = CHOICES.iter().find(|(name, _)| *name == said);
        detect().min(allowed.map_or(Width::V4, |(_, width)| *width))
    })
}

#[cfg(target_arch = "x86_64")]
fn detect() -> Width {
    let v3 = is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("f16c");
    let v4 = v3
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl");
    match (v3, v4) {
        (_, true) => Width::V4,
        (true, _) => Width::V3,
        _ => Width::Baseline,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn detect() -> Width {
    Width::Baseline
}

/// Runs an `#[inline(always)]` closure compiled for the widest instructions of the processor. Nothing is fused
/// unless the closure says so, so the same numbers come out of every width.
#[inline(always)]
pub fn dispatch<R>(body: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
        fn v4<R>(body: impl FnOnce() -> R) -> R {
            body()
        }
        #[target_feature(enable = "avx2,fma,f16c")]
        fn v3<R>(body: impl FnOnce() -> R) -> R {
            body()
        }
        match width() {
            // SAFETY: `width` found every feature that is enabled.
            Width::V4 => return unsafe { v4(body) },
            // SAFETY: as above.
            Width::V3 => return unsafe { v3(body) },
            Width::Baseline => {}
        }
    }
    body()
}

/// Makes a function that runs `$inner::<true>` compiled for AVX-512 or AVX2 (with fused
/// multiply-add), or `$inner::<false>` on other processors. `$inner` must be `#[inline(always)]`.
#[macro_export]
macro_rules! widest {
    ($(#[$doc:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? = $inner:ident) => {
        $(#[$doc])*
        #[allow(clippy::too_many_arguments)]
        $vis fn $name($($arg: $ty),*) $(-> $ret)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
                #[allow(clippy::too_many_arguments)]
                fn v4($($arg: $ty),*) $(-> $ret)? { $inner::<true>($($arg),*) }
                #[target_feature(enable = "avx2,fma,f16c")]
                #[allow(clippy::too_many_arguments)]
                fn v3($($arg: $ty),*) $(-> $ret)? { $inner::<true>($($arg),*) }
                match $crate::simd::width() {
                    // SAFETY: `width` found every feature that is enabled.
                    $crate::simd::Width::V4 => return unsafe { v4($($arg),*) },
                    // SAFETY: as above.
                    $crate::simd::Width::V3 => return unsafe { v3($($arg),*) },
                    $crate::simd::Width::Baseline => {}
                }
            }
            $inner::<false>($($arg),*)
        }
    };
}
pub use widest;

/// `a * b + c`, fused where that is one instruction.
#[inline(always)]
pub fn madd<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

/// eˣ to about one unit in the last place; below -87 it is 0, above 88 it stays at e⁸⁸. A NaN
/// stays one, so that whoever must notice can.
#[inline(always)]
pub fn exp<const FMA: bool>(x: f32) -> f32 {
    const MAGIC: f32 = 12_582_912.0; // 1.5 · 2²³: adding it rounds to a whole number
    let clamped = x.clamp(-87.0, 88.0);
    let shifted = madd::<FMA>(clamped, std::f32::consts::LOG2_E, MAGIC);
    let n = shifted - MAGIC;
    let r = madd::<FMA>(n, -0.693_359_4, clamped);
    let r = madd::<FMA>(n, 2.121_944_4e-4, r);
    let mut p = 1.987_569_1e-4;
    p = madd::<FMA>(p, r, 1.398_199_9e-3);
    p = madd::<FMA>(p, r, 8.333_452e-3);
    p = madd::<FMA>(p, r, 4.166_579_6e-2);
    p = madd::<FMA>(p, r, 1.666_666_5e-1);
    p = madd::<FMA>(p, r, 0.5);
    p = match FMA {
        true => p.mul_add(r * r, r) + 1.0,
        // In the order in which the built-in models were grown: a repeated growth has the same bits.
        false => p * r * r + r + 1.0,
    };
    let scale = (shifted
        .to_bits()
        .wrapping_sub(MAGIC.to_bits())
        .wrapping_add(127))
        << 23;
    let y = p * f32::from_bits(scale);
    if x < -87.0 { 0.0 } else { y }
}

/// The error function, to about one unit in the last place (after N. Juffa's published fit).
#[inline(always)]
pub fn erf<const FMA: bool>(x: f32) -> f32 {
    let t = x.abs();
    let s = x * x;
    let mut u = madd::<FMA>(-1.728_534_7e-5, t, 3.831_971_3e-4);
    let v = madd::<FMA>(-3.883_964_4e-3, t, 2.425_462_2e-2);
    u = madd::<FMA>(u, s, v);
    u = madd::<FMA>(u, t, -1.067_778_8e-1);
    u = madd::<FMA>(u, t, -6.348_467e-1);
    u = madd::<FMA>(u, t, -1.287_175_1e-1);
    u = madd::<FMA>(u, t, -t);
    let far = (1.0 - exp::<FMA>(u)).copysign(x);
    let mut r = -5.967_617e-4;
    r = madd::<FMA>(r, s, 4.991_194_2e-3);
    r = madd::<FMA>(r, s, -2.676_813_5e-2);
    r = madd::<FMA>(r, s, 1.128_199_2e-1);
    r = madd::<FMA>(r, s, -3.761_253_4e-1);
    r = madd::<FMA>(r, s, 1.283_791_7e-1);
    let near = madd::<FMA>(r, x, x);
    if t > 0.927_734_4 { far } else { near }
}

/// The sum of the numbers, in sixteen lanes.
#[inline(always)]
pub fn sum(x: &[f32]) -> f32 {
    let (chunks, rest) = x.as_chunks::<16>();
    let mut lanes = [0.0f32; 16];
    for chunk in chunks {
        for (lane, v) in lanes.iter_mut().zip(chunk) {
            *lane += v;
        }
    }
    total(lanes) + rest.iter().sum::<f32>()
}

/// The sum of products, in sixteen lanes.
#[inline(always)]
pub fn dot<const FMA: bool>(a: &[f32], b: &[f32]) -> f32 {
    let (ac, ar) = a.as_chunks::<16>();
    let (bc, br) = b.as_chunks::<16>();
    let mut lanes = [0.0f32; 16];
    for (x, y) in ac.iter().zip(bc) {
        for i in 0..16 {
            lanes[i] = madd::<FMA>(x[i], y[i], lanes[i]);
        }
    }
    let whole = total(lanes);
    if ar.is_empty() {
        return whole;
    }
    whole + ar.iter().zip(br).fold(0.0, |sum, (x, y)| sum + x * y)
}

/// The largest of the numbers, in sixteen lanes; -∞ when there are none.
#[inline(always)]
pub fn max(x: &[f32]) -> f32 {
    let (chunks, rest) = x.as_chunks::<16>();
    let mut lanes = [f32::NEG_INFINITY; 16];
    for chunk in chunks {
        for (lane, &v) in lanes.iter_mut().zip(chunk) {
            *lane = if v > *lane { v } else { *lane };
        }
    }
    let most = lanes.into_iter().fold(f32::NEG_INFINITY, f32::max);
    rest.iter().copied().fold(most, f32::max)
}

#[inline(always)]
pub fn total(mut lanes: [f32; 16]) -> f32 {
    let mut step = 8;
    while step > 0 {
        for i in 0..step {
            lanes[i] += lanes[i + step];
        }
        step /= 2;
    }
    lanes[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_agrees_with_the_library() {
        for i in -8700..=8800 {
            let x = i as f32 / 100.0;
            for y in [exp::<true>(x), exp::<false>(x)] {
                let want = f64::from(x).exp();
                assert!(
                    (f64::from(y) / want - 1.0).abs() < 4e-7,
                    "exp({x}) = {y}, not {want}"
                );
            }
        }
        assert_eq!(exp::<true>(f32::NEG_INFINITY), 0.0);
        assert_eq!(exp::<true>(-1e30), 0.0);
    }

    #[test]
    fn erf_agrees_with_its_series() {
        let series = |x: f64| {
            let (mut term, mut sum) = (x, x);
            for n in 1..200 {
                term *= -x * x / f64::from(n);
                sum += term / f64::from(2 * n + 1);
            }
            sum * 2.0 / std::f64::consts::PI.sqrt()
        };
        for i in -350..=350 {
            let x = i as f32 / 100.0;
            let want = series(f64::from(x));
            assert!((f64::from(erf::<true>(x)) - want).abs() < 3e-7, "erf({x})");
        }
    }
}
