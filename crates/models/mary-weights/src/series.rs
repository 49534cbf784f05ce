//! The checkpoints of a training run: as the hub lists them, as their makers published them, or as a
//! table of the user's own says.

use std::path::Path;

use mary_contract::{CheckpointName, ErrorKind, read_amount};

use crate::fault::Result;
use crate::{fault, hub};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Branch, tag, commit or folder.
    pub name: String,
    /// Tokens seen by then, where the table says so.
    pub tokens: Option<u64>,
}

/// The checkpoints of a hub repository in the order of training: its branches and tags that are called
/// like checkpoints. Where the hub may not or cannot be asked, the schedule that the makers published,
/// if it is known here; a repository that does not exist is an error at once.
pub fn on_hub(id: &str) -> Result<Vec<String>> {
    let asked = match hub::names(id) {
        Ok(names) => names,
        // What is in the cache can be used without the hub; what is not says so when its turn comes.
        Err(error) if matches!(error.kind, ErrorKind::Transport | ErrorKind::Overloaded) => None,
        Err(error) => return Err(error),
    };
    Ok(match asked {
        Some(names) => ordered(names.branches.into_iter().chain(names.tags)),
        None => published(id),
    })
}

fn ordered(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut found: Vec<(u64, String)> = names
        .filter_map(|name| Some((CheckpointName::read(&name)?.step, name)))
        .collect();
    found.sort();
    found.dedup();
    found.into_iter().map(|(_, name)| name).collect()
}

pub fn published(id: &str) -> Vec<String> {
    if id.starts_with("EleutherAI/pythia-") {
        // 0, 1, 2, 4 … 512, then every thousand to 143,000.
        let early = std::iter::once(0).chain((0..10).map(|power| 1u64 << power));
        let all = early.chain((1..=143).map(|k| k * 1_000));
        return all.map(|step| format!("step{step}")).collect();
    }
    if ["LLM360/Amber", "IFM/Amber"].contains(&id) {
        // 360 checkpoints, the last of which is the branch `main`.
        return (0..359).map(|n| format!("ckpt_{n:03}")).collect();
    }
    if id.starts_with("BabyLM-community/babylm-baseline-") {
        // Every million words to ten, every ten to a hundred, and of the large track every hundred to a billion.
        let large = id.contains("-100m-");
        let all = (1..=10).chain((20..=100).step_by(10));
        let all = all.chain((200..=1_000).step_by(100).filter(|_| large));
        return all.map(|words: u64| format!("chck_{words}M")).collect();
    }
    Vec::new()
}

/// Reads a table: a line for each checkpoint, its name and, behind a comma, tab or space, the tokens it
/// had seen (`4B`, `1.5T`, `12000000`). Empty lines, lines that begin with `#` and a head `name` are
/// left out. The order is that of the tokens where every line has them, else that of the file.
pub fn read_table(path: &Path) -> Result<Vec<Listed>> {
    let text = mary_platform::read_plain_text(path, 64 << 20).map_err(|e| fault::io(path, &e))?;
    let mut all: Vec<Listed> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        let mut cells = line.splitn(2, [',', '\t', ' ', ';']);
        let name = cells.next().unwrap_or_default().trim_matches(['"', ' ']);
        let amount = cells
            .next()
            .unwrap_or_default()
            .trim_matches(['"', ' ', '\t', ',']);
        if name.is_empty() || line.starts_with('#') || (all.is_empty() && name == "name") {
            continue;
        }
        let wrong = |what: String| {
            fault::bad(path, format!("line {}: {what}", number + 1))
                .hint("a line is a name and a number of tokens: ckpt_000, 3.5B")
        };
        let tokens =
            match amount {
                "" => CheckpointName::read(name).and_then(|n| n.tokens),
                amount => Some(read_amount(amount).ok_or_else(|| {
                    wrong(format!("expected a number of tokens, found `{amount}`"))
                })?),
            };
        if all.iter().any(|known| known.name == name) {
            return Err(wrong(format!("`{name}` is there twice")));
        }
        all.push(Listed {
            name: name.to_owned(),
            tokens,
        });
    }
    if all.is_empty() {
        return Err(fault::bad(path, "names no checkpoint")
            .hint("a line is a name and a number of tokens: ckpt_000, 3.5B"));
    }
    if all.iter().all(|listed| listed.tokens.is_some()) {
        all.sort_by_key(|listed| listed.tokens);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_put_in_the_order_of_training() {
        let names = [
            "step1000-tokens4B",
            "main",
            "step200-tokens1B",
            "v1",
            "step1000-tokens4B",
        ];
        assert_eq!(
            ordered(names.map(str::to_owned).into_iter()),
            ["step200-tokens1B", "step1000-tokens4B"]
        );
        assert_eq!(published("EleutherAI/pythia-70m").len(), 154);
        assert_eq!(published("LLM360/Amber")[358], "ckpt_358");
        assert!(published("me/mine").is_empty());
        let baby = published("BabyLM-community/babylm-baseline-10m-gpt-bert-mixed");
        assert_eq!((baby.len(), baby[18].as_str()), (19, "chck_100M"));
        let words = ["chck_100M", "chck_9M", "main", "chck_20M"];
        assert_eq!(
            ordered(words.map(str::to_owned).into_iter()),
            ["chck_9M", "chck_20M", "chck_100M"]
        );
    }

    #[test]
    fn a_table_names_checkpoints_and_their_tokens() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.csv");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            read_table(&path)
        };
        let found = read(
            "name,tokens\n# early ones\nlate, 2T\nckpt_000\t3.5B\n\nmiddle 1,000,000,000,000\n",
        );
        let found: Vec<_> = found
            .unwrap()
            .into_iter()
            .map(|l| (l.name, l.tokens))
            .collect();
        assert_eq!(
            found,
            [
                ("ckpt_000".to_owned(), Some(3_500_000_000)),
                ("middle".to_owned(), Some(1_000_000_000_000)),
                ("late".to_owned(), Some(2_000_000_000_000)),
            ]
        );
        // Without tokens the file's own order stands; a name may say its tokens itself.
        let found = read("b\na\nstep2-tokens8M\n").unwrap();
        assert_eq!(found[0].name, "b");
        assert_eq!(found[2].tokens, Some(8_000_000));
        for (text, said) in [
            (
                "a, many\n",
                "line 1: expected a number of tokens, found `many`",
            ),
            ("a\nb\na\n", "line 3: `a` is there twice"),
            ("# nothing\n", "names no checkpoint"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.message.contains(said), "{error}");
        }
    }
}
