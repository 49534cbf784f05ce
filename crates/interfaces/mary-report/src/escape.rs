//! Text that others wrote, made harmless: for HTML, for JSON inside a page, for a terminal.
//!
//! Invisible characters that change how text is read (direction overrides, zero-width marks,
//! control characters) are shown by their code point, so that a reader sees what a model really
//! wrote and nothing around it is turned about.

use std::fmt::{self, Write as _};

/// Text as HTML text or as a quoted attribute value.
pub fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    for c in text.chars() {
        match entity(c) {
            Some(entity) => out.push_str(entity),
            None if c == '\0' => out.push('\u{fffd}'),
            None => out.push(c),
        }
    }
    out
}

/// Text a model or a dataset wrote, as HTML, with invisible characters shown by their code point.
pub fn foreign(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    // Writing into a String cannot fail.
    let _ = write_foreign(&mut out, text);
    out
}

/// The same, written piece by piece: what it becomes may be eighty times as long.
pub(crate) fn write_foreign(out: &mut dyn fmt::Write, text: &str) -> fmt::Result {
    let mut rest = text;
    while let Some(at) = rest.find(|c| entity(c).is_some() || is_invisible(c)) {
        let (plain, from) = rest.split_at(at);
        out.write_str(plain)?;
        let mut characters = from.chars();
        let Some(c) = characters.next() else { break };
        match entity(c) {
            Some(entity) => out.write_str(entity)?,
            None => {
                let code = u32::from(c);
                write!(
                    out,
                    "<span class=\"ctl\" title=\"invisible character U+{code:04X}\">U+{code:04X}</span>"
                )?;
            }
        }
        rest = characters.as_str();
    }
    out.write_str(rest)
}

/// Our own prose as HTML: what stands between backticks is code, as everywhere in Mary's texts.
pub(crate) fn prose(text: &str) -> String {
    with_code(text, html, |code| format!("<code>{}</code>", html(code)))
}

/// The same without any markup, for labels that are read out.
pub(crate) fn unquoted(text: &str) -> String {
    with_code(text, str::to_owned, str::to_owned)
}

/// Prose with what stands between two backticks written in one way and the rest in another; a lone
/// backtick stays.
pub(crate) fn with_code(
    text: &str,
    plain: impl Fn(&str) -> String,
    code: impl Fn(&str) -> String,
) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some((before, quoted)) = rest.split_once('`')
        && let Some((coded, after)) = quoted.split_once('`')
    {
        out += &plain(before);
        out += &code(coded);
        rest = after;
    }
    out + &plain(rest)
}

/// A JSON text that may stand inside `<script>`: no `<`, `>`, `&`, U+2028 or U+2029 is left bare.
pub fn script_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len() + json.len() / 16);
    for c in json.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c => out.push(c),
        }
    }
    out
}

/// One line for a terminal: control and direction characters are shown, never sent.
pub fn terminal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '\n' || c == '\t' {
            out.push(' ');
        } else if is_invisible(c) {
            let _ = write!(out, "<U+{:04X}>", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

fn entity(c: char) -> Option<&'static str> {
    match c {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        '"' => Some("&quot;"),
        '\'' => Some("&#39;"),
        _ => None,
    }
}

/// Characters that act without being seen.
pub(crate) fn is_invisible(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{ad}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}' => true,
        c => c.is_control(),
    }
}

/// The beginning of a text, cut at a character, with how many characters were left out.
pub(crate) fn clip(text: &str, characters: usize) -> (&str, usize) {
    match text.char_indices().nth(characters) {
        None => (text, 0),
        Some((end, _)) => {
            let (kept, rest) = text.split_at(end);
            (kept, rest.chars().count())
        }
    }
}

/// One line for a list: white space joined, clipped.
pub(crate) fn excerpt(text: &str, characters: usize) -> String {
    excerpt_of(text.chars(), characters)
}

/// The same of characters that come from several places; no more of them are asked for than needed.
pub(crate) fn excerpt_of(text: impl Iterator<Item = char>, characters: usize) -> String {
    let mut out = String::new();
    let mut taken = 0;
    let mut gap = false;
    for c in text {
        if c.is_whitespace() {
            gap = taken > 0;
            continue;
        }
        if taken >= characters {
            out.push('…');
            return out;
        }
        if gap {
            out.push(' ');
            gap = false;
        }
        out.push(c);
        taken += 1;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn markup_becomes_text_and_hidden_marks_become_visible() {
        assert_eq!(
            html("<b a='x'>&\"</b>"),
            "&lt;b a=&#39;x&#39;&gt;&amp;&quot;&lt;/b&gt;"
        );
        let shown = foreign("a\u{202e}<i>\u{0}");
        assert!(shown.starts_with("a<span class=\"ctl\""));
        assert!(shown.contains(">U+202E</span>&lt;i&gt;"));
        assert!(shown.contains("U+0000"));
        assert_eq!(terminal("\u{1b}[31mred\nnext"), "<U+001B>[31mred next");
    }

    #[test]
    fn backticks_become_code_and_a_lone_one_stays() {
        assert_eq!(
            prose("`mary <x>` shows `A` & a ` mark"),
            "<code>mary &lt;x&gt;</code> shows <code>A</code> &amp; a ` mark"
        );
        assert_eq!(unquoted("`mary` shows"), "mary shows");
    }

    #[test]
    fn an_excerpt_is_one_line() {
        assert_eq!(excerpt("  a\n b\tc ", 10), "a b c");
        assert_eq!(excerpt("abcdef", 3), "abc…");
        assert_eq!(clip("añb", 2), ("añ", 1));
    }

    proptest! {
        #[test]
        fn escaped_text_holds_no_markup_of_its_own(text in any::<String>()) {
            let bare = foreign(&text)
                .replace("<span class=\"ctl\" title=\"invisible character ", "")
                .replace("</span>", "");
            prop_assert!(!html(&text).contains(['<', '>', '"', '\'']));
            prop_assert!(!bare.contains('<'));
            let turned = foreign(&text).contains('\u{202e}');
            prop_assert!(!turned);
        }

        #[test]
        fn json_in_a_script_tag_reads_back_as_it_was(text in any::<String>()) {
            let json = serde_json::to_string(&text).unwrap();
            let safe = script_json(&json);
            let bare = safe.contains(['<', '>', '&', '\u{2028}', '\u{2029}']);
            prop_assert!(!bare);
            prop_assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), text);
        }
    }
}
