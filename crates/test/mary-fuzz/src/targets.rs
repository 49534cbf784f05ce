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

/// One reader.
pub trait Target {
    /// Its name, part of what names a case.
    fn name(&self) -> &'static str;

    /// The bytes of a case.
    fn make(&self, dice: &mut Dice) -> Vec<u8>;

    /// Reads them as Mary would; whether it found nothing wrong.
    fn read(&mut self, bytes: &[u8]) -> bool;
}

/// What could not be set up.
pub type Trouble = Box<dyn std::error::Error>;

/// All readers. `golden` is the folder of small right files.
pub fn all(golden: &Path) -> Result<Vec<Box<dyn Target>>, Trouble> {
    let mut targets = files(golden)?;
    targets.extend(replies::all()?);
    targets.extend(own::all()?);
    Ok(targets)
}

/// Those of models, adapters, run folders, archives and imports, which need no server.
pub fn files(golden: &Path) -> Result<Vec<Box<dyn Target>>, Trouble> {
    let mut targets: Vec<Box<dyn Target>> = Vec::new();
    for name in ["llama", "gpt2", "spm", "gemma3"] {
        targets.push(Box::new(Gguf::new(golden, name)?));
    }
    let folder = [
        ("safetensors", "model.safetensors", Form::Safetensors),
        ("config", "config.json", Form::Json),
        ("tokenizer", "tokenizer.json", Form::Json),
        ("tokenizer config", "tokenizer_config.json", Form::Json),
        ("template", "chat_template.jinja", Form::Template),
    ];
    for (name, file, form) in folder {
        targets.push(Box::new(Folder::new(golden, name, file, form)?));
    }
    targets.push(Box::new(Pickle::new(golden)?));
    targets.extend(hostile::all(golden)?);
    targets.extend(runs::all()?);
    Ok(targets)
}

/// Opens a checkpoint and uses everything in it.
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

struct Gguf {
    name: &'static str,
    good: Vec<u8>,
    places: Vec<usize>,
    file: PathBuf,
    _folder: TempDir,
}

impl Gguf {
    fn new(golden: &Path, name: &'static str) -> Result<Self, Trouble> {
        let good = std::fs::read(golden.join(format!("{name}.gguf")))?;
        let folder = tempfile::tempdir()?;
        Ok(Self {
            name: match name {
                "llama" => "gguf llama",
                "gpt2" => "gguf gpt2",
                "spm" => "gguf sentencepiece",
                _ => "gguf gemma3",
            },
            places: mutate::gguf_places(&good),
            good,
            file: folder.path().join("m.gguf"),
            _folder: folder,
        })
    }
}

impl Target for Gguf {
    fn name(&self) -> &'static str {
        self.name
    }

    fn make(&self, dice: &mut Dice) -> Vec<u8> {
        mutate::numbers_at(&self.good, &self.places, dice)
    }

    fn read(&mut self, bytes: &[u8]) -> bool {
        std::fs::write(&self.file, bytes).is_ok() && use_everything(&self.file)
    }
}

#[derive(Clone, Copy)]
enum Form {
    Safetensors,
    Json,
    Template,
}

/// One file of a Hugging Face folder.
struct Folder {
    name: &'static str,
    good: Vec<u8>,
    form: Form,
    file: PathBuf,
    folder: TempDir,
}

impl Folder {
    fn new(golden: &Path, name: &'static str, file: &str, form: Form) -> Result<Self, Trouble> {
        let folder = tempfile::tempdir()?;
        for entry in std::fs::read_dir(golden.join("llama"))? {
            let entry = entry?;
            std::fs::copy(entry.path(), folder.path().join(entry.file_name()))?;
        }
        Ok(Self {
            name,
            good: std::fs::read(golden.join("llama").join(file))?,
            form,
            file: folder.path().join(file),
            folder,
        })
    }
}

/// Pieces of templates that grow, loop, recurse and ask for what is not there.
const TEMPLATE_PIECES: [&str; 22] = [
    "{% set x = 'ab' %}{% for i in range(60) %}{% set x = x ~ x %}{% endfor %}",
    "{% set ns = namespace(x='ab') %}{% for i in range(60) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
    "{% set ns = namespace(x=[1, 2]) %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
    "{{ 'a' * 99999999 }}",
    "{{ [0] * 99999999 }}",
    "{% for i in range(100000) %}{% for j in range(100000) %}x{% endfor %}{% endfor %}",
    "{% macro m(n) %}{{ m(n + 1) }}{% endmacro %}{{ m(0) }}",
    "{% macro d(s, n) %}{% if n %}{{ d(s ~ s, n - 1) }}{% endif %}{% endmacro %}{{ d('ab', 60) }}",
    "{{ 'aaaa' | replace('a', 'a' * 100000) | replace('a', 'b' * 100000) }}",
    "{{ messages[99999999999999999999] }}",
    "{{ messages[0].content.nothing.at.all }}",
    "{{ raise_exception('no') }}",
    "{{ strftime_now('%Q%%%') }}",
    "{{ messages | tojson(indent=99999999) }}",
    "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x ~ '' }}",
    "{% macro d(s, n) %}{% if n %}{{ d([s, s], n - 1) }}{% else %}{{ s|string }}{% endif %}{% endmacro %}{{ d([1], 60) }}",
    "{% macro d(s, n) %}{% if n %}{{ d({'a': s, 'b': s}, n - 1) }}{% else %}{{ s|tojson }}{% endif %}{% endmacro %}{{ d(1, 60) }}",
    "{% set x = 'a' * 200000 %}{% set y %}{% for i in range(9999) %}{{ x }}{% endfor %}{% endset %}{{ y|length }}",
    "{% macro m() %}{% for i in range(9999) %}{% for j in range(9999) %}a text that is written{% endfor %}{% endfor %}{% endmacro %}{{ m()|length }}",
    "{{ [1]|batch(99999999999, 0) }}{{ [1]|slice(99999999999) }}",
    "{{ 'a'.join([1] * 200000) }}{{ ('a' * 1000)|list|join('b' * 1000) }}",
    "{% for i in range(99999) %}{% for j in range(99999) %}{% if 'a' * 1000 == 'b' * 1000 %}{% endif %}{% endfor %}{% endfor %}",
];

/// A template with a piece put in, doubled or taken out between two tags.
fn template(good: &[u8], dice: &mut Dice) -> Vec<u8> {
    let text = String::from_utf8_lossy(good).into_owned();
    let mut cuts: Vec<usize> = text.match_indices("{%").map(|(at, _)| at).collect();
    cuts.push(text.len());
    let at = dice.pick(&cuts).copied().unwrap_or(0);
    let (before, after) = text.split_at(at);
    let piece = dice.pick(&TEMPLATE_PIECES).copied().unwrap_or_default();
    match dice.roll(5) {
        0 => {
            let mut bytes = good.to_vec();
            mutate::blind(&mut bytes, dice);
            bytes
        }
        1 => format!("{before}{after}{after}").into_bytes(),
        2 => before.as_bytes().to_vec(),
        _ => format!("{before}{piece}{after}").into_bytes(),
    }
}

impl Target for Folder {
    fn name(&self) -> &'static str {
        self.name
    }

    fn make(&self, dice: &mut Dice) -> Vec<u8> {
        match self.form {
            Form::Safetensors => mutate::safetensors(&self.good, dice),
            Form::Json => mutate::json_text(&self.good, dice),
            Form::Template => template(&self.good, dice),
        }
    }

    fn read(&mut self, bytes: &[u8]) -> bool {
        std::fs::write(&self.file, bytes).is_ok() && use_everything(self.folder.path())
    }
}

/// The pickle inside a torch checkpoint, with the archive's checksums put right again, so that the
/// pickle itself is read.
struct Pickle {
    good: Vec<u8>,
    program: std::ops::Range<usize>,
    file: PathBuf,
    folder: TempDir,
}

impl Pickle {
    fn new(golden: &Path) -> Result<Self, Trouble> {
        let good = std::fs::read(golden.join("state.bin"))?;
        let folder = tempfile::tempdir()?;
        for name in ["config.json", "tokenizer.json"] {
            std::fs::copy(golden.join("llama").join(name), folder.path().join(name))?;
        }
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
        drop(archive);
        Ok(Self {
            good,
            program,
            file: folder.path().join("pytorch_model.bin"),
            folder,
        })
    }
}

fn crc(bytes: &[u8]) -> [u8; 4] {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum().to_le_bytes()
}

impl Target for Pickle {
    fn name(&self) -> &'static str {
        "pickle"
    }

    fn make(&self, dice: &mut Dice) -> Vec<u8> {
        let mut bytes = self.good.clone();
        let Some(old) = self.good.get(self.program.clone()) else {
            return bytes;
        };
        if dice.roll(4) == 0 || old.is_empty() {
            mutate::blind(&mut bytes, dice);
            return bytes;
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
                _ => mutate::overwrite(
                    &mut program,
                    at,
                    &[u8::try_from(dice.roll(256)).unwrap_or(0)],
                ),
            }
        }
        let (was, is) = (crc(old), crc(&program));
        mutate::overwrite(&mut bytes, self.program.start, &program);
        let places: Vec<usize> = bytes
            .windows(4)
            .enumerate()
            .filter(|(_, w)| **w == was)
            .map(|(at, _)| at)
            .collect();
        for at in places {
            mutate::overwrite(&mut bytes, at, &is);
        }
        bytes
    }

    fn read(&mut self, bytes: &[u8]) -> bool {
        std::fs::write(&self.file, bytes).is_ok() && use_everything(self.folder.path())
    }
}
