//! Places in the cache for answers that are written together.

use super::{JOINING, SHARED, Writing};
use crate::model::LocalModel;

pub(super) struct Seats {
    /// First row and number of rows of each that is free.
    pub free: Vec<(usize, usize)>,
    all: usize,
    pub rows: usize,
}

impl Seats {
    /// As long as anybody needs if there is memory for that, else as long as the first ones need.
    pub fn new(model: &LocalModel, pool: &[Writing], common: &Common, together: usize) -> Self {
        let own = Writing::own_rows;
        let longest = pool.iter().map(own).max().unwrap_or(0);
        let sum: usize = pool[..together].iter().map(own).sum();
        let spare = pool.len() > together
            && together * longest <= 2 * sum
            && model.fitting(std::iter::repeat(longest), together) == together;
        let mut rows = common.tokens.len();
        let mut free = vec![];
        for writing in &pool[..together] {
            let len = if spare { longest } else { own(writing) };
            free.push((rows, len));
            rows += len;
        }
        Self {
            all: free.len(),
            free,
            rows,
        }
    }

    /// More places for those who come later, as long as the longest, if there is memory for them.
    pub fn add(&mut self, model: &LocalModel, pool: &[Writing], group: usize) {
        let longest = pool.iter().map(|w| w.prompt.len() + w.most).max();
        let len = longest.unwrap_or(0).next_power_of_two();
        let wanted = self.all.next_power_of_two().max(JOINING).min(group);
        let fitting = model.fitting(std::iter::repeat(len), wanted);
        for _ in self.all..fitting {
            self.free.push((self.rows, len));
            self.rows += len;
            self.all += 1;
        }
    }

    /// Reading a prompt is a pass of its own, so a few places are filled together.
    pub fn fill(&mut self, pool: &mut [Writing]) -> Vec<usize> {
        let waits = |w: &Writing| !w.answered && w.rows == 0 && w.finish.is_none();
        let waiting = pool.iter().filter(|w| waits(w)).count();
        if waiting == 0 || self.free.len() < self.all.div_ceil(4).min(waiting) {
            return vec![];
        }
        let mut came = vec![];
        for (i, writing) in pool.iter_mut().enumerate().filter(|(_, w)| waits(w)) {
            let need = writing.own_rows();
            let Some(place) = self.free.iter().position(|&(_, len)| len >= need) else {
                continue;
            };
            (writing.first, writing.rows) = self.free.remove(place);
            came.push(i);
        }
        came
    }

    pub fn leave(&mut self, writing: &mut Writing) {
        self.give_back(writing);
        writing.answered = true;
    }

    pub fn give_back(&mut self, writing: &mut Writing) {
        if writing.rows > 0 {
            self.free.push((writing.first, writing.rows));
            writing.rows = 0;
        }
    }
}

#[derive(Default)]
pub(super) struct Common {
    pub tokens: Vec<u32>,
    pub turns: Vec<[u32; 3]>,
}

impl Common {
    /// The row of the last token.
    pub fn end(&self) -> impl Iterator<Item = usize> + use<> {
        self.tokens.len().checked_sub(1).into_iter()
    }
}

/// The beginning all prompts share; at least one token of each is left to be read on its own.
pub(super) fn common(group: &[Writing]) -> Common {
    let [first, .., last] = group else {
        return Common::default();
    };
    // Prompts are sorted, so what the first and the last share all of them share.
    let both = first.prompt.iter().zip(&last.prompt);
    let same = both.take_while(|(a, b)| a == b).count();
    let shortest = group.iter().map(|w| w.prompt.len()).min().unwrap_or(0);
    let same = same.min(shortest.saturating_sub(1));
    let same = if same < SHARED { 0 } else { same };
    Common {
        tokens: first.prompt[..same].to_vec(),
        turns: first.places.iter().take(same).map(|p| p.at).collect(),
    }
}
