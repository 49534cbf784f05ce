//! Sweeps that no machine here could run, played through with measured rates: how long, how idle, how many
//! bytes from the hub, and what failures cost. Everything random comes from a seed.

use std::fmt;

use serde::Serialize;

/// Checkpoints of one size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Size {
    /// `pythia-70m`.
    pub name: String,
    /// Billions of weights.
    pub billions: f64,
    /// How many checkpoints.
    pub checkpoints: usize,
    /// Bytes of one on the hub.
    pub bytes: f64,
}

/// Rates that were measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rates {
    /// Seconds in a task that every checkpoint takes, whatever its size, for each battery.
    pub fixed: f64,
    /// Seconds in a task for each billion weights.
    pub per_billion: f64,
    /// Seconds to open a checkpoint that lies on the disk, and for each billion weights.
    pub open: (f64, f64),
    /// Bytes a second that one node gets from the hub, and all of them together.
    pub hub: (f64, f64),
    /// Failures of a node in an hour (crashes, preemptions).
    pub failures: f64,
    /// Seconds until a shard that was lost is started again.
    pub restart: f64,
    /// Seconds that a shard takes to begin.
    pub begin: f64,
}

impl Default for Rates {
    /// The first three are lines through `docs/history/cuda.md`: BLiMP on one H200 takes 2.4 s in the task and 5.5 s
    /// as a process at 70M, 4.9 s and 12.3 s at 1.4B. The rest is assumed and can be set.
    fn default() -> Self {
        Self {
            fixed: 2.27,
            per_billion: 1.88,
            open: (2.9, 3.2),
            hub: (100e6, 1.25e9),
            failures: 0.01,
            restart: 120.0,
            begin: 15.0,
        }
    }
}

/// What is played through.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Scenario {
    /// The checkpoints.
    pub sizes: Vec<Size>,
    /// Devices that work at once.
    pub devices: usize,
    /// Shards; more than devices wait their turn.
    pub shards: usize,
    /// Batteries as long as the measured one.
    pub batteries: f64,
    /// Rates.
    pub rates: Rates,
    /// Seed of the failures.
    pub seed: u64,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Outcome {
    /// Checkpoints.
    pub checkpoints: usize,
    /// Hours from the first shard's beginning to the last one's end.
    pub makespan: f64,
    /// Hours of all devices in tasks.
    pub working: f64,
    /// Hours of all devices waiting for the hub or opening checkpoints.
    pub fetching: f64,
    /// Hours of all devices lost to failures: work done twice, and waiting to be started again.
    pub lost: f64,
    /// How many failures.
    pub failures: usize,
    /// Share of the devices' time in which they did nothing for want of work.
    pub idle: f64,
    /// Bytes from the hub, those fetched twice included.
    pub bytes: f64,
}

/// The eight sizes of Pythia with their published checkpoints; half-precision files.
pub fn pythia() -> Vec<Size> {
    [
        ("pythia-70m", 0.070, 0.166),
        ("pythia-160m", 0.162, 0.375),
        ("pythia-410m", 0.405, 0.911),
        ("pythia-1b", 1.01, 2.09),
        ("pythia-1.4b", 1.41, 2.93),
        ("pythia-2.8b", 2.78, 5.68),
        ("pythia-6.9b", 6.86, 13.8),
        ("pythia-12b", 11.85, 23.8),
    ]
    .map(|(name, billions, gigabytes)| Size {
        name: name.to_owned(),
        billions,
        checkpoints: 154,
        bytes: gigabytes * 1e9,
    })
    .to_vec()
}

/// Reads `1,232 checkpoints on 64 GPUs`: how many of each.
pub fn read(text: &str) -> Option<(usize, usize)> {
    let plain = text.replace([',', '_'], "");
    let mut numbers = plain
        .split(|c: char| !c.is_ascii_digit())
        .filter(|w| !w.is_empty())
        .map(|w| w.parse::<usize>().ok());
    let (checkpoints, devices) = (numbers.next()??, numbers.next()??);
    (numbers.next().is_none() && checkpoints > 0 && devices > 0).then_some((checkpoints, devices))
}

/// The first so many checkpoints of the sizes, spread over them as evenly as can be.
pub fn take(sizes: &[Size], checkpoints: usize) -> Vec<Size> {
    let n = sizes.len().max(1);
    let mut sizes = sizes.to_vec();
    for (place, size) in sizes.iter_mut().enumerate() {
        size.checkpoints = checkpoints / n + usize::from(place < checkpoints % n);
    }
    sizes.retain(|size| size.checkpoints > 0);
    sizes
}

/// Numbers between 0 and 1 from a seed.
struct Dice(u64);

impl Dice {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Seconds until the next failure.
    fn failure(&mut self, per_hour: f64) -> f64 {
        if per_hour <= 0.0 {
            return f64::INFINITY;
        }
        -(1.0 - self.unit()).ln() * 3600.0 / per_hour
    }
}

/// One checkpoint's seconds: from the hub, opened, asked.
#[derive(Clone, Copy)]
struct Piece {
    fetch: f64,
    open: f64,
    ask: f64,
    bytes: f64,
}

/// Plays a scenario through. `deal` divides costs among shards, as a sweep does.
pub fn play(scenario: &Scenario, deal: impl Fn(&[u64], usize) -> Vec<Vec<usize>>) -> Outcome {
    let rates = scenario.rates;
    let devices = scenario.devices.max(1);
    // All nodes fetch at once: each gets its own rate or its share of what the hub gives.
    let speed = rates.hub.0.min(rates.hub.1 / devices as f64);
    let mut pieces = Vec::new();
    let mut costs = Vec::new();
    for size in &scenario.sizes {
        for _ in 0..size.checkpoints {
            pieces.push(Piece {
                fetch: size.bytes / speed,
                open: rates.open.0 + rates.open.1 * size.billions,
                ask: (rates.fixed + rates.per_billion * size.billions) * scenario.batteries,
                bytes: size.bytes,
            });
            costs.push((size.billions * 1000.0) as u64 + 20);
        }
    }
    let mut outcome = Outcome {
        checkpoints: pieces.len(),
        makespan: 0.0,
        working: 0.0,
        fetching: 0.0,
        lost: 0.0,
        failures: 0,
        idle: 0.0,
        bytes: 0.0,
    };
    let mut dice = Dice(scenario.seed);
    let mut free = vec![0.0_f64; devices];
    for hand in deal(&costs, scenario.shards.max(1)) {
        let Some(device) = (0..devices).min_by(|&a, &b| {
            let at = |d: usize| free.get(d).copied().unwrap_or(0.0);
            at(a).total_cmp(&at(b))
        }) else {
            continue;
        };
        let work: Vec<Piece> = hand
            .iter()
            .filter_map(|&k| pieces.get(k))
            .copied()
            .collect();
        if let Some(at) = free.get_mut(device).filter(|_| !work.is_empty()) {
            *at += shard(&work, &rates, &mut dice, &mut outcome);
        }
    }
    let end = free.iter().copied().fold(0.0, f64::max);
    let busy: f64 = free.iter().sum();
    outcome.makespan = end / 3600.0;
    outcome.idle = 1.0 - busy / (end * devices as f64).max(1e-9);
    for hours in [
        &mut outcome.working,
        &mut outcome.fetching,
        &mut outcome.lost,
    ] {
        *hours /= 3600.0;
    }
    outcome
}

/// Seconds of one shard. The next checkpoint is fetched and opened meanwhile; a failure costs what was done
/// and fetched of the present one, and the time until the next start.
fn shard(work: &[Piece], rates: &Rates, dice: &mut Dice, outcome: &mut Outcome) -> f64 {
    let mut time = rates.begin;
    let mut failure = time + dice.failure(rates.failures);
    let mut place = 0;
    let mut ready = false;
    while let Some(piece) = work.get(place) {
        let next = work.get(place + 1);
        let start = if ready { 0.0 } else { piece.fetch + piece.open };
        if !ready {
            outcome.bytes += piece.bytes;
        }
        let ahead = next.map_or(0.0, |n| n.fetch + n.open);
        let took = start + piece.ask.max(ahead);
        // The last one waits for nothing behind it.
        if time + took > failure {
            let wasted = (failure - time).max(0.0);
            outcome.failures += 1;
            outcome.lost += wasted + rates.restart + rates.begin;
            time = failure + rates.restart + rates.begin;
            failure = time + dice.failure(rates.failures);
            ready = false;
            continue;
        }
        outcome.bytes += next.map_or(0.0, |n| n.bytes);
        outcome.working += piece.ask;
        outcome.fetching += took - piece.ask;
        time += took;
        ready = next.is_some();
        place += 1;
    }
    outcome.fetching += rates.begin;
    time
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "checkpoints                {:>12}", self.checkpoints)?;
        writeln!(f, "makespan                   {:>12.2} h", self.makespan)?;
        writeln!(f, "in tasks, all devices      {:>12.2} h", self.working)?;
        writeln!(f, "waiting for the hub, opening {:>10.2} h", self.fetching)?;
        writeln!(
            f,
            "lost to {:>5} failures     {:>12.2} h",
            self.failures, self.lost
        )?;
        writeln!(
            f,
            "idle, without work         {:>12.1} %",
            100.0 * self.idle
        )?;
        write!(
            f,
            "from the hub               {:>12.2} TB",
            self.bytes / 1e12
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_turn(costs: &[u64], n: usize) -> Vec<Vec<usize>> {
        (0..n)
            .map(|k| (k..costs.len()).step_by(n).collect())
            .collect()
    }

    fn scenario(devices: usize) -> Scenario {
        Scenario {
            sizes: vec![Size {
                name: "one".into(),
                billions: 1.0,
                checkpoints: 100,
                bytes: 2e9,
            }],
            devices,
            shards: devices,
            batteries: 1.0,
            rates: Rates {
                fixed: 10.0,
                per_billion: 90.0,
                open: (0.0, 10.0),
                hub: (1e8, 1e12),
                failures: 0.0,
                restart: 100.0,
                begin: 0.0,
            },
            seed: 1,
        }
    }

    #[test]
    fn without_failures_it_is_arithmetic() {
        let one = play(&scenario(1), in_turn);
        // The first is fetched (20 s) and opened (10 s); the others are while their forerunner is asked.
        assert!(
            (one.makespan - (30.0 + 100.0 * 100.0) / 3600.0).abs() < 1e-9,
            "{one:?}"
        );
        assert_eq!((one.failures, one.bytes), (0, 100.0 * 2e9));
        let ten = play(&scenario(10), in_turn);
        assert!((ten.makespan - (30.0 + 10.0 * 100.0) / 3600.0).abs() < 1e-9);
        assert!(ten.idle.abs() < 1e-9);
        // Three devices cannot share a hundred alike: 34, 33, 33.
        let three = play(&scenario(3), in_turn);
        assert!(
            (three.idle - 200.0 / (3.0 * 3430.0)).abs() < 1e-9,
            "{}",
            three.idle
        );
    }

    #[test]
    fn a_slow_hub_is_waited_for() {
        let mut slow = scenario(10);
        slow.rates.hub = (1e8, 1e8);
        let outcome = play(&slow, in_turn);
        // 200 s for each of ten, then opened: the asking hides half of it.
        assert!((outcome.makespan - (210.0 + 9.0 * 210.0 + 100.0) / 3600.0).abs() < 1e-9);
        assert!(outcome.fetching > outcome.working);
    }

    #[test]
    fn failures_cost_about_what_they_should() {
        let mut frail = scenario(20);
        frail.rates.failures = 0.5;
        let sound = play(&scenario(20), in_turn);
        let (mut failures, mut lost, mut expected) = (0.0, 0.0, 0.0);
        for seed in 0..4000 {
            frail.seed = seed;
            let outcome = play(&frail, in_turn);
            assert!(outcome.makespan >= sound.makespan);
            assert!((outcome.working - sound.working).abs() < 1e-9);
            failures += outcome.failures as f64;
            lost += outcome.lost;
            let waiting = outcome.failures as f64 * 100.0 / 3600.0;
            expected += 0.5 * (outcome.working + outcome.fetching + outcome.lost - waiting);
        }
        // As many failures as hours ask for (waiting for the restart is not at risk), half a
        // checkpoint and a restart for each.
        assert!(
            (failures / expected - 1.0).abs() < 0.05,
            "{failures} {expected}"
        );
        let each = lost * 3600.0 / failures;
        assert!((140.0..180.0).contains(&each), "{each}");
    }

    #[test]
    fn what_people_write_is_read() {
        assert_eq!(read("1,232 checkpoints on 64 GPUs"), Some((1232, 64)));
        assert_eq!(read("1232 64"), Some((1232, 64)));
        assert_eq!(read("many checkpoints"), None);
        assert_eq!(read("0 on 4"), None);
        let sizes = take(&pythia(), 1232);
        assert!(sizes.iter().all(|s| s.checkpoints == 154));
        assert_eq!(take(&pythia(), 3).len(), 3);
    }
}
