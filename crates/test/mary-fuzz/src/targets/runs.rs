//! Run folders from elsewhere: logs, manifests, summaries of batches, and archives.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use mary_contract::{
    Ask, Capabilities, Exchange, Finish, Generate, Generated, Item, Judgement, Key, ModelCard,
    ModelSettings, Prompt, Reply, Request, Response, RunManifest, Sample, SampleId, Sampling,
    Target as Wanted, TaskRun, TaskSettings,
};
use mary_fetch::datasets::{Limits, unpack_tar_gz, unpack_zip};
use mary_store::{ExportForm, ImportOptions, PaidAnswers, RunFolder, export, import};
use tempfile::TempDir;

use super::{Target, Trouble};
use crate::mutate::{self, Dice};

/// The readers of this kind.
pub(super) fn all() -> Result<Vec<Box<dyn Target>>, Trouble> {
    let (folder, path) = run()?;
    let log = std::fs::read(path.join("samples.jsonl"))?;
    let manifest = std::fs::read(path.join("manifest.json"))?;
    drop(folder);
    Ok(vec![
        Box::new(Run::new("log", "samples.jsonl", log)?),
        Box::new(Run::new("manifest", "manifest.json", manifest)?),
        Box::new(Paid::new()?),
        Box::new(Archive::new(true)?),
        Box::new(Archive::new(false)?),
        Box::new(Exported::new("imported eval", ExportForm::InspectEval)?),
        Box::new(Exported::new("imported lm-eval", ExportForm::LmEval)?),
        Box::new(Exported::new("imported inspect", ExportForm::InspectJson)?),
    ])
}

fn manifest() -> Result<RunManifest, Trouble> {
    let mut card = ModelCard::new("builtin/small".parse()?, Capabilities::default());
    card.fingerprint = "f00d".into();
    Ok(RunManifest {
        schema: mary_store::SCHEMA,
        id: "run-1".into(),
        created: "2026-01-02T03:04:05Z".into(),
        version: "0.1.0".into(),
        command: vec!["mary".into(), "run".into()],
        models: vec![card],
        model_settings: ModelSettings::default(),
        judge: None,
        judge_choice: mary_contract::JudgeChoice::None,
        execution: mary_contract::ExecutionSettings::default(),
        tasks: vec![TaskRun {
            id: "htest/rhyme".into(),
            version: 1,
            content: None,
            settings: TaskSettings::default(),
            limit: None,
            conventions: [("ties".to_owned(), "one half".to_owned())].into(),
            dataset_hash: None,
            asked: None,
            judging: Default::default(),
            scoring: None,
            twin: None,
            imported: None,
            source: None,
        }],
        trials: 1,
        seed: 42,
    })
}

fn sample(n: usize) -> Result<Sample, Trouble> {
    let name = format!("item-{n:05}");
    let request = Request::Generate(Generate {
        prompt: Prompt::plain(format!("Does word {n} rhyme?\nA) yes\nB) no\n")),
        sampling: Sampling::greedy(4),
    });
    let key: Key = serde_json::from_value(format!("{n:064x}").into())?;
    let target = Wanted::Choice {
        question: format!("Does word {n} rhyme?"),
        options: vec!["yes".into(), "no".into()],
        correct: n % 2,
    };
    Ok(Sample {
        id: SampleId {
            model: "builtin/small".into(),
            task: "htest/rhyme".into(),
            item: name.clone(),
            trial: 0,
        },
        item: Item::new(name, target, vec![]).tagged("label", "A"),
        exchanges: vec![Exchange {
            key,
            ask: Ask::subject(request),
            reply: Ok(Reply::bare(Response::Generated(Generated {
                text: "A".into(),
                finish: Finish::Stop,
                reasoning: None,
            }))),
        }],
        judgement: Judgement::scored(1.0).measured("strict", 0.5),
    })
}

pub(super) fn run() -> Result<(TempDir, PathBuf), Trouble> {
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
struct Run {
    name: &'static str,
    good: Vec<u8>,
    lines: bool,
    file: PathBuf,
    path: PathBuf,
    _folder: TempDir,
}

impl Run {
    fn new(name: &'static str, file: &str, good: Vec<u8>) -> Result<Self, Trouble> {
        let (folder, path) = run()?;
        Ok(Self {
            name,
            good,
            lines: file.ends_with("jsonl"),
            file: path.join(file),
            path,
            _folder: folder,
        })
    }
}

impl Target for Run {
    fn name(&self) -> &'static str {
        self.name
    }

    fn make(&self, dice: &mut Dice) -> Vec<u8> {
        if self.lines {
            mutate::json_lines(&self.good, dice)
        } else {
            mutate::json_text(&self.good, dice)
        }
    }

    fn read(&mut self, bytes: &[u8]) -> bool {
        if std::fs::write(&self.file, bytes).is_err() {
            return false;
        }
        let reading = RunFolder::open(&self.path).is_ok_and(|run| {
            let samples = run.samples().map(|mut s| s.all(|s| s.is_ok()));
            let verdicts = run.verdicts().map(|mut v| v.all(|v| v.is_ok()));
            samples.is_ok_and(|ok| ok) && verdicts.is_ok_and(|ok| ok)
        });
        let writing = RunFolder::resume(&self.path).is_ok_and(|run| run.finished_ids().is_ok());
        // What healing put aside is not to grow from case to case.
        let _ = std::fs::remove_file(self.path.join("samples.jsonl.torn"));
        reading && writing
    }
}

/// The answers that an interrupted run has paid for.
struct Paid {
    good: Vec<u8>,
    folder: TempDir,
}

impl Paid {
    fn new() -> Result<Self, Trouble> {
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
        let good = std::fs::read(folder.path().join("paid.jsonl"))?;
        Ok(Self { good, folder })
    }
}

impl Target for Paid {
    fn name(&self) -> &'static str {
        "paid answers"
    }

    fn make(&self, dice: &mut Dice) -> Vec<u8> {
        mutate::json_lines(&self.good, dice)
    }

    fn read(&mut self, bytes: &[u8]) -> bool {
        if std::fs::write(self.folder.path().join("paid.jsonl"), bytes).is_err() {
            return false;
        }
        let Ok(mut paid) = PaidAnswers::open(self.folder.path(), 0.5) else {
            return false;
        };
        assert!(paid.dollars().is_finite() && paid.dollars() >= 0.0);
        let keys = (0..12).filter_map(|n| serde_json::from_value(format!("{n:064x}").into()).ok());
        let mut keys = keys.map(|key: Key| paid.recall(&key));
        keys.all(|recalled| recalled.is_ok())
    }
}

/// An archive of a dataset.
struct Archive {
    good: Vec<u8>,
    tar: bool,
    folder: TempDir,
}

impl Archive {
    fn new(tar: bool) -> Result<Self, Trouble> {
        let text = "a line of a dataset\n".repeat(200);
        let good = if tar {
            let gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            let mut archive = tar::Builder::new(gz);
            for name in ["data/a.txt", "data/b.txt", "data/deep/c.txt"] {
                let mut header = tar::Header::new_gnu();
                header.set_size(text.len() as u64);
                header.set_mode(0o644);
                header.set_cksum();
                archive.append_data(&mut header, name, text.as_bytes())?;
            }
            archive.into_inner()?.finish()?
        } else {
            let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
            for name in ["data/a.txt", "data/b.txt", "data/deep/c.txt"] {
                archive.start_file(name, zip::write::SimpleFileOptions::default())?;
                archive.write_all(text.as_bytes())?;
            }
            archive.finish()?.into_inner()
        };
        Ok(Self {
            good,
            tar,
            folder: tempfile::tempdir()?,
        })
    }
}

impl Target for Archive {
    fn name(&self) -> &'static str {
        if self.tar { "tar.gz" } else { "zip" }
    }

    fn make(&self, dice: &mut Dice) -> Vec<u8> {
        if !self.tar || dice.roll(3) == 0 {
            let mut bytes = self.good.clone();
            mutate::blind(&mut bytes, dice);
            return bytes;
        }
        // Inside the compression, where names and sizes are; the header's sum is put right again.
        let mut plain = Vec::new();
        let _ = std::io::Read::read_to_end(
            &mut flate2::read::GzDecoder::new(self.good.as_slice()),
            &mut plain,
        );
        let headers = [0, 4_608, 9_216];
        let start = dice.pick(&headers).copied().unwrap_or(0);
        for _ in 0..=dice.roll(3) {
            let at = start + dice.roll(345);
            let byte = dice.pick(b"/.\0\\7120A~").copied().unwrap_or(0);
            mutate::overwrite(&mut plain, at, &[byte]);
        }
        if let Some(header) = plain.get(start..start + 512) {
            let sum: u32 = header
                .iter()
                .enumerate()
                .map(|(i, b)| {
                    if (148..156).contains(&i) {
                        32
                    } else {
                        u32::from(*b)
                    }
                })
                .sum();
            let sum = format!("{sum:06o}\0 ");
            mutate::overwrite(&mut plain, start + 148, sum.as_bytes());
        }
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let _ = gz.write_all(&plain);
        gz.finish().unwrap_or_default()
    }

    fn read(&mut self, bytes: &[u8]) -> bool {
        let outside = self.folder.path().join("outside");
        let file = self.folder.path().join("archive");
        let into = self.folder.path().join("inside/here");
        let _ = std::fs::remove_dir_all(self.folder.path().join("inside"));
        if std::fs::write(&file, bytes).is_err() || std::fs::create_dir_all(&into).is_err() {
            return false;
        }
        let choose = |path: &Path| Some(path.to_owned());
        let limits = Limits::default();
        let unpacked = if self.tar {
            unpack_tar_gz(&file, &into, limits, &choose)
        } else {
            unpack_zip(&file, &into, limits, &choose)
        };
        assert!(!outside.exists(), "an entry left its folder");
        let beside = std::fs::read_dir(self.folder.path().join("inside")).map(Iterator::count);
        assert!(beside.is_ok_and(|n| n == 1), "an entry left its folder");
        unpacked.is_ok()
    }
}

/// A file of another tool, as we write it ourselves.
struct Exported {
    name: &'static str,
    good: Vec<u8>,
    ending: String,
    folder: TempDir,
}

impl Exported {
    fn new(name: &'static str, form: ExportForm) -> Result<Self, Trouble> {
        let (_kept, path) = run()?;
        let folder = tempfile::tempdir()?;
        let written = export(&RunFolder::open(&path)?, form, folder.path())?;
        let file = written
            .iter()
            .find(|f| f.extension().is_some_and(|e| e == "eval" || e == "jsonl"))
            .or(written.first())
            .ok_or("nothing was exported")?;
        let ending = file.extension().unwrap_or_default();
        Ok(Self {
            name,
            good: std::fs::read(file)?,
            ending: ending.to_string_lossy().into_owned(),
            folder: tempfile::tempdir()?,
        })
    }
}

impl Target for Exported {
    fn name(&self) -> &'static str {
        self.name
    }

    fn make(&self, dice: &mut Dice) -> Vec<u8> {
        if self.ending == "jsonl" {
            return mutate::json_lines(&self.good, dice);
        }
        if self.ending == "json" {
            return mutate::json_text(&self.good, dice);
        }
        let mut bytes = self.good.clone();
        mutate::blind(&mut bytes, dice);
        bytes
    }

    fn read(&mut self, bytes: &[u8]) -> bool {
        let file = self.folder.path().join(format!("file.{}", self.ending));
        let root = self.folder.path().join("runs");
        let _ = std::fs::remove_dir_all(&root);
        std::fs::write(&file, bytes).is_ok() && import(&file, &named(), &root).is_ok()
    }
}

/// Names for what a file does not name itself.
fn named() -> ImportOptions {
    ImportOptions {
        model: Some("imported/model".into()),
        task: Some("htest/rhyme".into()),
        score: None,
    }
}
