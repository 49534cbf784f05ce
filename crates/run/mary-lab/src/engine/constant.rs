//! Whether a model always gives the same answer: saying A to everything scores 50 % on balanced A/B items,
//! and the row looks like one that tries and fails.

use std::collections::BTreeMap;

use mary_contract::ConstantAnswer;

/// More than this share of the answers is constant.
pub const SHARE: f64 = 0.95;
/// Fewer answers than this may be alike by chance.
const FEWEST: usize = 10;
/// Open questions have as many answers as items; none of those beyond this many can take 95 %.
const MOST_KINDS: usize = 1_000;

/// How often each answer was given, and the points it made.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    all: usize,
    by_answer: BTreeMap<String, (usize, f64)>,
}

impl Answers {
    /// Counts one answer that was read and judged.
    pub(crate) fn add(&mut self, answer: &str, score: f64) {
        self.all += 1;
        if let Some((count, points)) = self.by_answer.get_mut(answer) {
            *count += 1;
            *points += score;
        } else if self.by_answer.len() < MOST_KINDS {
            self.by_answer.insert(answer.to_owned(), (1, score));
        }
    }

    /// The answer that took nearly all, unless always right or always wrong: where the verdict names a role
    /// (`good` of a minimal pair), a model that is always right says it always.
    pub(crate) fn constant(&self) -> Option<ConstantAnswer> {
        let (answer, (count, points)) = self.by_answer.iter().max_by_key(|(_, (n, _))| *n)?;
        let rate = points / *count as f64;
        let constant = self.all >= FEWEST
            && *count as f64 > SHARE * self.all as f64
            && rate > 0.0
            && rate < 1.0
            && answer != "tie";
        constant.then(|| ConstantAnswer {
            answer: answer.clone(),
            count: *count,
            of: self.all,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(answers: &[(&str, f64, usize)]) -> Option<ConstantAnswer> {
        let mut all = Answers::default();
        for (answer, score, times) in answers {
            for _ in 0..*times {
                all.add(answer, *score);
            }
        }
        all.constant()
    }

    #[test]
    fn one_option_with_more_than_95_percent_is_constant() {
        let found = of(&[("A", 1.0, 100), ("A", 0.0, 91), ("B", 1.0, 9)]).unwrap();
        assert_eq!(
            (found.answer.as_str(), found.count, found.of),
            ("A", 191, 200)
        );
        // Exactly 95 % is not more than 95 %.
        assert_eq!(of(&[("A", 1.0, 100), ("A", 0.0, 90), ("B", 1.0, 10)]), None);
    }

    #[test]
    fn what_is_always_right_or_wrong_names_a_role_and_not_an_option() {
        assert_eq!(of(&[("good", 1.0, 99), ("bad", 0.0, 1)]), None);
        assert_eq!(of(&[("antonym", 0.0, 99), ("synonym", 1.0, 1)]), None);
        assert_eq!(of(&[("tie", 0.5, 100)]), None);
    }

    #[test]
    fn a_handful_of_answers_says_nothing() {
        assert_eq!(of(&[("A", 1.0, 5), ("A", 0.0, 4)]), None);
        assert!(of(&[("A", 1.0, 5), ("A", 0.0, 5)]).is_some());
        assert_eq!(of(&[]), None);
    }
}
