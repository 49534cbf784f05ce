//! Scales from Python: made as the command makes them, and read as tables.

use std::path::PathBuf;

use mary::library;
use mary_lab::scale::{Scale, ScaleItem, ScaleSubject};
use pyo3::prelude::*;

use crate::columns::Cells::{Count, Number, Text};
use crate::columns::{Columns, Table};
use crate::{Args, Given, came, give, told};

/// Makes a scale and gives its folder.
pub(crate) fn scale(args: Args<'_, '_>) -> Given {
    let (places, asked): (String, String) = args.extract()?;
    let py = args.py();
    let made = py.detach(|| library::scale(&told(&places)?, told(&asked)?));
    give(py, came(py, made)?.display().to_string())
}

/// What a scale says of itself, its items and its subjects.
pub(crate) fn read_scale(args: Args<'_, '_>) -> Given {
    let (folder,): (PathBuf,) = args.extract()?;
    let py = args.py();
    let scale = came(py, Scale::read(&folder).map_err(Into::into))?;
    let items = Table::of(scale.items, ITEMS).given(py)?;
    let subjects = Table::of(scale.subjects, SUBJECTS).given(py)?;
    give(py, (scale.findings, items, subjects))
}

const ITEMS: &Columns<ScaleItem> = &[
    ("task", Text(|i| Some((&*i.task).into()))),
    ("item", Text(|i| Some((&*i.id).into()))),
    ("kind", Text(|i| Some((&*i.kind).into()))),
    ("group", Text(|i| Some(i.only.as_deref()?.into()))),
    ("difficulty", Number(|i| Some(i.difficulty))),
    ("error", Number(|i| Some(i.error))),
    ("slope", Number(|i| Some(i.item.slope))),
    ("guessing", Number(|i| Some(i.item.guessing))),
    ("outfit_z", Number(|i| Some(i.fit?.0))),
    ("infit", Number(|i| Some(i.fit?.1))),
    ("text", Text(|i| Some((&*i.text).into()))),
];

const SUBJECTS: &Columns<ScaleSubject> = &[
    ("subject", Text(|s| Some((&*s.name).into()))),
    ("group", Text(|s| Some((&*s.group).into()))),
    ("lineage", Text(|s| Some((&*s.lineage).into()))),
    ("ability", Number(|s| Some(s.ability.as_ref()?.value))),
    ("low", Number(|s| Some(s.ability.as_ref()?.low))),
    ("high", Number(|s| Some(s.ability.as_ref()?.high))),
    ("expected", Number(|s| Some(s.expected.as_ref()?.value))),
    ("answers", Count(|s| Some(s.answers))),
    ("above_chance", Count(|s| Some(usize::from(s.above_chance)))),
    ("calibrates", Count(|s| Some(usize::from(s.calibrates)))),
    ("outfit", Number(|s| s.outfit)),
];
