//! Fifty odd pictures through every processor, beside what transformers makes of them: at most 1/255 for
//! each pixel. The golden files come from `tools/golden_pictures.py`.

use std::path::{Path, PathBuf};

use mary_local::pictures::{Layout, Picture, Processor, decode};
use serde_json::Value;

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pictures/golden")
}

fn picture(path: &Path) -> Picture {
    decode(&std::fs::read(path).unwrap()).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The bytes of a grey PNG.
fn bytes(path: &Path) -> Vec<u8> {
    picture(path).rgb().iter().step_by(3).copied().collect()
}

struct Compared {
    values: usize,
    off: usize,
    worst: i32,
}

fn compare(name: &str) -> Compared {
    let text = std::fs::read_to_string(golden().join(format!("{name}.json"))).unwrap();
    let told: Value = serde_json::from_str(&text).unwrap();
    let config = &told["config"];
    let processor = Processor::read(config).unwrap();
    let number = |key: &str, i: usize| config[key][i].as_f64().unwrap();
    let want = bytes(&golden().join(format!("{name}.png")));
    let mut want = want.as_slice();
    let mut compared = Compared {
        values: 0,
        off: 0,
        worst: 0,
    };
    let pictures = told["pictures"].as_object().unwrap();
    assert_eq!(pictures.len(), 50);
    for (file, expected) in pictures {
        let picture = picture(&golden().join("pictures").join(format!("{file}.png")));
        let prepared = processor.prepare(&picture).unwrap();
        let (values, planes) = match prepared.layout {
            Layout::Native(grid) => {
                let thw = &expected["grid"];
                assert_eq!(thw[1], grid.rows, "{name} {file}");
                assert_eq!(thw[2], grid.columns, "{name} {file}");
                let values = prepared.views[0].native(&grid);
                (values, grid.patch * grid.patch * grid.frames)
            }
            _ => {
                let view = &prepared.views[0];
                let all = prepared.views.iter().flat_map(|v| v.values.clone());
                (all.collect(), view.width * view.height)
            }
        };
        let shape: Vec<usize> = serde_json::from_value(expected["shape"].clone()).unwrap();
        assert_eq!(
            values.len(),
            shape.iter().product::<usize>(),
            "{name} {file} {shape:?}"
        );
        let least = values.iter().copied().fold(f32::INFINITY, f32::min);
        let most = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let mean = values.iter().map(|v| f64::from(*v)).sum::<f64>() / values.len() as f64;
        for (what, got, slack) in [
            ("least", f64::from(least), 0.016),
            ("most", f64::from(most), 0.016),
            ("mean", mean, 0.002),
        ] {
            let want = expected[what].as_f64().unwrap();
            assert!(
                (got - want).abs() < slack,
                "{name} {file}: {what} {got} {want}"
            );
        }
        for (i, value) in values.iter().enumerate() {
            let colour = i / planes % 3;
            let (mean, deviation) = (number("image_mean", colour), number("image_std", colour));
            let got = ((f64::from(*value) * deviation + mean) * 255.0).round() as i32;
            let away = (got - i32::from(want[i])).abs();
            compared.off += usize::from(away > 0);
            compared.worst = compared.worst.max(away);
            assert!(
                away <= 1,
                "{name} {file}: value {i} is {got}, not {}",
                want[i]
            );
        }
        compared.values += values.len();
        want = &want[values.len()..];
    }
    compared
}

#[test]
fn every_processor_gives_what_transformers_gives() {
    for name in [
        "clip",
        "clip_padded",
        "siglip",
        "llava",
        "llava_next",
        "idefics3",
        "smolvlm_whole",
        "qwen2_vl",
        "gemma3",
    ] {
        let compared = compare(name);
        println!(
            "{name}: {} of {} values differ, worst {}/255",
            compared.off, compared.values, compared.worst
        );
        assert!(compared.values > 30_000);
        // Pillow's arithmetic is followed to the last bit.
        assert_eq!(compared.off, 0, "{name}");
    }
}

/// Decoders of JPEG may differ by a little: libjpeg's and ours round differently.
#[test]
fn jpeg_files_are_read_nearly_as_pillow_reads_them() {
    for name in ["full", "halved", "progressive", "grey"] {
        let folder = golden().join("jpeg");
        let got = picture(&folder.join(format!("{name}.jpg")));
        let want = picture(&folder.join(format!("{name}.png")));
        assert_eq!((got.width(), got.height()), (want.width(), want.height()));
        let away = |(a, b): (&u8, &u8)| i32::from(*a).abs_diff(i32::from(*b));
        let all: Vec<u32> = got.rgb().iter().zip(want.rgb()).map(away).collect();
        let mean = f64::from(all.iter().sum::<u32>()) / all.len() as f64;
        let worst = all.iter().max().unwrap();
        println!("{name}: mean {mean:.3}, worst {worst}");
        assert!(
            mean < 0.5 && *worst <= 4,
            "{name}: mean {mean}, worst {worst}"
        );
    }
}
