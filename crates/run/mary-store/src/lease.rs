//! Who writes to a run folder: one process at a time, on whatever node it runs.
//!
//! On a local file system the kernel's lock is all there is to it: it goes with the process, so a
//! killed run never locks anybody out. On a network file system such a lock may hold on one node only
//! (Lustre with `localflock`), outlive its node, or not exist. There the file's content counts too: it
//! names the holder by host, boot, process and start of the process, and a number in it moves while the
//! holder lives. A holder on this host is looked up among its processes; one on another host is watched
//! for a while, and where its number stands still it is taken for dead and the folder is taken over. A
//! holder that finds another name in the file (a node that hung and came back) stops writing.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use mary_contract::StoreError;
use mary_platform::{given, open_plain, writable_place};
use serde::{Deserialize, Serialize};

use crate::fault::{Result, io_at};
use crate::mounts::network_file_system;

pub(crate) const FILE: &str = "run.lock";
/// Every content has this many bytes, so that it is replaced by one write.
const WIDTH: usize = 512;
/// How often a holder on a network file system moves its number.
const BEAT: Duration = Duration::from_secs(10);
/// For how many beats a number may stand still.
const BEATS: u32 = 4;

/// A process, so that it cannot be confused with another of the same number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    pub host: String,
    /// Changes whenever the machine starts.
    pub boot: String,
    pub pid: u32,
    /// When it started, in ticks since the machine did: numbers of processes are used again.
    pub started: u64,
    #[serde(default)]
    pub beat: u64,
}

impl Holder {
    pub fn this() -> Self {
        let pid = std::process::id();
        let read = |path: &str| {
            let text = std::fs::read_to_string(path).unwrap_or_default();
            text.trim().to_owned()
        };
        Self {
            host: read("/proc/sys/kernel/hostname"),
            boot: read("/proc/sys/kernel/random/boot_id"),
            pid,
            started: start_of(pid).unwrap_or(0),
            beat: 0,
        }
    }

    /// Whether it lives, where that can be told from here: on this host.
    pub fn lives(&self) -> Option<bool> {
        let here = Self::this();
        given(here.host == self.host)?;
        Some(here.boot == self.boot && start_of(self.pid) == Some(self.started))
    }

    fn is(&self, other: &Self) -> bool {
        let beat = self.beat;
        *self
            == Self {
                beat,
                ..other.clone()
            }
    }
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "process {} on {}", self.pid, self.host)
    }
}

/// Start of a process that runs, in ticks since the machine started; a zombie does not run.
fn start_of(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program may hold anything but its last parenthesis.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?;
    (state != "Z" && state != "X").then(|| fields.nth(18)?.parse().ok())?
}

/// The process that a folder's lock names, if any. It may be dead.
pub fn holder(folder: &Path) -> Option<Holder> {
    read_holder(&mut open_plain(&folder.join(FILE)).ok()?)
}

/// When a lock was last written, in seconds since 1970.
pub(crate) fn last_seen(folder: &Path) -> Option<u64> {
    let written = std::fs::metadata(folder.join(FILE)).ok()?.modified().ok()?;
    let since = written.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(since.as_secs())
}

/// Whether a holder on another node has not moved its number for so long that it is taken for dead. Where
/// no number moves, nothing can be said.
pub(crate) fn is_silent(folder: &Path) -> bool {
    let written = std::fs::metadata(folder.join(FILE)).and_then(|m| m.modified());
    let age = written.ok().and_then(|at| at.elapsed().ok());
    // Twice as long as whoever takes the folder over watches it: clocks of nodes differ.
    network_file_system(folder).is_some() && age.is_some_and(|age| age > BEAT * BEATS * 2)
}

/// What decides whether a lock can be had; apart for tests.
struct Rules {
    us: Holder,
    /// Whether the kernel's lock may not reach beyond this node.
    shared: bool,
    beat: Duration,
}

/// The lock of a run folder, given back in so many words: closing the file is not enough, because a
/// process that is just being started by another thread holds a copy of it until it runs.
pub(crate) struct Lock {
    file: Arc<Mutex<File>>,
    us: Holder,
    lost: Arc<AtomicBool>,
    heart: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Lock {
    /// Takes the lock of a folder, or says who has it.
    pub(crate) fn take(folder: &Path) -> Result<Self> {
        let rules = Rules {
            us: Holder::this(),
            shared: network_file_system(folder).is_some(),
            beat: BEAT,
        };
        Self::take_by(folder, rules)
    }

    fn take_by(folder: &Path, mut rules: Rules) -> Result<Self> {
        let path = folder.join(FILE);
        let at = io_at(&path);
        writable_place(&path).map_err(&at)?;
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(&at)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(refusal(folder, read_holder(&mut file).as_ref()));
            }
            // Some network file systems have no locks: there the content of the file is the lock.
            Err(TryLockError::Error(e)) if e.kind() == io::ErrorKind::Unsupported => {
                rules.shared = true;
            }
            Err(TryLockError::Error(e)) => return Err(at(e)),
        }
        if rules.shared {
            outlive(folder, &mut file, &rules)?;
        }
        write_holder(&mut file, &rules.us).map_err(&at)?;
        let file = Arc::new(Mutex::new(file));
        let lost = Arc::new(AtomicBool::new(false));
        let heart = rules
            .shared
            .then(|| heart(&file, &lost, rules.us.clone(), rules.beat, &path))
            .transpose()
            .map_err(at)?;
        Ok(Self {
            file,
            us: rules.us,
            lost,
            heart,
        })
    }

    /// Whether another process took the folder over.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.heart.take() {
            drop(stop);
            let _ = thread.join();
        }
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        // Nothing can be done about a failure, and the file is closed in any case.
        if !self.is_lost() && read_holder(&mut file).is_none_or(|found| found.is(&self.us)) {
            let _ = file.set_len(0);
        }
        let _ = file.unlock();
    }
}

/// Waits until it is known that the holder in the file is dead; says who lives otherwise.
fn outlive(folder: &Path, file: &mut File, rules: &Rules) -> Result<()> {
    let Some(found) = read_holder(file) else {
        return Ok(());
    };
    match found.lives() {
        Some(true) if !found.is(&rules.us) => return Err(refusal(folder, Some(&found))),
        Some(_) => return Ok(()),
        None => {}
    }
    for _ in 0..BEATS {
        std::thread::sleep(rules.beat);
        match read_holder(file) {
            None => return Ok(()),
            Some(now) if now != found => return Err(refusal(folder, Some(&now))),
            Some(_) => {}
        }
    }
    Ok(())
}

fn refusal(folder: &Path, holder: Option<&Holder>) -> StoreError {
    let holder = match holder {
        None => "another process".to_owned(),
        Some(holder) if holder.host == Holder::this().host => format!("process {}", holder.pid),
        Some(holder) => holder.to_string(),
    };
    StoreError::Mismatch(format!(
        "{}: {holder} is writing to this run\n\
         hint: wait until it has finished or stop it, then give the command again; \
         `mary view` and `mary report` work meanwhile",
        folder.display()
    ))
}

/// What an error says when the folder was taken over.
pub(crate) fn taken_over(folder: &Path) -> StoreError {
    let by = holder(folder).map_or_else(|| "another process".to_owned(), |h| h.to_string());
    StoreError::Mismatch(format!(
        "{}: {by} has taken this run over, because this process was silent for too long\n\
         hint: nothing more is written here; what was answered before is kept",
        folder.display()
    ))
}

fn read_holder(file: &mut File) -> Option<Holder> {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0)).ok()?;
    file.take(WIDTH as u64).read_to_string(&mut text).ok()?;
    serde_json::from_str(text.trim()).ok()
}

fn write_holder(file: &mut File, holder: &Holder) -> io::Result<()> {
    let text = serde_json::to_string(holder)?;
    let line = format!("{text:<width$}\n", width = WIDTH - 1);
    file.seek(SeekFrom::Start(0))?;
    file.write_all(line.as_bytes())?;
    file.set_len(line.len() as u64)
}

/// Moves the number in the file until the lock is given back or another name stands in it.
fn heart(
    file: &Arc<Mutex<File>>,
    lost: &Arc<AtomicBool>,
    us: Holder,
    beat: Duration,
    path: &Path,
) -> io::Result<(Sender<()>, JoinHandle<()>)> {
    let (stop, stopped) = mpsc::channel::<()>();
    let (file, lost, path) = (Arc::clone(file), Arc::clone(lost), PathBuf::from(path));
    let thread = std::thread::Builder::new()
        .name("run-lock".into())
        .spawn(move || {
            let mut us = us;
            while stopped.recv_timeout(beat) == Err(RecvTimeoutError::Timeout) {
                // Opened anew: a node may go on seeing what it has read before.
                let found = open_plain(&path).ok().and_then(|mut f| read_holder(&mut f));
                if found.is_some_and(|found| !found.is(&us)) {
                    lost.store(true, Ordering::Relaxed);
                    return;
                }
                us.beat += 1;
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                // A beat that cannot be written is like none; the next one may be.
                let _ = write_holder(&mut file, &us);
            }
        })?;
    Ok((stop, thread))
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUICK: Duration = Duration::from_millis(20);

    fn rules(us: Holder) -> Rules {
        Rules {
            us,
            shared: true,
            beat: QUICK,
        }
    }

    /// Whoever moves a number in a test may be kept waiting by a busy machine.
    fn patient(us: Holder) -> Rules {
        Rules {
            beat: Duration::from_secs(2),
            ..rules(us)
        }
    }

    fn left_by(folder: &Path, holder: &Holder) {
        write_holder(&mut File::create(folder.join(FILE)).unwrap(), holder).unwrap();
    }

    #[test]
    fn a_lock_left_by_the_dead_is_taken_over() {
        let us = Holder::this();
        let dead = [
            // Another boot of this machine, a number of a process that was used again, another node.
            Holder {
                boot: "before".into(),
                ..us.clone()
            },
            Holder {
                started: us.started + 1,
                ..us.clone()
            },
            Holder {
                host: "node7".into(),
                pid: 1,
                ..us.clone()
            },
        ];
        for left in dead {
            let folder = tempfile::tempdir().unwrap();
            left_by(folder.path(), &left);
            let lock = Lock::take_by(folder.path(), rules(us.clone())).unwrap();
            let found = holder(folder.path()).unwrap();
            assert!(found.is(&us), "{left:?}");
            drop(lock);
            assert_eq!(holder(folder.path()), None, "given back");
        }
    }

    #[test]
    fn the_living_are_not_disturbed() {
        let us = Holder::this();
        let folder = tempfile::tempdir().unwrap();
        // This process under another name lives: its number and start are those of a process here.
        left_by(folder.path(), &us);
        let other = Holder {
            pid: us.pid + 1,
            ..us.clone()
        };
        let error = Lock::take_by(folder.path(), rules(other)).err().unwrap();
        assert!(
            error.to_string().contains("is writing to this run"),
            "{error}"
        );
        // On another node the number moves. It is moved here until the answer is there.
        let far = Holder {
            host: "node7".into(),
            ..us.clone()
        };
        left_by(folder.path(), &far);
        let path = folder.path().join(FILE);
        let done = AtomicBool::new(false);
        let error = std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut far = far.clone();
                while !done.load(Ordering::Relaxed) {
                    far.beat += 1;
                    let mut file = OpenOptions::new().write(true).open(&path).unwrap();
                    write_holder(&mut file, &far).unwrap();
                }
            });
            let taken = Lock::take_by(folder.path(), patient(us));
            done.store(true, Ordering::Relaxed);
            taken.err().unwrap()
        });
        assert!(error.to_string().contains("on node7"), "{error}");
    }

    #[test]
    fn who_was_silent_for_too_long_notices() {
        let us = Holder::this();
        let folder = tempfile::tempdir().unwrap();
        let lock = Lock::take_by(folder.path(), rules(us.clone())).unwrap();
        assert!(!lock.is_lost());
        let mut file = OpenOptions::new()
            .write(true)
            .open(folder.path().join(FILE))
            .unwrap();
        let far = Holder {
            host: "node7".into(),
            ..us
        };
        let begun = std::time::Instant::now();
        while !lock.is_lost() && begun.elapsed() < Duration::from_secs(120) {
            // Written again and again: a beat that was under way may have covered it.
            write_holder(&mut file, &far).unwrap();
            std::thread::sleep(QUICK);
        }
        assert!(lock.is_lost());
        drop(lock);
        assert!(holder(folder.path()).unwrap().is(&far), "not ours to clear");
    }
}
