//! What every crate needs of the operating system and of plain text, and what belongs to no request, task or
//! model.

mod counted;
mod encoded;
mod files;
mod gathered;
mod given;
mod machine;
mod panics;
mod replacement;
mod separated;
mod spill;
mod spreadsheet;
mod terminal;

pub use counted::{counted, plural};
pub use encoded::percent_encoded;
pub use files::{
    LARGEST_DATA, LARGEST_SETTINGS, append_plain, open_plain, private_folder, read_plain,
    read_plain_text, writable_place,
};
pub use gathered::{counts, distinct, grouped, grouped_in_order, means};
pub use given::given;
pub use machine::available_memory;
pub use panics::caught;
pub use replacement::{Replacement, move_into_place, replace_file};
pub use separated::{SPREADSHEET_HINT, Separated, TextFault};
pub use spill::DigestMap;
pub use spreadsheet::{for_spreadsheet, from_spreadsheet};
pub use terminal::{hear_notices, notice, visible, visible_line};
