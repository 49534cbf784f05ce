//! Numbers as they are shown: which ones, in which of the three formats, and the words that are no
//! numbers beside them.

use mary_generators::capital;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Range {
    /// 1 to 9, the paper's.
    Units,
    /// 10 to 99.
    Tens,
    /// 1, 10, 100 … 1,000,000; distance and ratio are taken on the logarithm to base 10.
    Magnitudes,
}

impl Range {
    pub fn numbers(self) -> Vec<u64> {
        match self {
            Self::Units => (1..=9).collect(),
            Self::Tens => (10..=99).collect(),
            Self::Magnitudes => (0..=6).map(|power| 10_u64.pow(power)).collect(),
        }
    }
}

mary_generators::named! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Format {
        /// `seven`.
        Lowercase = "lowercase",
        /// `Seven`.
        MixedCase = "mixed-case",
        /// `7`.
        Digits = "digits",
    }
}

impl Format {
    pub fn write(self, number: u64) -> String {
        match self {
            Self::Lowercase => in_words(number),
            Self::MixedCase => capital(&in_words(number)),
            Self::Digits => number.to_string(),
        }
    }

    /// A word that is no number, cased as this format cases numbers.
    pub fn case(self, word: &str) -> String {
        match self {
            Self::MixedCase => capital(word),
            Self::Lowercase | Self::Digits => word.to_owned(),
        }
    }
}

/// Common nouns that are no numbers: few, because every vector stands in the log.
pub const WORDS: [&str; 6] = ["river", "table", "window", "garden", "music", "bread"];

const UNITS: &str = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen \
                     fifteen sixteen seventeen eighteen nineteen";
/// From twenty on.
const TENS: &str = "twenty thirty forty fifty sixty seventy eighty ninety";

fn in_words(number: u64) -> String {
    match number {
        100 => "hundred".into(),
        1_000 => "thousand".into(),
        10_000 => "ten thousand".into(),
        100_000 => "hundred thousand".into(),
        1_000_000 => "million".into(),
        20..=99 => {
            let tens = word(TENS, number / 10 - 2).unwrap_or_default();
            match (number % 10, word(UNITS, number % 10)) {
                (1.., Some(unit)) => format!("{tens}-{unit}"),
                _ => tens.into(),
            }
        }
        _ => word(UNITS, number).map_or_else(|| number.to_string(), str::to_owned),
    }
}

fn word(list: &'static str, place: u64) -> Option<&'static str> {
    list.split(' ').nth(place as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_three_formats() {
        let shown = |n| Format::ALL.map(|f| f.write(n)).join(" ");
        assert_eq!(shown(7), "seven Seven 7");
        assert_eq!(shown(40), "forty Forty 40");
        assert_eq!(shown(99), "ninety-nine Ninety-nine 99");
        assert_eq!(shown(10_000), "ten thousand Ten thousand 10000");
    }

    #[test]
    fn ranges_have_the_size_they_say() {
        assert_eq!(Range::Units.numbers().len(), 9);
        assert_eq!(Range::Tens.numbers().len(), 90);
        assert_eq!(Range::Magnitudes.numbers().last(), Some(&1_000_000));
    }
}
