//! Run folders from elsewhere: logs, manifests, summaries of batches, and archives.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use mary_contract::{
    Ask, Capabilities, Exchange, Generate, Generated, Item, Judgement, Key, ModelCard, Prompt,
    Reply, Request, Response, RunManifest, Sample, SampleId, Sampling, Target as ItemTarget,
    TaskRun,
};
use mary_fetch::datasets::{Limits, unpack_tar_gz, unpack_zip};
use mary_store::{ExportForm, ImportOptions, PaidAnswers, RunFolder, export, import};
use tempfile::TempDir;

use super::{BLIND, JSON, LINES, Result, Target};
use crate::mutate::{self, Dice};

pub(super) fn all() -> Result<Vec<Target>> {
    Ok(vec![
        of_run("log", "samples.jsonl")?,
        of_run("manifest", "manifest.json")?,
        paid()?,
        archive("tar.gz", tar_gz()?)?,
        archive("zip", zip()?)?,
        exported("imported eval", ExportForm::InspectEval)?,
        exported("imported lm-eval", ExportForm::LmEval)?,
        exported("imported inspect", ExportForm::InspectJson)?,
    ])
}

fn manifest() -> Result<RunManifest> {
    let mut card = ModelCard::new("builtin/small".parse()?, Capabilities::default());
    card.fingerprint = "f00d".into();
    Ok(RunManifest {
        schema: mary_store::SCHEMA,
        id: "run-1".into(),
        created: "2026-01-02T03:04:05Z".into(),
        version: "0.1.0".into(),
        command: vec!["mary".into(), "run".into()],
        models: vec![card],
        tasks: vec![TaskRun {
            id: "htest/rhyme".into(),
            version: 1,
            conventions: [("ties".to_owned(), "one half".to_owned())].into(),
            ..TaskRun::default()
        }],
        trials: 1,
        seed: 42,
        ..RunManifest::default()
    })
}

fn sample(n: usize) -> Result<Sample> {
    let name = format!("item-{n:05}");
    let request = Request::Generate(Generate {
        prompt: Prompt::plain(format!("Does word {n} rhyme?\nA) yes\nB) no\n")),
        sampling: Sampling::greedy(4),
    });
    let key: Key = serde_json::from_value(format!("{n:064x}").into())?;
    let target = ItemTarget::Choice {
        question: format!("Does word {n} rhyme?"),
        options: vec!["yes".into(), "no".into()],
        correct: n % 2,
    };
    Ok(Sample {
        id: SampleId::new("builtin/small", "htest/rhyme", name.clone(), 0),
        item: Item::new(name, target, vec![]).tagged("label", "A"),
        exchanges: vec![Exchange {
            key,
            ask: Ask::subject(request),
            reply: Ok(Reply::bare(Response::Generated(Generated::whole(
                "A".into(),
            )))),
        }],
        judgement: Judgement::scored(1.0).measured("strict", 0.5),
    })
}

pub(super) fn run() -> Result<(TempDir, PathBuf)> {
    let folder = tempfile::tempdir()?;
    let mut run = RunFolder::create_or_open(folder.path(), &manifest()?)?;
    for n in 0..12 {
        run.append(&sample(n)?)?;
    }
    run.flush()?;
    let path = run.path().to_owned();
    Ok((folder, path))
}

/// One file of a run folder.
fn of_run(name: &'static str, file: &str) -> Result<Target> {
    let (folder, path) = run()?;
    let mutate = if name == "log" { LINES } else { JSON };
    Target::of_file(name, path.join(file), mutate, move || {
        let _kept = &folder;
        let reading = RunFolder::open(&path).is_ok_and(|run| {
            let samples = run.samples().map(|mut s| s.all(|s| s.is_ok()));
            let verdicts = run.verdicts().map(|mut v| v.all(|v| v.is_ok()));
            samples.is_ok_and(|ok| ok) && verdicts.is_ok_and(|ok| ok)
        });
        let writing = RunFolder::resume(&path).is_ok_and(|run| run.finished_ids().is_ok());
        // What healing put aside is not to grow from case to case.
        let _ = std::fs::remove_file(path.join("samples.jsonl.torn"));
        reading && writing
    })
}

fn paid() -> Result<Target> {
    let folder = tempfile::tempdir()?;
    let mut paid = PaidAnswers::open(folder.path(), 0.5)?;
    for n in 0..12 {
        for exchange in sample(n)?.exchanges {
            if let Ok(mut reply) = exchange.reply {
                reply.meta.usage.cost = Some(0.25);
                paid.keep(&exchange.key, &reply)?;
            }
        }
    }
    drop(paid);
    let file = folder.path().join("paid.jsonl");
    Target::of_file("paid answers", file, mutate::json_lines, move || {
        let Ok(mut paid) = PaidAnswers::open(folder.path(), 0.5) else {
            return false;
        };
        assert!(paid.dollars().is_finite() && paid.dollars() >= 0.0);
        let keys = (0..12).filter_map(|n| serde_json::from_value(format!("{n:064x}").into()).ok());
        let mut keys = keys.map(|key: Key| paid.recall(&key));
        keys.all(|recalled| recalled.is_ok())
    })
}

const MEMBERS: [&str; 3] = ["data/a.txt", "data/b.txt", "data/deep/c.txt"];

fn member() -> String {
    "a line of a dataset\n".repeat(200)
}

fn tar_gz() -> Result<Vec<u8>> {
    let gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut archive = tar::Builder::new(gz);
    for name in MEMBERS {
        let mut header = tar::Header::new_gnu();
        header.set_size(member().len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        archive.append_data(&mut header, name, member().as_bytes())?;
    }
    Ok(archive.into_inner()?.finish()?)
}

fn zip() -> Result<Vec<u8>> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for name in MEMBERS {
        archive.start_file(name, zip::write::SimpleFileOptions::default())?;
        archive.write_all(member().as_bytes())?;
    }
    Ok(archive.finish()?.into_inner())
}

fn damaged_tar(good: &[u8], dice: &mut Dice) -> Vec<u8> {
    if dice.roll(3) == 0 {
        return mutate::blinded(good, dice);
    }
    // Inside the compression, where names and sizes are; the header's sum is put right again.
    let mut plain = Vec::new();
    let _ = std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(good), &mut plain);
    let headers = [0, 4_608, 9_216];
    let start = dice.pick(&headers).copied().unwrap_or(0);
    for _ in 0..=dice.roll(3) {
        let at = start + dice.roll(345);
        let byte = dice.pick(b"/.\0\\7120A~").copied().unwrap_or(0);
        mutate::overwrite(&mut plain, at, &[byte]);
    }
    if let Some(header) = plain.get(start..start + 512) {
        let (own, blank) = (&header[148..156], 8 * 32);
        let sum = |bytes: &[u8]| bytes.iter().map(|b| u32::from(*b)).sum::<u32>();
        let sum = sum(header) - sum(own) + blank;
        let sum = format!("{sum:06o}\0 ");
        mutate::overwrite(&mut plain, start + 148, sum.as_bytes());
    }
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let _ = gz.write_all(&plain);
    gz.finish().unwrap_or_default()
}

fn archive(name: &'static str, good: Vec<u8>) -> Result<Target> {
    let folder = tempfile::tempdir()?;
    let mutate = match name {
        "tar.gz" => damaged_tar,
        _ => mutate::blinded,
    };
    let file = folder.path().join("archive");
    std::fs::write(&file, good)?;
    Target::of_file(name, file.clone(), mutate, move || {
        let inside = folder.path().join("inside");
        let into = inside.join("here");
        let _ = std::fs::remove_dir_all(&inside);
        if std::fs::create_dir_all(&into).is_err() {
            return false;
        }
        let choose = |path: &Path| Some(path.to_owned());
        let limits = Limits::default();
        let unpacked = match name {
            "tar.gz" => unpack_tar_gz(&file, &into, limits, &choose),
            _ => unpack_zip(&file, &into, limits, &choose),
        };
        let outside = folder.path().join("outside");
        assert!(!outside.exists(), "an entry left its folder");
        let beside = std::fs::read_dir(&inside).map(Iterator::count);
        assert!(beside.is_ok_and(|n| n == 1), "an entry left its folder");
        unpacked.is_ok()
    })
}

/// A file of another tool, as we write it ourselves.
fn exported(name: &'static str, form: ExportForm) -> Result<Target> {
    let (_kept, path) = run()?;
    let folder = tempfile::tempdir()?;
    let written = export(&RunFolder::open(&path)?, form, folder.path())?;
    let file = written
        .iter()
        .find(|f| f.extension().is_some_and(|e| e == "eval" || e == "jsonl"))
        .or(written.first())
        .ok_or("nothing was exported")?
        .clone();
    let mutate = match file.extension().and_then(|e| e.to_str()) {
        Some("jsonl") => LINES,
        Some("json") => JSON,
        _ => BLIND,
    };
    // Names for what a file does not name itself.
    let options = ImportOptions {
        model: Some("imported/model".into()),
        task: Some("htest/rhyme".into()),
        score: None,
    };
    Target::of_file(name, file.clone(), mutate, move || {
        let root = folder.path().join("runs");
        let _ = std::fs::remove_dir_all(&root);
        import(&file, &options, &root).is_ok()
    })
}
