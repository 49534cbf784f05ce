//! Panics of other people's code, turned into errors. Some libraries panic on damaged input; the hook would
//! print "thread panicked" above our clean message, so catching is not enough.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

static HOOK: Once = Once::new();

/// Runs code that may panic on hostile input: returns the message unprinted; other panics are reported as
/// before.
pub fn caught<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    HOOK.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |panic| {
            // A thread that is ending has no flag any more; its panic is nobody's to hide.
            if !QUIET.try_with(Cell::get).unwrap_or(false) {
                usual(panic);
            }
        }));
    });
    let before = QUIET.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(run));
    QUIET.set(before);
    outcome.map_err(|payload| message(&*payload))
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|s| (*s).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic without a message".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn a_panic_becomes_its_message_is_not_printed_and_the_flag_is_put_back() {
        static PRINTED: AtomicUsize = AtomicUsize::new(0);
        // The only test of this crate that calls `caught`: its hook goes around this one.
        let usual = take_hook();
        set_hook(Box::new(move |panic| {
            PRINTED.fetch_add(1, Ordering::Relaxed);
            usual(panic);
        }));
        assert_eq!(caught(|| 3), Ok(3));
        let inner = || caught(|| panic!("inner {}", 1)).map(|()| 0);
        let outer = caught(|| (inner(), QUIET.get()));
        assert_eq!(outer, Ok((Err("inner 1".to_owned()), true)));
        assert!(!QUIET.get());
        assert_eq!(caught(|| panic!("plain")), Err::<(), _>("plain".to_owned()));
        assert!(!QUIET.get());
        assert_eq!(PRINTED.load(Ordering::Relaxed), 0);
        let elsewhere = std::thread::spawn(|| panic!("seen")).join();
        assert!(elsewhere.is_err() && PRINTED.load(Ordering::Relaxed) == 1);
    }
}
