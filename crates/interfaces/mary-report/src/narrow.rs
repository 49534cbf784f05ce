//! Tables on a terminal that is too narrow for them: each row as a few lines of names and values, and text
//! wrapped under a hanging indent. A table whose words are broken in the middle says less than none.

use unicode_width::UnicodeWidthStr as _;

const GAP: &str = "   ";

/// Whether columns of these cells need more room than there is, even with every cell wrapped at its spaces.
pub(crate) fn breaks_words<S: AsRef<str>>(
    columns: impl Iterator<Item = Vec<S>>,
    width: usize,
) -> bool {
    let longest = |cells: Vec<S>| {
        let words = cells.iter().flat_map(|c| c.as_ref().split_whitespace());
        words.map(|word| word.width()).max().unwrap_or(0)
    };
    // A space on each side of a cell, and one between cells.
    let needed: usize = columns.map(|cells| longest(cells) + 3).sum();
    needed > width
}

/// Rows under one another: the first cell, then the others with the names of their columns.
pub(crate) fn stacked(head: &[String], rows: &[Vec<String>], width: usize) -> String {
    let mut out = String::new();
    for row in rows {
        let mut cells = row.iter();
        out += cells.next().map_or("", String::as_str);
        out.push('\n');
        let named = head.iter().skip(1).zip(cells);
        let named = named
            .filter(|(_, cell)| !cell.trim().is_empty())
            .map(|(name, cell)| format!("{name} {cell}").trim_start().to_owned());
        let mut line = String::new();
        for value in named {
            if !line.is_empty() && 2 + line.width() + GAP.len() + value.width() > width {
                out += &hanging("  ", 4, &line, width);
                line.clear();
            }
            if !line.is_empty() {
                line += GAP;
            }
            line += &value;
        }
        if !line.is_empty() {
            out += &hanging("  ", 4, &line, width);
        }
    }
    out
}

/// A text after a beginning of its own, wrapped at its spaces with an indent; ends with a line break. A word
/// that is longer than a line stands alone on it.
pub fn hanging(begin: &str, indent: usize, text: &str, width: usize) -> String {
    let mut out = begin.to_owned();
    let mut column = begin.width();
    let mut fresh = true;
    for word in text.split(' ') {
        let needed = usize::from(!fresh) + word.width();
        if !fresh && column + needed > width {
            let kept = out.trim_end_matches(' ').len();
            out.truncate(kept);
            out.push('\n');
            out += &" ".repeat(indent);
            column = indent;
            fresh = true;
            if word.is_empty() {
                continue;
            }
        }
        if !fresh {
            out.push(' ');
            column += 1;
        }
        out += word;
        column += word.width();
        fresh = false;
    }
    let kept = out.trim_end_matches(' ').len();
    out.truncate(kept);
    out.push('\n');
    out
}

/// A name in so many columns, its beginning and its end.
pub(crate) fn shortened(name: &str, most: usize) -> String {
    if name.width() <= most {
        return name.to_owned();
    }
    let room = most.saturating_sub(1);
    let take = |chars: &mut dyn Iterator<Item = char>, room: usize| {
        let mut taken = Vec::new();
        let mut used = 0;
        for c in chars {
            used += unicode_width::UnicodeWidthChar::width(c).unwrap_or(0);
            if used > room {
                break;
            }
            taken.push(c);
        }
        taken
    };
    let end = take(&mut name.chars().rev(), room / 2);
    let begin = take(&mut name.chars(), room - room / 2);
    let begin: String = begin.into_iter().collect();
    let end: String = end.into_iter().rev().collect();
    format!("{begin}…{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_wider_than_the_terminal_and_nothing_is_lost() {
        let head = ["run", "models", "score", "note"].map(String::from);
        let row = ["a-run", "one, two, three", "50.0%", ""].map(String::from);
        let said = stacked(&head, &[row.to_vec()], 30);
        assert_eq!(said, "a-run\n  models one, two, three\n  score 50.0%\n");
        let long = hanging(
            "  name  ",
            8,
            "words that do not fit on one line of thirty",
            30,
        );
        assert!(long.lines().all(|l| l.width() <= 30), "{long}");
        assert_eq!(long.split_whitespace().count(), 11);
        assert!(
            long.lines().skip(1).all(|l| l.starts_with("        ")),
            "{long}"
        );
    }

    #[test]
    fn a_long_name_keeps_both_ends() {
        assert_eq!(shortened("short", 10), "short");
        let cut = shortened("EleutherAI/pythia-1.4b-deduped@step143000", 20);
        assert_eq!(cut.width(), 20);
        assert!(
            cut.starts_with("EleutherA") && cut.ends_with("ep143000"),
            "{cut}"
        );
    }

    #[test]
    fn words_are_not_broken() {
        let columns = || vec![vec!["name", "a b"], vec!["0123456789"]].into_iter();
        assert!(!breaks_words(columns(), 20));
        assert!(breaks_words(columns(), 19));
    }
}
