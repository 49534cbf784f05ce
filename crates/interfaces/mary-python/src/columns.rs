//! A table of columns in the layout that Arrow has in memory, so that it is handed over without a copy.

use std::borrow::Cow;
use std::ffi::CStr;
use std::sync::Arc;

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::{Args, Given, Handle, give};

pub(crate) const NAME: &CStr = c"mary.table";

#[derive(Debug)]
pub(crate) enum Values {
    /// UTF-8 with 64-bit offsets.
    Text { offsets: Vec<i64>, bytes: Vec<u8> },
    /// 64-bit floating point; NaN where there is none.
    Number(Vec<f64>),
    /// 64-bit integers; 0 where there is none.
    Count(Vec<i64>),
    /// Bits.
    Flag(Vec<u8>),
}

impl Values {
    pub(crate) fn text() -> Self {
        Self::Text {
            offsets: vec![0],
            bytes: Vec::new(),
        }
    }
}

/// A column, with a bit for each value that is there where some are not.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) values: Values,
    valid: Vec<u8>,
    pub(crate) rows: usize,
    pub(crate) missing: usize,
}

fn set(bits: &mut Vec<u8>, at: usize, on: bool) {
    if at / 8 == bits.len() {
        bits.push(0);
    }
    if let (true, Some(byte)) = (on, bits.get_mut(at / 8)) {
        *byte |= 1 << (at % 8);
    }
}

fn is_set(bits: &[u8], at: usize) -> bool {
    bits.get(at / 8).is_some_and(|b| b >> (at % 8) & 1 == 1)
}

impl Column {
    pub(crate) fn new(name: &str, values: Values) -> Self {
        Self {
            name: name.to_owned(),
            values,
            valid: Vec::new(),
            rows: 0,
            missing: 0,
        }
    }

    fn row(&mut self, there: bool) {
        set(&mut self.valid, self.rows, there);
        self.rows += 1;
        self.missing += usize::from(!there);
    }

    pub(crate) fn push_text(&mut self, value: Option<&str>) {
        if let Values::Text { offsets, bytes } = &mut self.values {
            bytes.extend_from_slice(value.unwrap_or("").as_bytes());
            offsets.push(bytes.len() as i64);
            self.row(value.is_some());
        }
    }

    fn push_number(&mut self, value: Option<f64>) {
        if let Values::Number(values) = &mut self.values {
            values.push(value.unwrap_or(f64::NAN));
            self.row(value.is_some());
        }
    }

    fn push_count(&mut self, value: Option<usize>) {
        if let Values::Count(values) = &mut self.values {
            values.push(value.map_or(0, |v| i64::try_from(v).unwrap_or(i64::MAX)));
            self.row(value.is_some());
        }
    }

    fn push_flag(&mut self, value: Option<bool>) {
        let at = self.rows;
        if let Values::Flag(bits) = &mut self.values {
            set(bits, at, value == Some(true));
            self.row(value.is_some());
        }
    }

    /// The bits of what is there; nothing where everything is.
    pub(crate) fn validity(&self) -> Option<&[u8]> {
        (self.missing > 0).then_some(&self.valid)
    }

    fn value(&self, py: Python<'_>, at: usize) -> PyResult<Py<PyAny>> {
        if self.missing > 0 && !is_set(&self.valid, at) {
            return Ok(py.None());
        }
        match &self.values {
            Values::Text { offsets, bytes } => {
                let place = |n: usize| offsets.get(n).map_or(0, |&o| o as usize);
                let text = bytes.get(place(at)..place(at + 1)).unwrap_or_default();
                give(py, String::from_utf8_lossy(text).as_ref())
            }
            Values::Number(values) => give(py, values.get(at).copied()),
            Values::Count(values) => give(py, values.get(at).copied()),
            Values::Flag(bits) => give(py, is_set(bits, at)),
        }
    }
}

/// What a column holds of rows `R`, and where it stands in a row.
pub(crate) enum Cells<R> {
    Text(for<'a> fn(&'a R) -> Option<Cow<'a, str>>),
    Number(fn(&R) -> Option<f64>),
    Count(fn(&R) -> Option<usize>),
    Flag(fn(&R) -> Option<bool>),
}

pub(crate) type Columns<R> = [(&'static str, Cells<R>)];

/// A table while it grows, row by row.
pub(crate) struct Rows<'c, R> {
    cells: &'c Columns<R>,
    columns: Vec<Column>,
}

impl<'c, R> Rows<'c, R> {
    pub(crate) fn new(cells: &'c Columns<R>) -> Self {
        let column = |(name, cells): &(&str, Cells<R>)| match cells {
            Cells::Text(_) => Column::new(name, Values::text()),
            Cells::Number(_) => Column::new(name, Values::Number(Vec::new())),
            Cells::Count(_) => Column::new(name, Values::Count(Vec::new())),
            Cells::Flag(_) => Column::new(name, Values::Flag(Vec::new())),
        };
        Self {
            cells,
            columns: cells.iter().map(column).collect(),
        }
    }

    pub(crate) fn push(&mut self, row: &R) {
        for (column, (_, cells)) in self.columns.iter_mut().zip(self.cells) {
            match cells {
                Cells::Text(get) => column.push_text(get(row).as_deref()),
                Cells::Number(get) => column.push_number(get(row)),
                Cells::Count(get) => column.push_count(get(row)),
                Cells::Flag(get) => column.push_flag(get(row)),
            }
        }
    }

    pub(crate) fn finish(self) -> Table {
        Table {
            columns: self.columns,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) columns: Vec<Column>,
}

impl Table {
    pub(crate) fn of<R>(rows: impl IntoIterator<Item = R>, cells: &Columns<R>) -> Self {
        let mut table = Rows::new(cells);
        for row in rows {
            table.push(&row);
        }
        table.finish()
    }

    pub(crate) fn given(self, py: Python<'_>) -> Given {
        Handle::put(py, Arc::new(self), NAME)
    }

    pub(crate) fn rows(&self) -> usize {
        self.columns.first().map_or(0, |c| c.rows)
    }
}

pub(crate) fn table<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<&'a Arc<Table>> {
    Handle::get(object, NAME)
}

pub(crate) fn names(args: Args<'_, '_>) -> Given {
    let first = args.get_item(0)?;
    let names: Vec<&str> = table(&first)?
        .columns
        .iter()
        .map(|c| c.name.as_str())
        .collect();
    give(args.py(), names)
}

pub(crate) fn rows(args: Args<'_, '_>) -> Given {
    let first = args.get_item(0)?;
    give(args.py(), table(&first)?.rows())
}

fn column<'a>(table: &'a Table, name: &str) -> PyResult<&'a Column> {
    let found = table.columns.iter().find(|c| c.name == name);
    found.ok_or_else(|| PyKeyError::new_err(name.to_owned()))
}

/// The first values of a column as Python objects; all of them without a number.
pub(crate) fn values(args: Args<'_, '_>) -> Given {
    let (handle, name, most): (Bound<'_, PyAny>, String, Option<usize>) = args.extract()?;
    let py = args.py();
    let column = column(table(&handle)?, &name)?;
    let list = PyList::empty(py);
    for at in 0..column.rows.min(most.unwrap_or(usize::MAX)) {
        list.append(column.value(py, at)?)?;
    }
    Ok(list.into_any().unbind())
}

/// Type, address, length and missing count of a numeric column; numpy has no form for words and bits.
pub(crate) fn memory(args: Args<'_, '_>) -> Given {
    let (handle, name): (Bound<'_, PyAny>, String) = args.extract()?;
    let column = column(table(&handle)?, &name)?;
    let order = if cfg!(target_endian = "little") {
        "<"
    } else {
        ">"
    };
    let place = match &column.values {
        Values::Number(values) => Some((format!("{order}f8"), values.as_ptr() as usize)),
        Values::Count(values) => Some((format!("{order}i8"), values.as_ptr() as usize)),
        Values::Text { .. } | Values::Flag(_) => None,
    };
    let told = place.map(|(kind, address)| (kind, address, column.rows, column.missing));
    give(args.py(), told)
}
