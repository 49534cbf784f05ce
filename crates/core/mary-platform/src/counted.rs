//! A number with its noun: one helper for every message, so that none says "1 tasks".

/// `1 task`, `2 tasks`, `0 tasks`; `1 person`, `3 people`; `1 study`, `2 studies`.
pub fn counted(count: usize, noun: &str) -> String {
    format!("{count} {}", plural(count, noun))
}

/// The noun alone, as it stands behind this number.
pub fn plural(count: usize, noun: &str) -> String {
    if count == 1 {
        return noun.to_owned();
    }
    if let Some(before) = noun.strip_suffix("person") {
        return format!("{before}people");
    }
    match noun.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{stem}ies"),
        _ => format!("{noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn one_of_a_thing_is_singular() {
        for (count, noun, said) in [
            (1, "task", "1 task"),
            (0, "task", "0 tasks"),
            (2, "run folder", "2 run folders"),
            (1, "person", "1 person"),
            (3, "person", "3 people"),
            (2, "study", "2 studies"),
            (2, "key", "2 keys"),
        ] {
            assert_eq!(counted(count, noun), said);
        }
    }
}
