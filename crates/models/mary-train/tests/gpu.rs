//! Training on an NVIDIA GPU beside the processor: on a real one where there is one, and always on an
//! emulated one (`tests/emulator`), where a C++ compiler is found. `examples/gpu.rs` checks more and
//! measures.

use mary_train::{Device, GrowSettings, Size, grow};
use std::ops::ControlFlow;

#[test]
fn a_card_that_is_not_there_is_said_before_anything_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let mut settings = GrowSettings::new(out.clone(), Size::named("pico").expect("a size"), 2);
    settings.device = Device::Cuda(99);
    let error = grow(&settings, &mut |_| ControlFlow::Continue(())).expect_err("no such GPU");
    assert!(error.to_string().contains("cuda:99"), "{error}");
    assert!(!out.exists());
}

#[cfg(feature = "cuda")]
pub mod with_a_gpu {
    use mary_train::net::cuda::check::{Adapting, Multiply, Plan, Trial, kernels, relative};
    use mary_train::net::{Packed, Shape};
    use mary_train::{Device, TrainError};
    use std::path::Path;
    use std::process::Command;

    /// True where there is a GPU; says so where there is none.
    pub fn gpu() -> bool {
        match Trial::new(&plan(), Device::Cuda(0), Multiply::Own) {
            Ok(_) => true,
            Err(error) => {
                mary_testkit::skip(mary_testkit::Lacking::Gpu, &error.to_string());
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
    fn every_kernel_does_what_its_cpu_reference_does() {
        if !gpu() {
            return;
        }
        for (name, error) in kernels(0, Multiply::Own, false).expect("kernels run") {
            assert!(error < 1e-5, "{name}: {error:.1e}");
        }
        // A bfloat16 has eight bits: rounding alone is 2e-3 at most.
        for (name, error) in kernels(0, Multiply::Own, true).expect("kernels run") {
            assert!(error < 6e-3, "{name} in 16 bits: {error:.1e}");
        }
    }

    #[test]
    fn gradients_and_steps_are_the_processors() {
        if !gpu() {
            return;
        }
        let adapted = Plan {
            adapting: Some(Adapting::new(4, 0.2, &["query_key_value", "dense_h_to_4h"])),
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

    /// Names of the kernels in the source, as the emulator lists them.
    fn names(source: &str) -> String {
        let mut all = String::new();
        for line in source.lines() {
            if let Some(rest) = line.strip_prefix("KERNEL ") {
                let name = rest.split('(').next().unwrap_or_default();
                all.push_str(&format!("NAMED({name})\n"));
            }
            for (head, name) in [("ATTENTION(", "attend"), ("UNITS(", "attend_units")] {
                let Some(rest) = line.strip_prefix(head) else {
                    continue;
                };
                let of = rest.split([',', ')']).next().unwrap_or_default();
                for what in ["", "_back_q", "_back_kv"] {
                    all.push_str(&format!("NAMED({name}{what}_{of})\n"));
                }
            }
        }
        all
    }

    /// The tests above and those of `gpu16` and `gpu16_runs` again, in a process that finds an emulated GPU.
    #[cfg(target_os = "linux")]
    #[test]
    fn an_emulated_gpu_computes_the_same() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = tempfile::tempdir().expect("a folder");
        let list: String = ["train", "attention", "attention16"]
            .map(|name| here.join(format!("src/net/cuda/{name}.cu")))
            .map(|path| names(&std::fs::read_to_string(path).expect("kernels")))
            .concat();
        std::fs::write(folder.path().join("kernels.inc"), list).expect("a list");
        let compiled = Command::new("c++")
            .args(["-std=c++17", "-O2", "-w", "-U_FORTIFY_SOURCE", "-shared"])
            .args(["-fPIC", "-I"])
            .arg(folder.path())
            .arg(here.join("tests/emulator/gpu.cpp"))
            .arg("-o")
            .arg(folder.path().join("libcuda.so.1"))
            .output();
        let compiled = match compiled {
            Ok(output) => output,
            Err(error) => {
                let why = format!("no C++ compiler for the emulated GPU: {error}");
                mary_testkit::skip(mary_testkit::Lacking::Compiler, &why);
                return;
            }
        };
        let said = String::from_utf8_lossy(&compiled.stderr);
        assert!(compiled.status.success(), "{said}");
        let output = Command::new(std::env::current_exe().expect("this program"))
            .env("LD_LIBRARY_PATH", folder.path())
            .args(["--test-threads", "1", "--nocapture"])
            .arg("gpu::with_a_gpu::every_kernel_does_what_its_cpu_reference_does")
            .arg("gpu::with_a_gpu::gradients_and_steps_are_the_processors")
            .arg("gpu16")
            .output()
            .expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr);
        let told = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{told}{said}");
        assert!(
            told.contains("9 passed") && !said.contains("skipped"),
            "{told}{said}"
        );
    }
}
