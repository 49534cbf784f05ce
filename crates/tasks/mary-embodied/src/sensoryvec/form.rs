//! How alike two words look: edit distance and shared stems. The paper finds that a word is taken for
//! its antonym where the two share their form (sugarless, sugary); these are the tags that let a
//! result show it.

/// Words that share less of their letters than this look like nothing of each other.
const ALIKE: f64 = 1.0 / 3.0;

/// Which of two words looks more like a third, by normalised edit distance.
pub fn looks_closer(word: &str, synonym: &str, antonym: &str) -> &'static str {
    let likeness = |other: &str| strsim::normalized_levenshtein(word, other);
    let (synonym, antonym) = (likeness(synonym), likeness(antonym));
    if (synonym - antonym).abs() < 1e-9 || synonym.max(antonym) < ALIKE {
        "neither"
    } else if antonym > synonym {
        "antonym"
    } else {
        "synonym"
    }
}

pub fn shares_stem(word: &str, synonym: &str, antonym: &str) -> &'static str {
    match (same_stem(word, synonym), same_stem(word, antonym)) {
        (true, true) => "both",
        (true, false) => "synonym",
        (false, true) => "antonym",
        (false, false) => "neither",
    }
}

const PREFIXES: [&str; 11] = [
    "non", "dis", "mis", "over", "under", "un", "in", "im", "il", "ir", "de",
];
const SUFFIXES: [&str; 22] = [
    "lessness", "fulness", "iness", "less", "ness", "like", "some", "able", "ible", "ful", "ous",
    "ish", "ing", "ive", "ent", "ant", "est", "ed", "er", "al", "ic", "y",
];
const SHORTEST: usize = 3;

/// Whether two words have a stem in common: without their affixes they are equal, or all but equal in
/// their last letters (dim, undimmed).
pub fn same_stem(first: &str, second: &str) -> bool {
    let (first, second) = (first.to_lowercase(), second.to_lowercase());
    let (a, b) = (stems(&first), stems(&second));
    a.iter().any(|x| b.iter().any(|y| alike(x, y)))
}

/// A word without one prefix, without one suffix, without both, and as it is.
fn stems(word: &str) -> Vec<&str> {
    let word = word.trim();
    let long = |stem: &&str| stem.chars().count() >= SHORTEST;
    let mut stems = vec![word];
    stems.extend(
        PREFIXES
            .iter()
            .filter_map(|p| word.strip_prefix(p))
            .filter(long),
    );
    let cut = stems.iter();
    let cut = cut.flat_map(|stem| SUFFIXES.iter().filter_map(|s| stem.strip_suffix(s)));
    let ends: Vec<&str> = cut.filter(long).collect();
    stems.extend(ends);
    stems
}

/// Equal, or the same but for a doubled or changed last letter or two of a longer stem.
fn alike(a: &str, b: &str) -> bool {
    if a == b {
        return a.chars().count() >= SHORTEST;
    }
    let common = a.chars().zip(b.chars()).take_while(|(x, y)| x == y).count();
    let (shorter, longer) = {
        let (a, b) = (a.chars().count(), b.chars().count());
        (a.min(b), a.max(b))
    };
    // `dim` and `dimm`, `spic` and `spice`; `absorb` and `absorpt`.
    (common == shorter && common >= SHORTEST && longer - shorter <= 1)
        || (common >= 5 && longer - common <= 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stems_are_shared_through_affixes() {
        for (a, b) in [
            ("sugarless", "sugary"),
            ("unwrinkled", "wrinkled"),
            ("undimmed", "dim"),
            ("nonabsorbent", "absorbent"),
            ("absorbent", "absorptive"),
            ("colourful", "colourless"),
            ("spicy", "spiced"),
        ] {
            assert!(same_stem(a, b), "{a} {b}");
            assert!(same_stem(b, a), "{b} {a}");
        }
        for (a, b) in [
            ("dry", "wet"),
            ("open", "closed"),
            ("loud", "lousy"),
            ("bright", "brief"),
            ("green", "red"),
            ("hot", "hollow"),
            ("salty", "saline"),
        ] {
            assert!(!same_stem(a, b), "{a} {b}");
        }
    }

    #[test]
    fn the_closer_form_is_named() {
        assert_eq!(
            looks_closer("sugarless", "unsweetened", "sugary"),
            "antonym"
        );
        assert_eq!(looks_closer("dry", "waterless", "wet"), "neither");
        assert_eq!(shares_stem("undimmed", "bright", "dim"), "antonym");
        assert_eq!(shares_stem("dry", "waterless", "wet"), "neither");
    }
}
