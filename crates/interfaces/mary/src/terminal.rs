//! The one place that writes to standard output and standard error.
//!
//! Much of what is printed was written by others: answers, names of models, tensors and items, errors
//! of servers. No control character of theirs reaches the terminal, and no colour: red letters in an answer
//! look like a word of ours. Only what draws its own colours, and shows the control characters of others
//! itself, is written with them ([`out_coloured`]). Notices of the libraries come here too, and stand above
//! a progress bar instead of in it.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::{Mutex, PoisonError};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use mary_platform::{hear_notices, visible};

static BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);

pub fn listen() {
    hear_notices(line);
}

/// From now on lines are written above this bar; or, with `None`, there is none any more.
pub fn show_bar(bar: Option<ProgressBar>) {
    *BAR.lock().unwrap_or_else(PoisonError::into_inner) = bar;
}

/// A bar on standard error that looks like this, or none where nobody is looking.
pub fn bar(length: u64, template: &str) -> ProgressBar {
    let target = match io::stderr().is_terminal() {
        true => ProgressDrawTarget::stderr_with_hz(5),
        false => ProgressDrawTarget::hidden(),
    };
    let bar = ProgressBar::with_draw_target(Some(length), target);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

/// Standard output as a writer, for tables that do not fit into memory. A reader that went away is no
/// error; on a terminal, control characters are shown as elsewhere.
pub struct Piped {
    terminal: bool,
    /// What was not yet a whole line, on a terminal.
    held: Vec<u8>,
}

impl Piped {
    pub fn new() -> Self {
        Self {
            terminal: io::stdout().is_terminal(),
            held: Vec::new(),
        }
    }

    fn put(bytes: &[u8]) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => other,
        }
    }
}

impl io::Write for Piped {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.terminal {
            return Self::put(bytes).map(|()| bytes.len());
        }
        self.held.extend_from_slice(bytes);
        if let Some(end) = self.held.iter().rposition(|&b| b == b'\n') {
            let lines: Vec<u8> = self.held.drain(..=end).collect();
            out(&String::from_utf8_lossy(&lines))?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let rest = std::mem::take(&mut self.held);
        out(&String::from_utf8_lossy(&rest))
    }
}

/// Writes what can be piped. A reader that went away (`| head`) is no error.
pub fn out(text: &str) -> io::Result<()> {
    put(&visible(text))
}

/// Writes a table or help that was drawn with our own colours and in which others' text is clean already.
pub fn out_coloured(text: &str) -> io::Result<()> {
    put(&with_colours(text))
}

fn put(text: &str) -> io::Result<()> {
    let mut stdout = anstream::stdout().lock();
    let written = stdout.write_all(text.as_bytes());
    match written.and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

pub fn line(text: &str) {
    line_of(&visible(text));
}

/// The same for text with our own colours in which others' text is clean already.
pub fn line_coloured(text: &str) {
    line_of(&with_colours(text));
}

fn line_of(text: &str) {
    // A closed standard error is nobody's to tell.
    let write = || drop(writeln!(anstream::stderr(), "{text}"));
    let bar = BAR.lock().unwrap_or_else(PoisonError::into_inner).clone();
    bar.map_or_else(write, |bar| bar.suspend(write))
}

/// The text with control characters shown; colours and weights of our own stay.
fn with_colours(text: &str) -> Cow<'_, str> {
    if !text.contains('\x1b') {
        return visible(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\x1b') {
        let (before, from) = rest.split_at(at);
        out.push_str(&visible(before));
        let length = colour(from).unwrap_or(1);
        let (sequence, after) = from.split_at(length);
        if length > 1 {
            out.push_str(sequence);
        } else {
            out.push_str("\\x1b");
        }
        rest = after;
    }
    out.push_str(&visible(rest));
    Cow::Owned(out)
}

/// The length of a sequence that only sets a colour or weight we use; concealed and blinking text
/// is not among them.
fn colour(text: &str) -> Option<usize> {
    let codes = text.strip_prefix("\x1b[")?;
    let end = codes.find('m')?;
    let codes = codes.get(..end)?;
    // Tables name the sixteen colours by their places in the palette.
    if let Some(place) = codes.strip_prefix("38;5;") {
        return matches!(place.parse::<u8>(), Ok(0..=15)).then_some(end + 3);
    }
    let fine = codes.split(';').all(|code| {
        matches!(
            code.parse::<u8>(),
            Ok(0..=4 | 22..=24 | 30..=37 | 39 | 90..=97)
        ) || code.is_empty()
    });
    fine.then_some(end + 3)
}

/// JSON as text: what a terminal could take for a command is written as an escape, so that it is the
/// same JSON.
pub fn json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let mut one = [0; 4];
        let shown = visible(c.encode_utf8(&mut one)).len() != c.len_utf8();
        if shown && c != '\n' {
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_stay_and_commands_are_shown() {
        assert_eq!(
            with_colours("\x1b[1;32mgood\x1b[0m"),
            "\x1b[1;32mgood\x1b[0m"
        );
        assert_eq!(with_colours("a\x1b[2Jb"), "a\\x1b[2Jb");
        assert_eq!(with_colours("\x1b[8mhidden\x1b[m"), "\\x1b[8mhidden\x1b[m");
        assert_eq!(with_colours("\x1b]0;title\x07"), "\\x1b]0;title\\x07");
        assert_eq!(with_colours("\x1b"), "\\x1b");
        assert_eq!(with_colours("\x1b[38;5;16m"), "\\x1b[38;5;16m");
        assert_eq!(with_colours("\x1b[38;5;12;8m"), "\\x1b[38;5;12;8m");
        // What tables are coloured with.
        assert_eq!(
            with_colours("\x1b[38;5;12m100.0%\x1b[39m"),
            "\x1b[38;5;12m100.0%\x1b[39m"
        );
    }

    #[test]
    fn json_stays_the_same_json() {
        let text = "{\n  \"a\": \"\u{202e}x\u{9b}\u{7f}é\"\n}";
        let written = json(text);
        assert!(
            !written.contains(['\u{202e}', '\u{9b}', '\u{7f}']),
            "{written}"
        );
        let read = |t: &str| serde_json::from_str::<serde_json::Value>(t).unwrap();
        assert_eq!(read(&written), read(text));
    }
}
