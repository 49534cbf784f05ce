//! The items of a task file, made row by row.

use std::sync::Arc;

use mary_contract::{Item, TaskError, TaskSettings};
use mary_platform::{DigestMap, given};

use crate::asking::{AskSettings, RowView};
use crate::plan::Plan;
use crate::rows::{Row, Rows};
use crate::shots::Pool;

/// Characters of an id, at most: it stands in every line of the log.
const LONGEST_ID: usize = 512;

/// A lazy stream of items; after an error it ends.
pub(crate) struct ItemStream {
    plan: Arc<Plan>,
    settings: TaskSettings,
    wanted: AskSettings,
    rows: Rows,
    pool: Option<Pool>,
    /// The ids so far with the rows' numbers; none where lines are ids, which cannot meet twice.
    ids: DigestMap,
    made: bool,
    ended: bool,
}

impl ItemStream {
    pub fn new(plan: Arc<Plan>, settings: &TaskSettings) -> Result<Self, TaskError> {
        Ok(Self {
            wanted: AskSettings::read(&plan, settings)?,
            pool: Pool::read(&plan, settings)?,
            rows: plan.table.rows()?,
            settings: settings.clone(),
            plan,
            ids: DigestMap::default(),
            made: false,
            ended: false,
        })
    }

    fn make(&mut self) -> Option<Result<Item, TaskError>> {
        loop {
            let row = match self.rows.next() {
                None if self.made => return None,
                None => return Some(Err(self.nothing())),
                Some(Err(error)) => return Some(Err(error)),
                Some(Ok(row)) => row,
            };
            match self.plan.keeps("where", &row) {
                Ok(true) => {}
                Ok(false) => continue,
                Err(error) => return Some(Err(error)),
            }
            self.made = true;
            return Some(self.item(&row));
        }
    }

    fn nothing(&self) -> TaskError {
        let why = if self.plan.templates.has("where") {
            "no row is left: `where` under [data] is true for none of them"
        } else {
            "there are no rows; expected at least one"
        };
        self.plan.table.wrong(1, why)
    }

    fn item(&mut self, row: &Row) -> Result<Item, TaskError> {
        let plan = Arc::clone(&self.plan);
        let id = id_of(&plan, row)?;
        if plan.form.data.id.is_some() {
            self.check_unique(row, &id)?;
        }
        let seen = RowView::new(&plan, row)?;
        let shots = match &self.pool {
            None => Vec::new(),
            Some(pool) => pool.draw(&id).map_err(|why| row.wrong(why))?,
        };
        let asks = seen.asks(&self.settings, &self.wanted, &shots)?;
        let mut item = Item::new(id, seen.target()?, asks);
        let data = &plan.form.data;
        let strata = data.strata.names().iter();
        let strata = strata.map(|c| plan.column(row, "strata", c));
        item.stratum = strata.collect::<Result<Vec<_>, _>>()?.join("/");
        if let Some(cluster) = &data.cluster {
            item.cluster = Some(plan.column(row, "cluster", cluster)?);
        }
        for tag in data.tags.names() {
            item = item.tagged(tag, plan.column(row, "tags", tag)?);
        }
        Ok(item)
    }

    /// An id that was there before is refused with the line where it was.
    fn check_unique(&mut self, row: &Row, id: &str) -> Result<(), TaskError> {
        let before = self.ids.insert(DigestMap::digest(id), row.number as u64);
        let Some(number) = before.map_err(|e| {
            let folder = std::env::temp_dir();
            let place = folder.display();
            row.wrong(format!("a temporary file in {place} cannot be read: {e}"))
        })?
        else {
            return Ok(());
        };
        // Of several files, the number counts over all of them: the file itself says which line it is.
        for earlier in self.plan.table.rows()? {
            let earlier = earlier?;
            if earlier.number as u64 == number {
                let (line, file) = (earlier.line, earlier.file);
                let place = match file == row.file {
                    true => String::new(),
                    false => format!(" of {file}"),
                };
                return Err(row.wrong(format!("duplicate id `{id}` (first on line {line}{place})")));
            }
        }
        Err(row.wrong(format!("duplicate id `{id}`")))
    }
}

impl Iterator for ItemStream {
    type Item = Result<Item, TaskError>;

    fn next(&mut self) -> Option<Self::Item> {
        given(!self.ended)?;
        let made = self.make();
        self.ended = !matches!(made, Some(Ok(_)));
        made
    }
}

/// The id of a row: its column, or its line.
pub(crate) fn id_of(plan: &Plan, row: &Row) -> Result<String, TaskError> {
    let Some(column) = &plan.form.data.id else {
        return Ok(row.number.to_string());
    };
    let id = plan.column(row, "id", column)?.trim().to_owned();
    match id.chars().count() {
        1..=LONGEST_ID => Ok(id),
        n => Err(row.wrong(format!(
            "the id in column `{column}` has {n} characters; expected 1 to {LONGEST_ID}"
        ))),
    }
}
