//! How many items are needed to see a difference, and the smallest difference a set can show.

use crate::distributions::{normal_cdf, normal_quantile, z_of};
use crate::{StatsError, input};

/// What a comparison should be able to do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Aim {
    /// Level of the test (two-sided), usually 0.05.
    pub alpha: f64,
    /// Probability of seeing a difference that is there, usually 0.8.
    pub power: f64,
}

impl Default for Aim {
    fn default() -> Self {
        Self {
            alpha: 0.05,
            power: 0.8,
        }
    }
}

impl Aim {
    fn quantiles(&self) -> Result<(f64, f64), StatsError> {
        input::open_unit("power (alpha)", self.alpha)?;
        input::open_unit("power (power)", self.power)?;
        Ok((z_of(1.0 - self.alpha), normal_quantile(self.power)))
    }
}

/// Items in each group to tell accuracy `p` from `p + d` on different items.
pub fn items_unpaired(p: f64, d: f64, aim: &Aim) -> Result<u64, StatsError> {
    let q = p + d;
    check("items for an unpaired difference", p, q, d)?;
    let (z_alpha, z_power) = aim.quantiles()?;
    let middle = 0.5 * (p + q);
    let null = (2.0 * middle * (1.0 - middle)).sqrt();
    let actual = (p * (1.0 - p) + q * (1.0 - q)).sqrt();
    whole(((z_alpha * null + z_power * actual) / d).powi(2))
}

/// Items to see a difference `d` between two models on the same items, when they disagree on a
/// share `discordant` of them (Connor 1987). The less they disagree, the fewer are needed.
///
/// ```
/// use mary_stats::power::{Aim, items_paired, items_unpaired};
///
/// // Five points between two models that disagree on a tenth of the items.
/// let paired = items_paired(0.1, 0.05, &Aim::default())?;
/// assert!(paired < items_unpaired(0.7, 0.05, &Aim::default())? / 3);
/// # Ok::<(), mary_stats::StatsError>(())
/// ```
pub fn items_paired(discordant: f64, d: f64, aim: &Aim) -> Result<u64, StatsError> {
    const WHAT: &str = "items for a paired difference";
    if !(discordant > 0.0 && discordant <= 1.0 && d != 0.0 && d.abs() <= discordant) {
        return Err(StatsError::domain(
            WHAT,
            "a difference other than 0 and no larger than the share of disagreement, itself at most 1",
            format!("difference {d}, disagreement {discordant}"),
        ));
    }
    let (z_alpha, z_power) = aim.quantiles()?;
    let root = z_alpha * discordant.sqrt() + z_power * (discordant - d * d).max(0.0).sqrt();
    whole((root / d).powi(2))
}

/// Items to see a mean difference `d` when single differences have standard deviation `sd`.
pub fn items_mean(sd: f64, d: f64, aim: &Aim) -> Result<u64, StatsError> {
    if !(sd > 0.0 && sd.is_finite() && d != 0.0 && d.is_finite()) {
        return Err(StatsError::domain(
            "items for a mean difference",
            "a positive standard deviation and a difference other than 0",
            format!("{sd} and {d}"),
        ));
    }
    let (z_alpha, z_power) = aim.quantiles()?;
    whole(((z_alpha + z_power) * sd / d).powi(2))
}

/// Probability that McNemar's test on `n` items sees a difference `d` with this disagreement.
pub fn power_paired(n: u64, discordant: f64, d: f64, alpha: f64) -> Result<f64, StatsError> {
    input::open_unit("power (alpha)", alpha)?;
    if !(discordant > 0.0 && discordant <= 1.0 && d.abs() <= discordant) {
        return Err(StatsError::domain(
            "power of a paired comparison",
            "a difference no larger than the share of disagreement, itself at most 1",
            format!("difference {d}, disagreement {discordant}"),
        ));
    }
    let spread = (discordant - d * d).max(1e-12).sqrt();
    let shift = d.abs() * (n as f64).sqrt() - z_of(1.0 - alpha) * discordant.sqrt();
    Ok(normal_cdf(shift / spread))
}

/// The smallest paired difference that `n` items show, at a share of disagreement.
pub fn detectable_paired(n: u64, discordant: f64, aim: &Aim) -> Result<f64, StatsError> {
    smallest(n, discordant, |d| items_paired(discordant, d, aim))
}

/// The smallest increase over accuracy `p` that two groups of `n` items each show.
pub fn detectable_unpaired(n: u64, p: f64, aim: &Aim) -> Result<f64, StatsError> {
    smallest(n, 1.0 - p, |d| items_unpaired(p, d, aim))
}

fn smallest(
    n: u64,
    largest: f64,
    items: impl Fn(f64) -> Result<u64, StatsError>,
) -> Result<f64, StatsError> {
    if items(largest)? > n {
        return Err(StatsError::degenerate(
            "smallest detectable difference",
            "with so few items even the largest possible difference stays unseen",
        ));
    }
    let (mut low, mut high) = (0.0, largest);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if items(middle)? > n {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(high)
}

fn check(what: &'static str, p: f64, q: f64, d: f64) -> Result<(), StatsError> {
    if (0.0..=1.0).contains(&p) && (0.0..=1.0).contains(&q) && d != 0.0 {
        Ok(())
    } else {
        Err(StatsError::domain(
            what,
            "two different accuracies between 0 and 1",
            format!("{p} and {q}"),
        ))
    }
}

fn whole(items: f64) -> Result<u64, StatsError> {
    // Rounding noise must not ask for one item more.
    Ok((items - 1e-9).ceil().max(1.0) as u64)
}
