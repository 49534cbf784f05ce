//! Python's `random.Random(seed).sample`, so that shots are those that the harness draws: the Mersenne
//! Twister of Matsumoto and Nishimura (1998), seeded from a whole number.

const N: usize = 624;

#[derive(Debug, Clone)]
pub struct Random {
    state: Vec<u32>,
    at: usize,
}

impl Random {
    /// `random.Random(seed)`.
    pub fn new(seed: u64) -> Self {
        let mut key = vec![(seed & 0xffff_ffff) as u32];
        if seed >> 32 != 0 {
            key.push((seed >> 32) as u32);
        }
        let mut state = vec![0u32; N];
        let mut last = 19_650_218u32;
        for (i, word) in state.iter_mut().enumerate() {
            if i > 0 {
                last = 1_812_433_253u32
                    .wrapping_mul(last ^ (last >> 30))
                    .wrapping_add(i as u32);
            }
            *word = last;
        }
        let mut random = Self { state, at: N };
        let (mut i, mut j) = (1, 0);
        for _ in 0..N.max(key.len()) {
            let before = random.word(i - 1);
            let mixed = (random.word(i) ^ (before ^ (before >> 30)).wrapping_mul(1_664_525))
                .wrapping_add(key.get(j).copied().unwrap_or(0))
                .wrapping_add(j as u32);
            random.set(i, mixed);
            i += 1;
            j += 1;
            if i >= N {
                random.set(0, random.word(N - 1));
                i = 1;
            }
            if j >= key.len() {
                j = 0;
            }
        }
        for _ in 0..N - 1 {
            let before = random.word(i - 1);
            let mixed = (random.word(i) ^ (before ^ (before >> 30)).wrapping_mul(1_566_083_941))
                .wrapping_sub(i as u32);
            random.set(i, mixed);
            i += 1;
            if i >= N {
                random.set(0, random.word(N - 1));
                i = 1;
            }
        }
        random.set(0, 0x8000_0000);
        random
    }

    fn word(&self, i: usize) -> u32 {
        self.state[i]
    }

    fn set(&mut self, i: usize, value: u32) {
        self.state[i] = value;
    }

    fn next(&mut self) -> u32 {
        if self.at >= N {
            for k in 0..N {
                let y = (self.word(k) & 0x8000_0000) | (self.word((k + 1) % N) & 0x7fff_ffff);
                let twist = if y & 1 == 1 { 0x9908_b0df } else { 0 };
                self.set(k, self.word((k + 397) % N) ^ (y >> 1) ^ twist);
            }
            self.at = 0;
        }
        let mut y = self.word(self.at);
        self.at += 1;
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c_5680;
        y ^= (y << 15) & 0xefc6_0000;
        y ^ (y >> 18)
    }

    /// A number below `n`, which is at least 1 and below 2³².
    fn below(&mut self, n: usize) -> usize {
        let bits = usize::BITS - n.leading_zeros();
        loop {
            let drawn = (self.next() >> (32 - bits.clamp(1, 32))) as usize;
            if drawn < n {
                return drawn;
            }
        }
    }

    /// `sample(range(n), k)`; nothing where there are not that many.
    pub fn sample(&mut self, n: usize, k: usize) -> Option<Vec<usize>> {
        if k > n || n >= 1 << 31 {
            return None;
        }
        let mut small = 21;
        if k > 5 {
            small += 4usize.pow(((k * 3) as f64).log(4.0).ceil() as u32);
        }
        let mut chosen = Vec::with_capacity(k);
        if n <= small {
            let mut pool: Vec<usize> = (0..n).collect();
            for i in 0..k {
                let j = self.below(n - i);
                chosen.push(pool.get(j).copied().unwrap_or(0));
                pool.swap(j, n - i - 1);
            }
        } else {
            let mut taken = std::collections::HashSet::new();
            for _ in 0..k {
                let mut j = self.below(n);
                while !taken.insert(j) {
                    j = self.below(n);
                }
                chosen.push(j);
            }
        }
        Some(chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made with `random.Random(seed).sample(range(n), k)` in Python 3.11.
    #[test]
    fn samples_are_pythons() {
        let mut random = Random::new(1234);
        let mut of = |n, k| random.sample(n, k).unwrap();
        assert_eq!(of(10, 3), [7, 1, 0]);
        assert_eq!(of(5, 5), [0, 4, 2, 3, 1]);
        assert_eq!(of(1000, 5), [784, 363, 242, 17, 31]);
        assert_eq!(of(30, 7), [25, 0, 11, 20, 19, 15, 29]);
        assert_eq!(of(1, 1), [0]);
        assert_eq!(of(100000, 4), [19471, 11965, 23998, 93508]);
        assert_eq!(of(22, 2), [3, 0]);
        assert_eq!(
            Random::new((1 << 40) + 7).sample(50, 6).unwrap(),
            [39, 47, 40, 36, 45, 30]
        );
        assert_eq!(
            Random::new(0).sample(50, 6).unwrap(),
            [24, 48, 26, 2, 16, 32]
        );
        assert_eq!(Random::new(0).sample(2, 3), None);
    }
}
