//! Jinja templates that strangers wrote: chat templates of models, and prompts of task files, ours and
//! lm-evaluation-harness'. They are programs, and run within limits: the machine counts their steps, and
//! what it does not count is counted here, the size of values ([`bounded()`]) and of what they write
//! ([`render`]).

mod bounded;
mod output;

pub use bounded::{Bounds, Checked, bounded, install, limited_method, written};
pub use output::{render, render_captured};
