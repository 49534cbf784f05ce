//! What is done with a study from outside of its pages: closing, judging, exporting, withdrawing.

use std::path::{Path, PathBuf};

use mary_contract::{Registry, RunSummary, Sample};
use mary_store::RunFolder;

use crate::StudyError;
use crate::forms::Judging;
use crate::freeze::Keys;
use crate::judgements::{self, Joining, Mark};
use crate::results::{self, Results};
use crate::session::{Participation, Session};
use crate::store;

impl Session {
    /// Everybody with their answers.
    pub fn people(&self) -> Result<Vec<Participation>, StudyError> {
        self.store.wait(self.gathering())
    }

    /// Whether the study is over.
    pub fn is_closed(&self) -> Result<bool, StudyError> {
        self.store.wait(store::is_closed)
    }

    /// Judges everybody who has finished so far.
    pub fn judged(&self, registry: &Registry) -> Result<Results, StudyError> {
        results::judge(self, &self.study.keys()?, registry, &self.people()?)
    }

    /// Closes the study: nobody is let in any more. The run folder below `root` holds what was answered.
    pub fn close(
        &self,
        registry: &Registry,
        root: &Path,
    ) -> Result<(PathBuf, RunSummary, Results), StudyError> {
        self.store.wait(store::close_study)?;
        let results = self.judged(registry)?;
        if results.samples.is_empty() {
            return Err(StudyError::refused(
                "nobody has finished, so that there is nothing to write\nhint: the study is closed; its answers so far are in its folder",
            ));
        }
        let keys = self.study.keys()?;
        if let Some(judging) = &keys.judging {
            let run = RunFolder::open(&self.judged_run(judging, root))?;
            let joining = Joining {
                name: &self.study.settings.name,
                task: Some(&judging.task),
                measure: &judging.measure,
            };
            let marks = self.verdicts(&keys, &results.samples);
            let (path, summary) = judgements::write_run(root, &run, registry, joining, &marks)?;
            return Ok((path, summary, results));
        }
        let (path, summary) = results::write_run(root, &self.study, &keys, registry, &results)?;
        Ok((path, summary, results))
    }

    /// What people said of what models wrote, in a study of judgements.
    pub fn verdicts(&self, keys: &Keys, samples: &[Sample]) -> Vec<Mark> {
        let ids: Vec<String> = keys.items.iter().map(|k| k.item.id.clone()).collect();
        let judging = keys.judging.as_ref();
        judging.map_or_else(Vec::new, |judging| {
            judgements::of_samples(judging, &ids, samples)
        })
    }

    /// Where the judged run lies: among the runs, or where it lay when the study was made.
    fn judged_run(&self, judging: &Judging, root: &Path) -> PathBuf {
        let among = root.join(&judging.run);
        if among.exists() {
            among
        } else {
            PathBuf::from(&judging.path)
        }
    }

    /// Deletes a person by their pseudonym or by the id of their platform. Whether there was one.
    pub fn withdraw(&self, who: &str) -> Result<bool, StudyError> {
        let who = who.to_owned();
        let gone = self.store.wait(move |db| {
            let named = store::find_by_platform(db, &who)?;
            store::withdraw(db, named.as_deref().unwrap_or(&who))
        })?;
        if gone {
            self.compact()?;
        }
        Ok(gone)
    }

    /// Deletes the ids of platforms, once everybody is paid. How many there were.
    pub fn forget_platform(&self) -> Result<usize, StudyError> {
        let n = self.store.wait(|db| {
            let n = store::platform_kept(db)?;
            db.execute("DELETE FROM platform", [])?;
            Ok(n)
        })?;
        self.compact()?;
        Ok(n)
    }

    /// What was deleted leaves the journal too: SQLite keeps old pages there until it is emptied.
    fn compact(&self) -> Result<(), StudyError> {
        let path = self.study.database();
        let at = |source| StudyError::Database {
            path: path.clone(),
            source,
        };
        let connection = rusqlite::Connection::open(&path).map_err(at)?;
        let patience = std::time::Duration::from_secs(30);
        connection.busy_timeout(patience).map_err(at)?;
        connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .map_err(at)
    }
}
