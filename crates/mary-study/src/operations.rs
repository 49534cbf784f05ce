//! What is done with a study from outside of its pages: closing, judging, exporting, withdrawing.

use std::path::{Path, PathBuf};

use mary_contract::{Registry, RunSummary};

use crate::StudyError;
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
        let (path, summary) = results::write_run(root, &self.study, &keys, registry, &results)?;
        Ok((path, summary, results))
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
