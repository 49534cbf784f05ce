//! Cells that a spreadsheet would take for a formula: a model's answer `=HYPERLINK(…)` in a CSV file is
//! executed by whoever opens it. Such a cell gets an apostrophe in front; [`from_spreadsheet`] takes it off
//! again.

use std::borrow::Cow;

/// The cell as it may stand in a table for spreadsheets.
pub fn for_spreadsheet(cell: &str) -> Cow<'_, str> {
    if is_command(cell.trim_start_matches('\'')) {
        return Cow::Owned(format!("'{cell}"));
    }
    Cow::Borrowed(cell)
}

/// The cell as it was before [`for_spreadsheet`].
pub fn from_spreadsheet(cell: &str) -> &str {
    match cell.strip_prefix('\'') {
        Some(rest) if is_command(rest.trim_start_matches('\'')) => rest,
        _ => cell,
    }
}

/// Whether a spreadsheet would execute the cell: not a plain number; white space before a sign does not help.
fn is_command(cell: &str) -> bool {
    if cell.starts_with(['\t', '\r', '\n', '\0']) {
        return true;
    }
    let bare = cell.trim_start();
    bare.starts_with(['=', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'])
        || (bare.starts_with(['+', '-']) && bare.len() > 1 && bare.parse::<f64>().is_err())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_text_numbers_stay_and_everything_comes_back() {
        for (cell, written) in [
            ("=1+1", "'=1+1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("+cmd|'/C calc'!A0", "'+cmd|'/C calc'!A0"),
            ("-2+3", "'-2+3"),
            ("\t=1", "'\t=1"),
            ("  =1", "'  =1"),
            ("'=1", "''=1"),
            ("-3.5", "-3.5"),
            ("+1e3", "+1e3"),
            ("-", "-"),
            ("'tis", "'tis"),
            ("word = word", "word = word"),
            ("", ""),
        ] {
            assert_eq!(for_spreadsheet(cell), written);
            assert_eq!(from_spreadsheet(written), cell);
        }
    }
}
