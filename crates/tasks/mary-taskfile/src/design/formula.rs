//! Formulas over regions and conditions, as SyntaxGym writes them: `(6;%mismatch%) > (6;%match%)`, sums, differences,
//! comparisons, and conjunctions of comparisons, in round or square brackets.
//!
//! `+` and `-` bind more closely than `<`, `>` and `=`, and these more closely than `&` and `|`; operators of one kind are taken
//! from the left. `=` holds within 0.001 and a relative 0.00001, and what is equal is neither greater nor smaller.

use std::fmt;

const ABSOLUTE: f64 = 1e-3;
const RELATIVE: f64 = 1e-5;

/// Brackets within brackets, at most: a formula is hostile input.
const DEEPEST: usize = 64;

/// The surprisal of a region (by its number from 1) in a condition; none where it has no score.
pub(crate) type Surprisals<'a> = &'a dyn Fn(usize, &str) -> Option<f64>;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Region {
    /// From 1; 0 for all of them.
    pub number: usize,
    /// As it is written: a number, a name or `*`.
    pub name: String,
    pub condition: String,
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({};%{}%)", self.name, self.condition)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Formula {
    Region(Region),
    Number(f64),
    /// Operator and both sides.
    Pair(char, Box<Formula>, Box<Formula>),
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Region(region) => region.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Pair(sign, left, right) => {
                let bracketed = |side: &Self, plain: bool| match side {
                    Self::Pair(..) if !plain => format!("[{side}]"),
                    _ => side.to_string(),
                };
                // A sum of sums from the left needs no brackets.
                let sums = (sign, left.as_ref());
                let plain = matches!(sums, ('+' | '-', Self::Pair('+' | '-', ..)));
                let (left, right) = (bracketed(left, plain), bracketed(right, false));
                write!(f, "{left} {sign} {right}")
            }
        }
    }
}

impl Formula {
    /// Reads a formula; `regions` are the names that may stand in place of numbers.
    pub fn parse(text: &str, regions: &[String]) -> Result<Self, String> {
        let mut reader = Reader {
            text,
            at: 0,
            depth: 0,
            regions,
        };
        let formula = reader.level(0)?;
        match reader.peek() {
            None => Ok(formula),
            Some(other) => Err(reader.wrong(&format!("`{other}` follows a whole formula"))),
        }
    }

    /// Whether it is true or false and not a number.
    pub fn is_claim(&self) -> bool {
        matches!(self, Self::Pair('<' | '>' | '=' | '&' | '|', ..))
    }

    pub fn number(&self, of: Surprisals<'_>) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Region(region) => of(region.number, &region.condition),
            Self::Pair('+', a, b) => Some(a.number(of)? + b.number(of)?),
            Self::Pair('-', a, b) => Some(a.number(of)? - b.number(of)?),
            Self::Pair(..) => None,
        }
    }

    pub fn holds(&self, of: Surprisals<'_>) -> Option<bool> {
        let Self::Pair(sign, a, b) = self else {
            return None;
        };
        if let '&' | '|' = sign {
            let (a, b) = (a.holds(of)?, b.holds(of)?);
            return Some(if *sign == '&' { a && b } else { a || b });
        }
        let (a, b) = (a.number(of)?, b.number(of)?);
        match sign {
            '<' => Some(a < b),
            '>' => Some(a > b),
            '=' => Some((a - b).abs() <= ABSOLUTE + RELATIVE * b.abs()),
            _ => None,
        }
    }

    /// What each of its comparisons says to be greater than zero, as a difference; equations say nothing of the kind.
    pub fn effects(&self) -> Vec<Self> {
        let less = |a: &Self, b: &Self| match b {
            Self::Number(0.0) => a.clone(),
            _ => Self::Pair('-', Box::new(a.clone()), Box::new(b.clone())),
        };
        match self {
            Self::Pair('&' | '|', a, b) => [a.effects(), b.effects()].concat(),
            Self::Pair('>', a, b) => vec![less(a, b)],
            Self::Pair('<', a, b) => vec![less(b, a)],
            _ => Vec::new(),
        }
    }

    pub fn regions(&self) -> Vec<&Region> {
        match self {
            Self::Region(region) => vec![region],
            Self::Number(_) => Vec::new(),
            Self::Pair(_, a, b) => [a.regions(), b.regions()].concat(),
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    regions: &'a [String],
}

impl Reader<'_> {
    fn wrong(&self, what: &str) -> String {
        format!("`{}`: {what} at byte {}", self.text, self.at + 1)
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&mut self) -> Option<char> {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
        self.rest().chars().next()
    }

    /// Takes a character that must come next.
    fn expect(&mut self, wanted: char) -> Result<(), String> {
        match self.peek() {
            Some(found) if found == wanted => {
                self.at += found.len_utf8();
                Ok(())
            }
            _ => Err(self.wrong(&format!("expected `{wanted}`"))),
        }
    }

    /// Conjunctions, comparisons, sums, and what stands between their signs.
    fn level(&mut self, level: usize) -> Result<Formula, String> {
        let Some(signs) = ["&|", "<>=", "+-"].get(level) else {
            return self.atom();
        };
        let mut left = self.level(level + 1)?;
        let mut pairs = 0;
        while let Some(sign) = self.peek().filter(|c| signs.contains(*c)) {
            self.at += 1;
            let right = self.level(level + 1)?;
            pairs += 1;
            if level == 1 && pairs > 1 {
                return Err(self.wrong("a comparison has two sides; join several with `&`"));
            }
            if left.is_claim() != (level == 0) || right.is_claim() != (level == 0) {
                let what = match level {
                    0 => "`&` and `|` join comparisons",
                    _ => "a comparison stands where a number is expected",
                };
                return Err(self.wrong(what));
            }
            left = Formula::Pair(sign, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn atom(&mut self) -> Result<Formula, String> {
        match self.peek() {
            Some(open @ ('(' | '[')) => {
                let inner = self.rest().get(1..).unwrap_or_default();
                let region = inner.split([')', '(', '[']).next();
                if open == '(' && region.is_some_and(|r| r.contains(';')) {
                    return self.region();
                }
                self.depth += 1;
                if self.depth > DEEPEST {
                    return Err(self.wrong("brackets are nested too deeply"));
                }
                self.at += 1;
                let inner = self.level(0)?;
                self.expect(if open == '(' { ')' } else { ']' })?;
                self.depth -= 1;
                Ok(inner)
            }
            Some(c) if c.is_ascii_digit() || matches!(c, '-' | '+' | '.') => {
                let signed = usize::from(matches!(c, '-' | '+'));
                let rest = self.rest();
                let digits = |c: char| !(c.is_ascii_digit() || c == '.');
                let more = rest.get(signed..).and_then(|r| r.find(digits));
                let end = more.map_or(rest.len(), |n| n + signed);
                let number = rest.get(..end).and_then(|n| n.parse::<f64>().ok());
                let number = number.ok_or_else(|| self.wrong("expected a number"))?;
                self.at += end;
                Ok(Formula::Number(number))
            }
            _ => {
                Err(self.wrong("expected a region such as (6;%condition%), a number or a bracket"))
            }
        }
    }

    fn region(&mut self) -> Result<Formula, String> {
        self.expect('(')?;
        let name = self.until(';')?;
        self.expect('%')?;
        let condition = self.until('%')?;
        self.expect(')')?;
        let named = self.regions.iter().position(|r| *r == name);
        let number = match (name.as_str(), named) {
            ("*", _) => 0,
            (_, Some(at)) => at + 1,
            (digits, None) => digits.parse().ok().filter(|n| *n > 0).ok_or_else(|| {
                let known = self.regions.join(", ");
                self.wrong(&format!(
                    "there is no region `{digits}`; there are: {known}"
                ))
            })?,
        };
        // One name for a region, however it is written.
        let known = number.checked_sub(1).and_then(|at| self.regions.get(at));
        Ok(Formula::Region(Region {
            number,
            name: known.cloned().unwrap_or(name),
            condition,
        }))
    }

    fn until(&mut self, end: char) -> Result<String, String> {
        let found = self.rest().split_once(end).map(|(text, _)| text.to_owned());
        let text = found.ok_or_else(|| self.wrong(&format!("expected `{end}`")))?;
        self.at += text.len() + 1;
        Ok(text.trim().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    /// Formulas with the verdicts of SyntaxGym's own package, made by `tools/golden_syntaxgym.py`.
    #[derive(Deserialize)]
    struct Golden {
        formula: String,
        verdicts: String,
    }

    /// The surprisals that the script draws: coarse ones in every second case, so that some are equal.
    fn drawn(case: u64, region: usize, condition: &str) -> f64 {
        let condition = u64::from(condition.bytes().last().unwrap_or_default());
        let mixed = (case * 7919 + region as u64 * 104_729 + condition * 1_299_709 + 12_345)
            .wrapping_mul(2_654_435_761)
            & 0xffff_ffff;
        let mixed = (mixed ^ (mixed >> 15)).wrapping_mul(2_246_822_519) & 0xffff_ffff;
        match case % 2 {
            0 => (mixed >> 16) as f64 / 4096.0,
            _ => ((mixed >> 24) / 64) as f64,
        }
    }

    #[test]
    fn verdicts_are_those_of_the_package() {
        let golden: Vec<Golden> =
            serde_json::from_str(include_str!("../../tests/golden/syntaxgym.json")).unwrap();
        let (mut cases, mut held) = (0, 0);
        for Golden { formula, verdicts } in golden {
            let parsed = Formula::parse(&formula, &[]).unwrap();
            for (case, expected) in verdicts.bytes().enumerate() {
                let of = |region: usize, condition: &str| match region {
                    0 => Some((1..=4).map(|r| drawn(case as u64, r, condition)).sum()),
                    _ => Some(drawn(case as u64, region, condition)),
                };
                let found = parsed.holds(&of);
                assert_eq!(found, Some(expected == b'1'), "{formula}, case {case}");
                cases += 1;
                held += u32::from(expected == b'1');
            }
            // Written out and read again it is the same.
            assert_eq!(Formula::parse(&parsed.to_string(), &[]).unwrap(), parsed);
        }
        assert!(
            cases >= 10_000 && held > 2_000 && held < 8_000,
            "{cases} {held}"
        );
    }

    #[test]
    fn effects_point_where_the_prediction_does() {
        let text = "[(1;%a%) > (1;%b%)] & [(2;%a%) < (2;%b%)] & [(1;%a%) - (1;%b%) > 0]";
        let effects: Vec<String> = Formula::parse(text, &[])
            .unwrap()
            .effects()
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            effects,
            [
                "(1;%a%) - (1;%b%)",
                "(2;%b%) - (2;%a%)",
                "(1;%a%) - (1;%b%)"
            ]
        );
    }

    #[test]
    fn what_is_no_formula_is_told() {
        let wrong = |text: &str| Formula::parse(text, &["verb".into()]).unwrap_err();
        assert!(wrong("(verb;%a%) > (noun;%b%)").contains("there is no region `noun`"));
        assert!(wrong("(verb;%a%) > (1;%b%) > 2").contains("two sides"));
        assert!(wrong("[(verb;%a%) > 1] + 2 > 3").contains("a comparison stands"));
        assert!(wrong("(verb;%a%) & (1;%b%)").contains("join comparisons"));
        assert!(wrong("(verb;%a%) > ").contains("expected a region"));
        assert!(wrong(&"[".repeat(1000)).contains("too deeply"));
    }
}
