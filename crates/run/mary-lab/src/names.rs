//! Names with wildcards, and the nearest known name for one that is not known.

/// Whether `name` fits `pattern`, in which `*` stands for any run of characters and `?` for one.
///
/// ```
/// use mary_lab::names::{nearest, wildcard};
///
/// assert!(wildcard("*/spelled-*", "htest/spelled-math") && !wildcard("htest", "htest/rhyme"));
/// assert_eq!(nearest("ryhme", ["htest/rhyme", "htest/palindrome"]), ["htest/rhyme"]);
/// ```
pub fn wildcard(pattern: &str, name: &str) -> bool {
    let (p, n): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut i, mut j) = (0, 0);
    // Where to go on after the last star, should the rest not fit.
    let mut retry: Option<(usize, usize)> = None;
    while j < n.len() {
        match p.get(i) {
            Some('*') => {
                retry = Some((i + 1, j));
                i += 1;
            }
            Some(&c) if c == '?' || Some(&c) == n.get(j) => {
                i += 1;
                j += 1;
            }
            _ => match retry {
                Some((after, at)) => {
                    retry = Some((after, at + 1));
                    (i, j) = (after, at + 1);
                }
                None => return false,
            },
        }
    }
    p.iter().skip(i).all(|c| *c == '*')
}

/// The known names closest to `name`, best first, none if nothing is close.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let lower = name.to_lowercase();
    let mut close: Vec<(f64, &str)> = known
        .into_iter()
        .map(|k| {
            // A user may leave the family out: compare with the last part too.
            let tail = k.rsplit('/').next().unwrap_or(k);
            let whole = strsim::jaro_winkler(&lower, &k.to_lowercase());
            (
                whole.max(strsim::jaro_winkler(&lower, &tail.to_lowercase())),
                k,
            )
        })
        .filter(|(score, _)| *score > 0.75)
        .collect();
    close.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    close.into_iter().take(3).map(|(_, k)| k).collect()
}

/// `did you mean a, b?` or a pointer to the list.
pub fn suggestion<'a>(name: &str, known: impl IntoIterator<Item = &'a str>, list: &str) -> String {
    let near = nearest(name, known);
    if near.is_empty() {
        format!("hint: `{list}` lists them all")
    } else {
        format!("hint: did you mean {}?", near.join(" or "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks() {
        for (pattern, name, fits) in [
            ("words/*", "words/rhyme", true),
            ("*/spelled-*", "words/spelled-math", true),
            ("words/r?yme", "words/rhyme", true),
            ("words", "words/rhyme", false),
            ("*", "", true),
            ("a*b*c", "axxbyybzc", true),
            ("a*b", "axc", false),
        ] {
            assert_eq!(wildcard(pattern, name), fits, "{pattern} {name}");
        }
    }

    #[test]
    fn near_names_are_found_without_their_family() {
        let known = ["words/rhyme", "words/palindrome", "grids/core"];
        assert_eq!(nearest("ryhme", known), ["words/rhyme"]);
        assert!(nearest("zzz", known).is_empty());
    }
}
