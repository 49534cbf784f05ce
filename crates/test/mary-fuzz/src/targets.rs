//! The readers that meet foreign bytes, each with a file that is right to begin with and a way to get
//! it nearly right.

use std::path::{Path, PathBuf};

use mary_contract::Prompt;
use mary_local::config::Architecture;
use mary_weights::Checkpoint;
use tempfile::TempDir;

use crate::mutate::{self, Dice};

mod hostile;
mod own;
mod replies;
mod runs;

pub struct Target {
    /// Part of what names a case.
    pub name: &'static str,
    make: Make,
    read: Read,
}

type Make = Box<dyn Fn(&mut Dice) -> Vec<u8>>;
type Read = Box<dyn FnMut(&[u8]) -> bool>;
type Mutation = fn(&[u8], &mut Dice) -> Vec<u8>;

const JSON: Mutation = mutate::json_text;
const LINES: Mutation = mutate::json_lines;
const BLIND: Mutation = mutate::blinded;

impl Target {
    fn new(
        name: &'static str,
        make: impl Fn(&mut Dice) -> Vec<u8> + 'static,
        read: impl FnMut(&[u8]) -> bool + 'static,
    ) -> Self {
        Self {
            name,
            make: Box::new(make),
            read: Box::new(read),
        }
    }

    /// A file that is right as it lies there: it is mutated and written back before each reading.
    fn of_file(
        name: &'static str,
        file: PathBuf,
        mutate: impl Fn(&[u8], &mut Dice) -> Vec<u8> + 'static,
        mut read: impl FnMut() -> bool + 'static,
    ) -> Result<Self> {
        let good = std::fs::read(&file)?;
        Ok(Self::new(
            name,
            move |dice| mutate(&good, dice),
            move |bytes| std::fs::write(&file, bytes).is_ok() && read(),
        ))
    }

    fn of_checkpoint(
        name: &'static str,
        folder: TempDir,
        file: &str,
        mutate: impl Fn(&[u8], &mut Dice) -> Vec<u8> + 'static,
    ) -> Result<Self> {
        let path = folder.path().join(file);
        Self::of_file(name, path, mutate, move || use_everything(folder.path()))
    }

    pub fn make(&self, dice: &mut Dice) -> Vec<u8> {
        (self.make)(dice)
    }

    /// Reads them as Mary would; whether it found nothing wrong.
    pub fn read(&mut self, bytes: &[u8]) -> bool {
        (self.read)(bytes)
    }
}

const WEIGHTS: &str = "model.safetensors";

pub type SetupError = Box<dyn std::error::Error>;
pub type Result<T, E = SetupError> = std::result::Result<T, E>;

/// All readers. `golden` is the folder of small right files.
pub fn all(golden: &Path) -> Result<Vec<Target>> {
    let mut targets = files(golden)?;
    targets.extend(replies::all()?);
    targets.extend(own::all()?);
    Ok(targets)
}

/// Those of models, adapters, run folders, archives and imports, which need no server.
pub fn files(golden: &Path) -> Result<Vec<Target>> {
    let mut targets = Vec::new();
    for (name, from) in [
        ("gguf llama", "llama.gguf"),
        ("gguf gpt2", "gpt2.gguf"),
        ("gguf sentencepiece", "spm.gguf"),
        ("gguf gemma3", "gemma3.gguf"),
    ] {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("m.gguf");
        std::fs::copy(golden.join(from), &file)?;
        let places = mutate::gguf_places(&std::fs::read(&file)?);
        let mutate = move |good: &[u8], dice: &mut Dice| mutate::numbers_at(good, &places, dice);
        let read = move || use_everything(&folder.path().join("m.gguf"));
        targets.push(Target::of_file(name, file, mutate, read)?);
    }
    let parts: [(_, _, Mutation); 5] = [
        ("safetensors", WEIGHTS, mutate::safetensors),
        ("config", "config.json", JSON),
        ("tokenizer", "tokenizer.json", JSON),
        ("tokenizer config", "tokenizer_config.json", JSON),
        ("template", "chat_template.jinja", template),
    ];
    for (name, file, mutation) in parts {
        let folder = copied(golden, &["llama"], "")?;
        targets.push(Target::of_checkpoint(name, folder, file, mutation)?);
    }
    let hub = golden.join("../../../mary-local/tests/golden_hub");
    let weights = "gptq_order awq ct_int4_zeros fp8_block bnb_nf4_double mxfp4 ct_nvfp4 gpt_oss";
    let families = "../golden/mamba2 ../golden/bamba ../golden/gpt_bert_babylm ../golden/cohere2 ../golden/qwen3_next \
        ../golden/lfm2 ../golden/deepseek_v3";
    let formats: [(&str, _, Mutation); 3] = [
        (families, "config.json", JSON),
        (weights, WEIGHTS, mutate::safetensors),
        ("gptq ct_fp8_block bnb_nf4", "config.json", JSON),
    ];
    for (names, file, mutation) in formats {
        for name in names.split(' ') {
            let folder = copied(&hub, &[name], "golden.json")?;
            let name = name.trim_start_matches("../golden/");
            targets.push(Target::of_checkpoint(name, folder, file, mutation)?);
        }
    }
    targets.push(pickle(golden)?);
    targets.extend(hostile::all(golden)?);
    targets.extend(runs::all()?);
    Ok(targets)
}

/// A folder with the files of these golden folders, but for one.
fn copied(golden: &Path, from: &[&str], without: &str) -> Result<TempDir> {
    let folder = tempfile::tempdir()?;
    for from in from {
        for entry in std::fs::read_dir(golden.join(from))? {
            let entry = entry?;
            if entry.file_name() != without {
                std::fs::copy(entry.path(), folder.path().join(entry.file_name()))?;
            }
        }
    }
    Ok(folder)
}

fn use_everything(path: &Path) -> bool {
    let Ok(checkpoint) = Checkpoint::open(path) else {
        return false;
    };
    for name in checkpoint.tensor_names() {
        let _ = (checkpoint.read_f32(name), checkpoint.read_raw(name));
    }
    let tokenizer = checkpoint.tokenizer();
    let _ = tokenizer.encode("a text <|im_end|> 123 é aaaaaaaaaaaaaaaaaaaaaaaa!", true);
    let _ = tokenizer.decode(&[0, 1, 2, 300, u32::MAX]);
    if let Some(template) = checkpoint.template() {
        let _ = template.render(&Prompt::chat("hello"), true);
    }
    Architecture::resolve(checkpoint.config()).is_ok()
}

/// Pieces of templates that grow, loop, recurse and ask for what is not there.
fn template_pieces() -> Vec<&'static str> {
    include_str!("targets/good/template_pieces.txt")
        .lines()
        .collect()
}

/// A template with a piece put in, doubled or taken out between two tags.
fn template(good: &[u8], dice: &mut Dice) -> Vec<u8> {
    let text = String::from_utf8_lossy(good).into_owned();
    let mut cuts: Vec<usize> = text.match_indices("{%").map(|(at, _)| at).collect();
    cuts.push(text.len());
    let at = dice.pick(&cuts).copied().unwrap_or(0);
    let (before, after) = text.split_at(at);
    let piece = dice.pick(&template_pieces()).copied().unwrap_or_default();
    match dice.roll(5) {
        0 => mutate::blinded(good, dice),
        1 => format!("{before}{after}{after}").into_bytes(),
        2 => before.as_bytes().to_vec(),
        _ => format!("{before}{piece}{after}").into_bytes(),
    }
}

/// The pickle inside a torch checkpoint, with the archive's checksums put right again, so that the
/// pickle itself is read.
fn pickle(golden: &Path) -> Result<Target> {
    let good = std::fs::read(golden.join("state.bin"))?;
    let folder = tempfile::tempdir()?;
    for name in ["config.json", "tokenizer.json"] {
        std::fs::copy(golden.join("llama").join(name), folder.path().join(name))?;
    }
    std::fs::write(folder.path().join("pytorch_model.bin"), &good)?;
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(&good))?;
    let mut program = 0..0;
    for index in 0..archive.len() {
        let entry = archive.by_index(index)?;
        let is_it = entry.name().is_ok_and(|n| n.ends_with("data.pkl"));
        if let (true, Some(start)) = (is_it, entry.data_start()) {
            let start = usize::try_from(start)?;
            program = start..start + usize::try_from(entry.compressed_size())?;
        }
    }
    let mutate = move |good: &[u8], dice: &mut Dice| pickled(good, program.clone(), dice);
    Target::of_checkpoint("pickle", folder, "pytorch_model.bin", mutate)
}

fn crc(bytes: &[u8]) -> [u8; 4] {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum().to_le_bytes()
}

fn pickled(good: &[u8], place: std::ops::Range<usize>, dice: &mut Dice) -> Vec<u8> {
    let Some(old) = good.get(place.clone()) else {
        return good.to_vec();
    };
    if dice.roll(4) == 0 || old.is_empty() {
        return mutate::blinded(good, dice);
    }
    let mut program = old.to_vec();
    for _ in 0..=dice.roll(3) {
        let at = dice.roll(program.len());
        match dice.roll(3) {
            0 => mutate::extreme(&mut program, at, dice),
            1 => {
                // One instruction becomes another.
                let other = program.get(dice.roll(program.len())).copied();
                mutate::overwrite(&mut program, at, other.as_slice());
            }
            _ => mutate::any_byte(&mut program, at, dice),
        }
    }
    let (was, is) = (crc(old), crc(&program));
    let mut bytes = good.to_vec();
    mutate::overwrite(&mut bytes, place.start, &program);
    let sums = bytes.windows(4).enumerate().filter(|(_, w)| **w == was);
    let places: Vec<usize> = sums.map(|(at, _)| at).collect();
    for at in places {
        mutate::overwrite(&mut bytes, at, &is);
    }
    bytes
}
