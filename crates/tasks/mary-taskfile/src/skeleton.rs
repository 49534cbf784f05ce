//! A task file to begin with: what `mary tasks new` writes. Each kind is a whole task that runs as it
//! is, with its data beside it.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Skeleton {
    /// Two texts, of which the first should be the more probable.
    Pairs,
    Choice,
    Answer,
    Number,
    Judge,
    /// Vectors of two texts against a number.
    Vectors,
}

/// The task file and its data, a JSONL file of this name.
pub fn skeleton(kind: Skeleton, data: &str) -> (String, &'static str) {
    macro_rules! files {
        ($name:literal) => {
            (
                include_str!(concat!("skeleton/", $name, ".toml")),
                include_str!(concat!("skeleton/", $name, ".jsonl")),
            )
        };
    }
    let (asked, rows) = match kind {
        Skeleton::Pairs => files!("pairs"),
        Skeleton::Choice => files!("choice"),
        Skeleton::Answer => files!("answer"),
        Skeleton::Number => files!("number"),
        Skeleton::Judge => files!("judge"),
        Skeleton::Vectors => files!("vectors"),
    };
    // A name with a quote or a backslash must stay one string.
    let data = data.replace('\\', "\\\\").replace('"', "\\\"");
    let file = include_str!("skeleton/own.txt").replacen("{asked}", asked, 1);
    (file.replacen("{data}", &data, 1), rows)
}
