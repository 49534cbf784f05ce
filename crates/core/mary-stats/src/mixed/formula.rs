//! Formulas as R users write them: `rt ~ a * b + (1 + a | person) + (1 | item)`.

use std::collections::BTreeMap;

use super::{Design, Term};
use crate::matrix::zip_with;
use crate::{StatsError, input};

const WHAT: &str = "formula";

/// Named columns of equal length: numbers, or words whose first (in order of the alphabet) is the reference level.
#[derive(Debug, Clone, Default)]
pub struct Table {
    columns: BTreeMap<String, Column>,
    /// Columns that lack a value, with the first row that does.
    gaps: BTreeMap<String, usize>,
    rows: Option<usize>,
}

#[derive(Debug, Clone)]
enum Column {
    Numbers(Vec<f64>),
    /// Level of each row, and the levels' names.
    Words(Vec<usize>, Vec<String>),
}

impl Table {
    /// Without columns.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a column of numbers.
    pub fn numbers(
        &mut self,
        name: &str,
        values: impl IntoIterator<Item = f64>,
    ) -> Result<(), StatsError> {
        let values: Vec<f64> = values.into_iter().collect();
        input::values(WHAT, &values, 1)?;
        self.add(name, values.len(), Column::Numbers(values))
    }

    /// Adds a column of words: a condition, a person, an item.
    pub fn words<S: Into<String>>(
        &mut self,
        name: &str,
        values: impl IntoIterator<Item = S>,
    ) -> Result<(), StatsError> {
        let values: Vec<String> = values.into_iter().map(Into::into).collect();
        let mut levels = values.clone();
        levels.sort();
        levels.dedup();
        let place = |value| levels.binary_search(value).unwrap_or(0);
        let places = values.iter().map(place).collect();
        self.add(name, values.len(), Column::Words(places, levels))
    }

    /// Notes that a column lacks a value, first in `row` (from 1). Formulas that name it are refused: a gap must not become
    /// a level of its own.
    pub fn gap(&mut self, name: &str, row: usize) {
        self.gaps.insert(name.to_owned(), row);
    }

    fn add(&mut self, name: &str, rows: usize, column: Column) -> Result<(), StatsError> {
        input::same_length(WHAT, rows, *self.rows.get_or_insert(rows))?;
        self.columns.insert(name.to_owned(), column);
        Ok(())
    }

    fn get(&self, name: &str) -> Result<&Column, StatsError> {
        if let Some(row) = self.gaps.get(name) {
            let found = format!("none in row {row} of `{name}`; leave such rows out");
            return Err(StatsError::domain(WHAT, "a value in every row", found));
        }
        self.columns.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.columns.keys().map(String::as_str).collect();
            let found = format!("`{name}`; there are: {}", known.join(", "));
            StatsError::domain(WHAT, "names of columns", found)
        })
    }

    /// A column as numbers: itself, or one of zeros and ones for each level but the first.
    fn coded(&self, name: &str) -> Result<Vec<Named>, StatsError> {
        Ok(match self.get(name)? {
            Column::Numbers(values) => vec![(name.to_owned(), values.clone())],
            Column::Words(places, levels) => {
                let is = |level: usize| move |at: &usize| f64::from(*at == level);
                let code = |level: usize| places.iter().map(is(level)).collect();
                let named = levels.iter().enumerate().skip(1);
                let named = named.map(|(at, level)| (format!("{name}[{level}]"), code(at)));
                named.collect()
            }
        })
    }
}

/// A column of the design and its name.
type Named = (String, Vec<f64>);

/// Sums of products of columns; the empty product is the intercept.
type Sum = Vec<Vec<String>>;

/// A parsed formula.
#[derive(Debug, Clone, PartialEq)]
pub struct Formula {
    outcome: String,
    fixed: Sum,
    /// Effects and grouping.
    random: Vec<(Sum, String)>,
}

impl Formula {
    /// Reads `outcome ~ terms`. Terms are joined by `+`; `a * b` is `a + b + a:b`; `(a | g)` is random, correlated, with an
    /// intercept; `(a || g)` is not correlated; `0 +` takes the intercept away.
    pub fn parse(text: &str) -> Result<Self, StatsError> {
        let wrong =
            |expected: &'static str| StatsError::domain(WHAT, expected, format!("`{text}`"));
        let sides = text.split_once('~');
        let (outcome, right) = sides.ok_or_else(|| wrong("`outcome ~ terms`"))?;
        let (mut plain, mut random) = (Vec::new(), Vec::new());
        for part in split(right, '+') {
            let part = part.trim();
            let inner = part.strip_prefix('(').and_then(|p| p.strip_suffix(')'));
            let Some(inner) = inner else {
                plain.push(part.to_owned());
                continue;
            };
            let parts = inner.split_once('|');
            let (effects, group) = parts.ok_or_else(|| wrong("`(effects | group)`"))?;
            let apart = group.starts_with('|');
            let group = name(group.trim_start_matches('|'))?;
            let sum = sum(effects)?;
            if apart {
                random.extend(sum.into_iter().map(|one| (vec![one], group.clone())))
            } else {
                random.push((sum, group))
            }
        }
        let fixed = if plain.is_empty() {
            vec![Vec::new()]
        } else {
            sum(&plain.join("+"))?
        };
        Ok(Self {
            outcome: name(outcome)?,
            fixed,
            random,
        })
    }

    /// The design of a table's rows. Words are coded against their first level (treatment coding).
    pub fn design(&self, table: &Table) -> Result<Design, StatsError> {
        let outcome = match table.get(&self.outcome)? {
            Column::Numbers(values) => values.clone(),
            Column::Words(places, levels) if levels.len() == 2 => {
                places.iter().map(|at| *at as f64).collect()
            }
            Column::Words(..) => {
                let found = format!("words in `{}`", self.outcome);
                let expected = "an outcome of numbers, or of two words";
                return Err(StatsError::domain(WHAT, expected, found));
            }
        };
        let fixed = expand(table, &self.fixed, outcome.len())?;
        let (names, fixed) = fixed.into_iter().unzip();
        let mut terms = Vec::new();
        for (effects, group) in &self.random {
            let levels = match table.get(group)? {
                Column::Words(places, _) => places.clone(),
                Column::Numbers(values) => {
                    let mut sorted = values.clone();
                    sorted.sort_by(f64::total_cmp);
                    sorted.dedup();
                    let place = |x: &f64| sorted.partition_point(|other| other < x);
                    values.iter().map(place).collect()
                }
            };
            let (effects, columns) = expand(table, effects, outcome.len())?.into_iter().unzip();
            terms.push(Term {
                name: group.clone(),
                effects,
                levels,
                columns,
            });
        }
        Ok(Design {
            outcome,
            names,
            fixed,
            terms,
        })
    }
}

/// Splits outside parentheses.
fn split(text: &str, at: char) -> Vec<String> {
    let (mut parts, mut depth) = (vec![String::new()], 0);
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if c == at && depth == 0 {
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(c);
        }
    }
    parts
}

fn name(text: &str) -> Result<String, StatsError> {
    let text = text.trim();
    let fits = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    if !text.is_empty() && text.chars().all(fits) {
        return Ok(text.to_owned());
    }
    let expected = "the name of a column (letters, digits, `_` and `.`)";
    Err(StatsError::domain(WHAT, expected, format!("`{text}`")))
}

/// `1 + a * b:c` as products, the intercept first unless `0` takes it away.
fn sum(text: &str) -> Result<Sum, StatsError> {
    let mut products: Sum = vec![Vec::new()];
    for part in text.split('+').map(str::trim) {
        match part {
            "1" => {}
            "0" => products.retain(|product| !product.is_empty()),
            _ => {
                let mut factors = Vec::new();
                for factor in part.split('*') {
                    factors.push(factor.split(':').map(name).collect::<Result<Vec<_>, _>>()?);
                }
                // All products of one or more factors, the single ones first.
                let mut subsets: Vec<usize> = (1..1 << factors.len()).collect();
                subsets.sort_by_key(|subset| subset.count_ones());
                for subset in subsets {
                    let chosen = (0..factors.len()).filter(|at| subset >> at & 1 == 1);
                    let product: Vec<String> = chosen.flat_map(|at| factors[at].clone()).collect();
                    if !products.contains(&product) {
                        products.push(product);
                    }
                }
            }
        }
    }
    Ok(products)
}

/// Columns of a sum of products.
fn expand(table: &Table, sum: &Sum, rows: usize) -> Result<Vec<Named>, StatsError> {
    let mut columns = Vec::new();
    for product in sum {
        let mut found = vec![(String::new(), vec![1.0; rows])];
        for factor in product {
            let coded = table.coded(factor)?;
            let times = |left: &Named, right: &Named| {
                let name = match left.0.as_str() {
                    "" => right.0.clone(),
                    left => format!("{left}:{}", right.0),
                };
                (name, zip_with(&left.1, &right.1, |a, b| a * b))
            };
            let with_each = |left| coded.iter().map(move |right| times(left, right));
            found = found.iter().flat_map(with_each).collect();
        }
        if product.is_empty() {
            found[0].0 = "(Intercept)".to_owned();
        }
        columns.extend(found);
    }
    Ok(columns)
}
