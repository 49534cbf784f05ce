//! Grows a small model that sees, without the program: `see FOLDER [SIZE] [STEPS] [THREADS]`.
//! `mary grow --eyes` does the same and shows it better.
#![allow(clippy::print_stdout, reason = "an example talks to its user")]

use mary_train::{GrowEvent, VisionSettings, VisionSize, grow_vision};
use std::ops::ControlFlow;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let word = |at: usize, usual: &str| args.get(at).map_or(usual, String::as_str).to_owned();
    let size = VisionSize::named(&word(1, "nano"))?;
    let mut settings =
        VisionSettings::new(word(0, "seeing").into(), size, word(2, "3000").parse()?);
    settings.course.threads = word(3, "1").parse()?;
    let report = grow_vision(&settings, &mut |event| {
        match event {
            GrowEvent::Step {
                step,
                loss,
                tokens_per_second,
                ..
            } if step % 50 == 0 => println!("{step} {loss:.4} {tokens_per_second:.0} tokens/s"),
            GrowEvent::VisionProbed(looked) => println!("{looked:?}"),
            _ => {}
        }
        ControlFlow::Continue(())
    })?;
    println!("step {}, {:?}", report.step, report.last_checkpoint);
    Ok(())
}
