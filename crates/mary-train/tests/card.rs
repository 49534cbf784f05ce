//! Training on an NVIDIA card beside the processor, where there is a card; what is said where there is
//! none. `examples/card.rs` checks more and measures.

#![allow(clippy::expect_used, reason = "a test stops where it fails")]

use mary_train::{Device, GrowSettings, Size, grow};
use std::ops::ControlFlow;

#[test]
fn a_card_that_is_not_there_is_said_before_anything_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let mut settings = GrowSettings::new(out.clone(), Size::named("pico").expect("a size"), 2);
    settings.device = Device::Cuda(99);
    let error = grow(&settings, &mut |_| ControlFlow::Continue(())).expect_err("no such card");
    assert!(error.to_string().contains("cuda:99"), "{error}");
    assert!(!out.exists());
}

#[cfg(feature = "cuda")]
mod with_a_card {
    use mary_train::net::cuda::check::{Adapting, Multiply, Plan, Trial, kernels, relative};
    use mary_train::net::{Packed, Shape};
    use mary_train::{Device, TrainError};

    /// True where there is a card; says so where there is none.
    fn card() -> bool {
        match Trial::new(&plan(), Device::Cuda(0), Multiply::Own) {
            Ok(_) => true,
            Err(error) => {
                eprintln!("skipped: {error}");
                false
            }
        }
    }

    fn plan() -> Plan {
        Plan::new(Shape::neox(200, 64, 2, 2, 64))
    }

    fn texts() -> Vec<Packed> {
        let token = |i: u32| i.wrapping_mul(2_654_435_761) % 200;
        let window = |n: u32| (n..n + 60).map(token).collect::<Vec<_>>();
        vec![
            Packed::from_window(&window(1)),
            Packed::from_window(&window(2000)),
        ]
    }

    #[test]
    fn every_kernel_does_what_its_twin_does() {
        if !card() {
            return;
        }
        for (name, error) in kernels(0, Multiply::Own).expect("kernels run") {
            assert!(error < 1e-5, "{name}: {error:.1e}");
        }
    }

    #[test]
    fn gradients_and_steps_are_the_processors() {
        if !card() {
            return;
        }
        let adapted = Plan {
            adapting: Some(Adapting {
                rank: 4,
                dropout: 0.2,
                targets: vec!["query_key_value".to_owned(), "dense_h_to_4h".to_owned()],
            }),
            ..plan()
        };
        for plan in [plan(), adapted] {
            let both = |device| -> Result<(Vec<f32>, Vec<f64>), TrainError> {
                let mut trial = Trial::new(&plan, device, Multiply::Own)?;
                let (_, _, gradient) = trial.gradient(&texts())?;
                let steps = (0..5).map(|_| Ok(trial.step(&texts())?.0));
                Ok((gradient, steps.collect::<Result<_, TrainError>>()?))
            };
            let here = both(Device::Cpu).expect("runs here");
            let there = both(Device::Cuda(0)).expect("runs there");
            assert!(relative(&there.0, &here.0) < 1e-4);
            for (a, b) in there.1.iter().zip(&here.1) {
                assert!((a / b - 1.0).abs() < 1e-4, "{a} {b}");
            }
        }
    }
}
