//! Threads that stay awake between short pieces of work.
//!
//! Writing a token is a few hundred small products one after the other, each a few microseconds on
//! every thread. Waking a sleeping thread takes longer than such a product, so helpers look out for
//! the next piece for a moment before they go to sleep. Everything larger goes through rayon.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError, TryLockError};

use crate::errors::lock;

/// Looks before a helper goes to sleep: some hundreds of microseconds.
const PATIENCE: u32 = 20_000;

#[derive(Clone, Copy)]
struct Piece {
    work: *const (dyn Fn(usize) + Sync),
    count: usize,
    share: usize,
}

// SAFETY: the leader keeps the closure alive until every helper has left it.
unsafe impl Send for Piece {}

#[derive(Default)]
struct Board {
    round: AtomicU64,
    piece: Mutex<Option<Piece>>,
    next: AtomicUsize,
    /// Helpers that have not left the present piece yet.
    inside: AtomicUsize,
    sleeping: AtomicBool,
    bed: (Mutex<()>, Condvar),
}

struct Team {
    board: Arc<Board>,
    helpers: usize,
    /// One piece at a time.
    lead: Mutex<()>,
}

impl Team {
    fn with(threads: usize) -> Option<Arc<Self>> {
        static TEAMS: OnceLock<Mutex<HashMap<usize, Arc<Team>>>> = OnceLock::new();
        let mut teams = lock(TEAMS.get_or_init(Mutex::default));
        if let Some(team) = teams.get(&threads) {
            return Some(Arc::clone(team));
        }
        let board: Arc<Board> = Arc::default();
        for i in 1..threads {
            let board = Arc::clone(&board);
            let helper = std::thread::Builder::new().name(format!("mary-team-{i}"));
            helper.spawn(move || help(&board)).ok()?;
        }
        let team = Arc::new(Self {
            board,
            helpers: threads - 1,
            lead: Mutex::new(()),
        });
        teams.insert(threads, Arc::clone(&team));
        Some(team)
    }
}

/// Calls `work` for every number below `count`, on as many threads as rayon has here; the caller is
/// one of them. Numbers are taken in runs of `share`.
pub fn each(count: usize, share: usize, work: impl Fn(usize) + Sync) {
    let threads = rayon::current_num_threads();
    let worth_it = threads > 1 && count > share;
    let Some(team) = worth_it.then(|| Team::with(threads)).flatten() else {
        return (0..count).for_each(work);
    };
    // Another model's leader has the helpers: go without.
    let _lead = match team.lead.try_lock() {
        Ok(lead) => lead,
        Err(TryLockError::Poisoned(lead)) => lead.into_inner(),
        Err(TryLockError::WouldBlock) => return (0..count).for_each(work),
    };
    let shared: &(dyn Fn(usize) + Sync) = &work;
    // SAFETY: only the lifetime is taken away; `Leave` waits for the helpers before `work` is
    // dropped, even when `work` panics here.
    let work: *const (dyn Fn(usize) + Sync) = unsafe { std::mem::transmute(shared) };
    let piece = Piece { work, count, share };
    let board = &*team.board;
    *lock(&board.piece) = Some(piece);
    board.next.store(0, Ordering::Relaxed);
    board.inside.store(team.helpers, Ordering::Relaxed);
    let _leave = Leave(board);
    board.round.fetch_add(1, Ordering::SeqCst);
    if board.sleeping.swap(false, Ordering::SeqCst) {
        let _bed = lock(&board.bed.0);
        board.bed.1.notify_all();
    }
    take_part(board, piece);
}

/// Waits until no helper is inside the piece any more.
struct Leave<'a>(&'a Board);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        // Nothing is left to be taken if the leader fails.
        self.0.next.store(usize::MAX / 2, Ordering::Relaxed);
        let mut looks = 0u32;
        while self.0.inside.load(Ordering::Acquire) > 0 {
            looks += 1;
            if looks.is_multiple_of(1024) {
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
    }
}

fn take_part(board: &Board, piece: Piece) {
    loop {
        let first = board.next.fetch_add(piece.share, Ordering::Relaxed);
        if first >= piece.count {
            return;
        }
        // SAFETY: the leader waits for everybody who is inside.
        let work = unsafe { &*piece.work };
        (first..piece.count.min(first + piece.share)).for_each(work);
    }
}

fn help(board: &Board) {
    let mut seen = 0;
    loop {
        seen = wait(board, seen);
        let piece = *lock(&board.piece);
        // A panic inside would leave the leader waiting: it is printed, and the piece goes on.
        let part = std::panic::AssertUnwindSafe(|| {
            if let Some(piece) = piece {
                take_part(board, piece);
            }
        });
        let _ = std::panic::catch_unwind(part);
        board.inside.fetch_sub(1, Ordering::Release);
    }
}

/// Returns when there is a round after `seen`.
fn wait(board: &Board, seen: u64) -> u64 {
    for _ in 0..PATIENCE {
        let round = board.round.load(Ordering::Acquire);
        if round != seen {
            return round;
        }
        std::hint::spin_loop();
    }
    let mut bed = lock(&board.bed.0);
    loop {
        board.sleeping.store(true, Ordering::SeqCst);
        let round = board.round.load(Ordering::SeqCst);
        if round != seen {
            return round;
        }
        let awake = board.bed.1.wait(bed);
        bed = awake.unwrap_or_else(PoisonError::into_inner);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::*;

    #[test]
    fn every_number_is_done_once_whoever_does_it() {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(3)
            .build()
            .unwrap();
        for round in 0..2_000usize {
            let count = round % 97;
            let done: Vec<AtomicU32> = (0..count).map(|_| AtomicU32::new(0)).collect();
            pool.install(|| {
                each(count, 1 + round % 5, |i| {
                    done[i].fetch_add(1, Ordering::Relaxed);
                });
            });
            assert!(
                done.iter().all(|n| n.load(Ordering::Relaxed) == 1),
                "round {round}"
            );
        }
    }

    #[test]
    fn helpers_that_fell_asleep_come_again() {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(2)
            .build()
            .unwrap();
        for _ in 0..5 {
            let sum = AtomicUsize::new(0);
            pool.install(|| {
                each(1_000, 10, |i| {
                    sum.fetch_add(i, Ordering::Relaxed);
                });
            });
            assert_eq!(sum.into_inner(), 499_500);
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }

    #[test]
    fn two_leaders_do_not_meet() {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let pool = rayon::ThreadPoolBuilder::new()
                        .num_threads(2)
                        .build()
                        .unwrap();
                    for _ in 0..500 {
                        let sum = AtomicUsize::new(0);
                        pool.install(|| {
                            each(100, 3, |i| {
                                sum.fetch_add(i, Ordering::Relaxed);
                            });
                        });
                        assert_eq!(sum.into_inner(), 4_950);
                    }
                });
            }
        });
    }
}
