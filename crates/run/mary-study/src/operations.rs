//! What is done with a study from outside of its pages: closing and judging.

use std::path::{Path, PathBuf};

use mary_contract::{Registry, RunSummary, Sample};
use mary_store::RunFolder;

use crate::deletion;
use crate::error::io_at;
use crate::judgements::{self, Joining, Mark};
use crate::keys::{Judging, Keys};
use crate::results::{self, Results};
use crate::session::{Participation, Session};
use crate::store::{self, Admission, CopyKind};
use crate::{Result, StudyError};

impl Session {
    pub fn people(&self) -> Result<Vec<Participation>> {
        self.store.wait(self.gathering())
    }

    pub fn is_closed(&self) -> Result<bool> {
        self.store.wait(store::is_closed)
    }

    pub fn admission(&self) -> Result<Admission> {
        self.store.wait(store::admission)
    }

    pub fn judged(&self, registry: &Registry) -> Result<Results> {
        results::judge(self, &self.study.keys()?, registry, &self.people()?)
    }

    /// People who are taking part at the moment: they have a place, and were heard of within its time.
    pub fn inside(&self) -> Result<usize> {
        let since = self.now() - i64::from(self.study.settings.minutes) * 60_000;
        let inside = |p: &&Participation| {
            p.person.state == store::PersonState::Running && p.person.seen >= since
        };
        Ok(self.people()?.iter().filter(inside).count())
    }

    pub fn stop_admission(&self) -> Result<()> {
        self.store.wait(store::stop_admission)
    }

    /// Closes the study: nobody is let in any more, and no answer taken. The run folder below `root` holds
    /// what was answered; there is none where nobody counts who finished. Refused, with the study still open, where
    /// that folder holds the answers of another copy of the study, such as a rehearsal's.
    pub fn close(
        &self,
        registry: &Registry,
        root: &Path,
    ) -> Result<Option<(PathBuf, RunSummary, Results)>> {
        let keys = self.study.keys()?;
        let run = std::path::absolute(root.join(self.run_id(&keys)?)).map_err(io_at(root))?;
        if self.is_of_another(&run, !self.judged(registry)?.samples.is_empty())? {
            return Err(StudyError::refused(format!(
                "{} holds the answers of another copy of this study; nothing was changed\n\
                 hint: move that folder away, or choose another output path",
                run.display()
            )));
        }
        self.store.wait(store::close_study)?;
        // Noted first: whoever withdraws from now on is taken out of it.
        let noted = run.to_string_lossy().into_owned();
        let path = noted.clone();
        self.store
            .wait(move |db| store::record(db, &path, CopyKind::Run, 0))?;
        let written = self.write_run(&keys, registry, root)?;
        if written.is_none() && !run.exists() {
            // Otherwise whoever withdraws would be told of a copy that never was.
            self.store.wait(move |db| {
                let copies = store::copies(db)?.into_iter();
                let mut ours = copies.filter(|copy| copy.path == noted);
                ours.try_for_each(|copy| store::cleaned(db, &copy, true))
            })?;
        }
        self.finish_deletions(Some(registry))?;
        Ok(written)
    }

    /// Remembers the run folder of a study that an earlier version closed.
    pub fn know_run(&self, root: &Path) -> Result<()> {
        if !self.is_closed()? {
            return Ok(());
        }
        // Without its keys a study can be served, and no run written.
        let Ok(keys) = self.study.keys() else {
            return Ok(());
        };
        let run = root.join(self.run_id(&keys)?);
        let run = std::path::absolute(&run).map_err(io_at(root))?;
        if run.exists() && !self.is_of_another(&run, true)? {
            let noted = run.to_string_lossy().into_owned();
            self.store
                .wait(move |db| store::record(db, &noted, CopyKind::Run, 0))?;
        }
        Ok(())
    }

    /// Whether a run folder holds the answers of another copy of the study: copies of one folder (`cp -r`, for a
    /// rehearsal) have one name and one key, and only the people differ. Where nobody of ours counts (`counted`), all
    /// that is in our run may be somebody who withdrew; then it is ours if we wrote there.
    fn is_of_another(&self, run: &Path, counted: bool) -> Result<bool> {
        if !run.exists() {
            return Ok(false);
        }
        let log = run.join("samples.jsonl");
        for one in self.people()? {
            let name = format!("\"{}\"", one.person.pseudonym);
            if log.exists() && deletion::holds(&log, &name).map_err(io_at(&log))? {
                return Ok(false);
            }
        }
        let path = run.to_string_lossy().into_owned();
        let copies = self.store.wait(store::copies)?;
        Ok(counted || copies.iter().all(|copy| copy.path != path))
    }

    /// Writes a run folder again after somebody withdrew; without anybody left there is none. False where another
    /// copy of the study has written its own in that place.
    pub(crate) fn rewrite_run(&self, run: &Path, registry: &Registry) -> Result<bool> {
        if self.is_of_another(run, !self.judged(registry)?.samples.is_empty())? {
            return Ok(false);
        }
        let keys = self.study.keys()?;
        let root = run.parent().unwrap_or(run);
        // Opened first: what is not this study's run is left alone.
        let found = RunFolder::open(run)?.manifest().clone();
        let people = results::model_ref(&self.study);
        let ours =
            found.id == self.run_id(&keys)? || found.models.iter().any(|m| m.model == people);
        if !ours {
            return Err(StudyError::refused(format!(
                "expected the run of this study, found the run {}",
                found.id
            )));
        }
        let written = self.write_run(&keys, registry, root)?;
        // Without anybody left there is no run; after a change of the settings it has another name.
        if written.is_none_or(|(path, ..)| path.file_name() != run.file_name()) {
            std::fs::remove_dir_all(run).map_err(io_at(run))?;
        }
        Ok(true)
    }

    fn run_id(&self, keys: &Keys) -> Result<String> {
        match &keys.judging {
            Some(judging) => Ok(judgements::run_id(&self.study.settings.name, &judging.run)),
            None => results::run_id(&self.study, keys),
        }
    }

    /// Judges everybody who has finished and writes the run folder; nothing where nobody has.
    fn write_run(
        &self,
        keys: &Keys,
        registry: &Registry,
        root: &Path,
    ) -> Result<Option<(PathBuf, RunSummary, Results)>> {
        let results = self.judged(registry)?;
        if results.samples.is_empty() {
            return Ok(None);
        }
        let (path, summary) = if let Some(judging) = &keys.judging {
            let run = RunFolder::open(&self.judged_run(judging, root))?;
            let joining = Joining {
                name: &self.study.settings.name,
                task: Some(&judging.task),
                measure: &judging.measure,
            };
            let marks = self.verdicts(keys, &results.samples);
            judgements::write_run(root, &run, registry, joining, &marks)?
        } else {
            results::write_run(root, &self.study, keys, registry, &results)?
        };
        crate::private::folder(&path).map_err(io_at(&path))?;
        Ok(Some((path, summary, results)))
    }

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
}
