//! BLEU (Papineni et al. 2002) and chrF (Popović 2015) over a whole set, with the conventions of
//! sacreBLEU (Post 2018): its tokenizer `13a` and exponential smoothing for BLEU, character n-grams up
//! to six without spaces for chrF, and word pairs besides for chrF++. What each item adds is kept as
//! counts, so that resampling costs no counting.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

const ORDER: usize = 4;

/// Longest character n-gram of chrF.
const CHARACTERS: usize = 6;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BleuCounts {
    /// n-grams of the answer that a reference has, by length.
    pub correct: [u64; ORDER],
    pub total: [u64; ORDER],
    pub said: u64,
    /// Words of the reference of nearest length.
    pub reference: u64,
}

impl BleuCounts {
    pub fn count(answer: &str, references: &[&str]) -> Self {
        let words = tokens(answer);
        let references: Vec<Vec<String>> = references.iter().map(|r| tokens(r)).collect();
        let lengths = references.iter().map(Vec::len);
        let nearest = lengths.min_by_key(|n| (n.abs_diff(words.len()), *n));
        let mut counts = Self {
            said: words.len() as u64,
            reference: nearest.unwrap_or(0) as u64,
            ..Self::default()
        };
        for n in 1..=ORDER {
            let said = ngrams(&words, n);
            let theirs: Vec<_> = references.iter().map(|r| ngrams(r, n)).collect();
            for (gram, times) in said {
                let most = theirs.iter().filter_map(|t| t.get(gram)).max().copied();
                if let (Some(correct), Some(total)) =
                    (counts.correct.get_mut(n - 1), counts.total.get_mut(n - 1))
                {
                    *correct += times.min(most.unwrap_or(0));
                    *total += times;
                }
            }
        }
        counts
    }

    pub fn add(&mut self, other: &Self) {
        for n in 0..ORDER {
            if let (Some(a), Some(b)) = (self.correct.get_mut(n), other.correct.get(n)) {
                *a += b;
            }
            if let (Some(a), Some(b)) = (self.total.get_mut(n), other.total.get(n)) {
                *a += b;
            }
        }
        self.said += other.said;
        self.reference += other.reference;
    }

    /// BLEU, from 0 to 100.
    pub fn score(&self) -> f64 {
        if self.correct.iter().all(|c| *c == 0) || self.said == 0 {
            return 0.0;
        }
        let mut halvings = 1.0;
        let mut logs = 0.0;
        for (correct, total) in self.correct.iter().zip(&self.total) {
            if *total == 0 {
                return 0.0;
            }
            let precision = if *correct == 0 {
                halvings *= 2.0;
                100.0 / (halvings * *total as f64)
            } else {
                100.0 * *correct as f64 / *total as f64
            };
            logs += precision.ln();
        }
        let short = if self.said < self.reference {
            (1.0 - self.reference as f64 / self.said as f64).exp()
        } else {
            1.0
        };
        short * (logs / ORDER as f64).exp()
    }
}

fn ngrams<T: std::hash::Hash + Eq>(tokens: &[T], n: usize) -> HashMap<&[T], u64> {
    let mut counts = HashMap::new();
    for gram in tokens.windows(n) {
        *counts.entry(gram).or_default() += 1;
    }
    counts
}

/// The rules of the tokenizer `13a`.
static RULES: LazyLock<Vec<(Regex, &'static str)>> = LazyLock::new(|| {
    [
        (r"([{-~\[-` -&(-+:-@/])", " $1 "),
        (r"([^0-9])([.,])", "$1 $2 "),
        (r"([.,])([^0-9])", " $1 $2"),
        (r"([0-9])(-)", "$1 $2 "),
    ]
    .into_iter()
    .filter_map(|(pattern, with)| Some((Regex::new(pattern).ok()?, with)))
    .collect()
});

fn tokens(text: &str) -> Vec<String> {
    let mut text = text.trim_end().replace("<skipped>", "");
    text = text.replace("-\n", "").replace('\n', " ");
    if text.contains('&') {
        for (name, sign) in [
            ("&quot;", "\""),
            ("&amp;", "&"),
            ("&lt;", "<"),
            ("&gt;", ">"),
        ] {
            text = text.replace(name, sign);
        }
    }
    let mut text = format!(" {text} ");
    for (rule, with) in RULES.iter() {
        text = rule.replace_all(&text, *with).into_owned();
    }
    text.split_whitespace().map(str::to_owned).collect()
}

/// What one item adds to chrF: n-grams of the answer, of the reference, and of both, by order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ChrfCounts(pub Vec<[u64; 3]>);

impl ChrfCounts {
    /// Counts one answer against the reference it fits best; `words` is 2 for chrF++ and 0 for chrF.
    pub fn count(answer: &str, references: &[&str], words: usize) -> Self {
        let said = pieces(answer, words);
        let counted = references.iter().map(|r| {
            let theirs = pieces(r, words);
            let mut counts = Vec::new();
            for (of_answer, of_reference) in said.iter().zip(&theirs) {
                counts.push(matched(of_answer, of_reference));
            }
            Self(counts)
        });
        let best = counted.fold(None::<Self>, |best, one| match best {
            Some(best) if best.score() >= one.score() => Some(best),
            _ => Some(one),
        });
        best.unwrap_or_default()
    }

    pub fn add(&mut self, other: &Self) {
        self.0.resize(self.0.len().max(other.0.len()), [0; 3]);
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            for (a, b) in mine.iter_mut().zip(theirs) {
                *a += b;
            }
        }
    }

    /// chrF with recall weighing twice, from 0 to 100.
    pub fn score(&self) -> f64 {
        const FACTOR: f64 = 4.0;
        let (mut precision, mut recall, mut orders) = (0.0, 0.0, 0.0);
        for &[said, reference, both] in &self.0 {
            if said > 0 && reference > 0 {
                precision += both as f64 / said as f64;
                recall += both as f64 / reference as f64;
                orders += 1.0;
            }
        }
        if orders == 0.0 || precision + recall == 0.0 {
            return 0.0;
        }
        let (precision, recall) = (precision / orders, recall / orders);
        100.0 * (1.0 + FACTOR) * precision * recall / (FACTOR * precision + recall)
    }
}

type Counts = HashMap<String, u64>;

/// The n-grams of a text by order: characters, then words.
fn pieces(text: &str, words: usize) -> Vec<Counts> {
    let characters: Vec<char> = text
        .chars()
        .filter(|c| !crate::lm_eval::python::is_space(*c))
        .collect();
    let mut all: Vec<Counts> = (1..=CHARACTERS)
        .map(|n| {
            let mut counts = Counts::new();
            for gram in characters.windows(n) {
                *counts.entry(gram.iter().collect()).or_default() += 1;
            }
            counts
        })
        .collect();
    if words > 0 {
        let tokens: Vec<String> = text.split_whitespace().flat_map(split_sign).collect();
        for n in 1..=words {
            let mut counts = Counts::new();
            for gram in tokens.windows(n) {
                *counts.entry(gram.join(" ")).or_default() += 1;
            }
            all.push(counts);
        }
    }
    all
}

/// A word and the sign at its end or its beginning.
fn split_sign(word: &str) -> Vec<String> {
    let (first, last) = (word.chars().next(), word.chars().next_back());
    if word.chars().count() > 1 {
        if let Some(sign) = last.filter(char::is_ascii_punctuation) {
            let bare = word.strip_suffix(sign).unwrap_or(word);
            return vec![bare.to_owned(), sign.to_string()];
        }
        if let Some(sign) = first.filter(char::is_ascii_punctuation) {
            let bare = word.strip_prefix(sign).unwrap_or(word);
            return vec![sign.to_string(), bare.to_owned()];
        }
    }
    vec![word.to_owned()]
}

fn matched(answer: &Counts, reference: &Counts) -> [u64; 3] {
    let both = answer
        .iter()
        .map(|(gram, n)| (*n).min(reference.get(gram).copied().unwrap_or(0)));
    let said: u64 = answer.values().sum();
    let said = if reference.is_empty() { 0 } else { said };
    [said, reference.values().sum(), both.sum()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIRS: [(&str, &[&str]); 5] = [
        (
            "The cat sat on the mat.",
            &["The cat is sitting on the mat.", "A cat sat on a mat."],
        ),
        (
            "It cost 3,000.50 dollars (about).",
            &["It cost about 3,000.50 dollars.", "The price: $3,000.50!"],
        ),
        (
            "Grüße aus 10-jähriger Ferne",
            &["Grüße aus einer 10-jährigen Ferne", "Viele Grüße"],
        ),
        ("", &["nothing was said", "silence"]),
        (
            "AT&amp;T said &quot;no&quot;, e.g. never",
            &["AT&T said \"no\", i.e. never", "no"],
        ),
    ];

    /// Golden numbers made with sacreBLEU's `corpus_bleu` and `corpus_chrf`.
    #[test]
    fn scores_are_those_of_sacrebleu() {
        let golden = [
            (1, 41.08685389194881, 51.39881863350606, 50.915194273095786),
            (2, 47.925660146983276, 52.36063825796733, 51.03642222838498),
        ];
        for (references, bleu, chrf, chrf_words) in golden {
            let (mut b, mut c, mut w) = Default::default();
            for (answer, all) in PAIRS {
                let some = all.get(..references).unwrap();
                BleuCounts::add(&mut b, &BleuCounts::count(answer, some));
                ChrfCounts::add(&mut c, &ChrfCounts::count(answer, some, 0));
                ChrfCounts::add(&mut w, &ChrfCounts::count(answer, some, 2));
            }
            let (b, c, w) = (b.score(), c.score(), w.score());
            assert!((b - bleu).abs() < 1e-9, "BLEU {b} {bleu}");
            assert!((c - chrf).abs() < 1e-9, "chrF {c} {chrf}");
            assert!((w - chrf_words).abs() < 1e-9, "chrF++ {w} {chrf_words}");
        }
    }

    #[test]
    fn nothing_scores_nothing() {
        assert_eq!(BleuCounts::count("", &["a b c d"]).score(), 0.0);
        assert_eq!(ChrfCounts::count("", &["a"], 0).score(), 0.0);
        assert_eq!(ChrfCounts::count("x", &[""], 0).score(), 0.0);
    }
}
