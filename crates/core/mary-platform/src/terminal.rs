//! Words for a person's terminal.
//!
//! Most of what is printed was written by somebody else, and a control character in it could move the cursor,
//! change the title or hide text: [`visible`] shows such characters instead. Libraries never print: they call
//! [`notice`], and the binary decides where it goes ([`hear_notices`]).

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::{PoisonError, RwLock};

/// The text with control characters shown as escapes (`\x1b`, `\u{202e}`). Line breaks and tabs stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    shown(text, |c| c == '\n' || c == '\t')
}

/// The same for a name that stands within a line: line breaks and tabs are shown too.
pub fn visible_line(text: &str) -> Cow<'_, str> {
    shown(text, |_| false)
}

fn shown(text: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(|c| commands(c) && !stays(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if !commands(c) || stays(c) {
            out.push(c);
            continue;
        }
        // Writing into a string cannot fail.
        let _ = match u32::from(c) {
            code @ 0..=0xff => write!(out, "\\x{code:02x}"),
            code => write!(out, "\\u{{{code:x}}}"),
        };
    }
    Cow::Owned(out)
}

/// Whether a terminal may take the character for a command: C0 and C1 controls, marks that reorder or hide.
fn commands(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}' | '\u{feff}'
        )
}

type Listener = Box<dyn Fn(&str) + Send + Sync>;

static LISTENER: RwLock<Option<Listener>> = RwLock::new(None);

/// From now on notices go here. The last listener counts.
pub fn hear_notices(listener: impl Fn(&str) + Send + Sync + 'static) {
    *LISTENER.write().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(listener));
}

/// Says something that a person should know now, in one line. Nobody listening is no error.
pub fn notice(text: &str) {
    let listener = LISTENER.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(listener) = listener.as_ref() {
        listener(&visible(text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_and_words_stay() {
        for plain in ["", "two\nlines\tand a tab", "ä 漢字 😀", "a\u{a0}b"] {
            assert!(matches!(visible(plain), Cow::Borrowed(same) if same == plain));
        }
        assert_eq!(visible("a\x1b]0;owned\x07b"), "a\\x1b]0;owned\\x07b");
        assert_eq!(visible("\r\u{9b}31m\u{7f}"), "\\x0d\\x9b31m\\x7f");
        assert_eq!(visible("\u{202e}fdp"), "\\u{202e}fdp");
        assert_eq!(visible_line("one\ntwo"), "one\\x0atwo");
    }

    #[test]
    fn nothing_that_commands_a_terminal_is_left() {
        let all: String = ('\0'..='\u{ffff}').collect();
        let out = visible(&all).into_owned();
        assert!(out.chars().all(|c| c == '\n' || c == '\t' || !commands(c)));
        assert!(!visible_line(&all).chars().any(commands));
    }
}
