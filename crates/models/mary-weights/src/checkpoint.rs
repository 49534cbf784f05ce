//! A checkpoint: tensors by their Hugging Face names, configuration, tokenizer and chat template.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use mary_contract::{NamedToken, Start, StartTokens, TEXT_ENDS};
use serde_json::Value;

use crate::fault::{Result, bad_request};
use crate::folder::{Sidecars, Weights};
use crate::gguf::{Additions, Gguf, parts, projector::Projector, rewrite};
use crate::mapped::{Mapped, RawBytes};
use crate::packed::{self, Packed};
use crate::stored::Stored;
use crate::{ChatTemplate, TensorInfo, Tokenizer, bounds, fault, remembered, tokenizer};

#[derive(Debug, Clone, Copy)]
pub struct EmbeddedFiles<'a> {
    pub config: &'a [u8],
    pub tokenizer: &'a [u8],
    pub tokenizer_config: Option<&'a [u8]>,
    pub safetensors: &'a [u8],
}

/// Models whose code lies beside them and whose files name no type, or one of their own: told by a tensor.
const OWN_CODE: [(&str, &str); 3] = [
    ("transformer.dwa_modules.alphas.0", "ltg_gpt_bert"),
    ("model.dwa_modules.alphas.0", "gpt_bert"),
    (
        "transformer.layers.0.attention.in_proj_qk.weight",
        "ltgbert",
    ),
];

/// An open checkpoint: a Hugging Face folder, a GGUF file or a model compiled into the binary.
/// Files are mapped, not read.
pub struct Checkpoint {
    files: Vec<Mapped>,
    tensors: BTreeMap<String, Stored>,
    /// Matrices that are made of several tensors.
    packed: Packed,
    config: Value,
    tokenizer: Tokenizer,
    template: Option<ChatTemplate>,
    /// `preprocessor_config.json` and `processor_config.json`, where they are there.
    processors: [Option<Value>; 2],
    /// Hash of each small file that says what the model is, by its role.
    described: Vec<(&'static str, blake3::Hash)>,
    fingerprint: OnceLock<String>,
}

impl std::fmt::Debug for Checkpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Checkpoint")
            .field(
                "files",
                &self.files.iter().map(|m| &m.path).collect::<Vec<_>>(),
            )
            .field("tensors", &self.tensors.len())
            .finish_non_exhaustive()
    }
}

impl Checkpoint {
    /// Opens a folder (Hugging Face layout, or with one `.gguf` file in it) or a `.gguf` file.
    /// Reads headers only; checks files, index, sizes, offsets, and that the tokenizer fits.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_with(path, None)
    }

    /// The same with the tokenizer of another folder, for models that are published without one.
    pub fn open_with(path: &Path, tokenizer: Option<&Path>) -> Result<Self> {
        if !path.exists() {
            return Err(fault::missing(path, "no such file or folder"));
        }
        let gguf = match path.is_dir() {
            false => Some(path.to_owned()),
            true if path.join("config.json").exists() => None,
            true => only_gguf(path)?,
        };
        if let Some(gguf) = gguf {
            return match tokenizer {
                None => Self::open_gguf(&gguf, None),
                Some(_) => Err(bad_request(format!(
                    "{}: a GGUF file has its own tokenizer",
                    gguf.display()
                ))
                .hint("leave out --model-arg tokenizer=…")),
            };
        }
        let mut sidecars = Sidecars::read(path)?;
        if let Some(folder) = tokenizer {
            sidecars = sidecars.with_tokenizer(folder)?;
        }
        let config = sidecars.config()?;
        Self::assemble(&sidecars, config, Weights::open(path)?)
    }

    /// Opens a GGUF file with a tower for pictures that lies in another file (`mmproj`).
    pub fn open_seeing(path: &Path, projector: &Path) -> Result<Self> {
        for file in [path, projector] {
            if !file.is_file() {
                return Err(fault::missing(file, "no such file"));
            }
        }
        Self::open_gguf(path, Some(projector))
    }

    pub fn from_embedded(files: EmbeddedFiles<'static>) -> Result<Self> {
        let sidecars = Sidecars::compiled(&[
            ("config.json", Some(files.config)),
            ("tokenizer.json", Some(files.tokenizer)),
            ("tokenizer_config.json", files.tokenizer_config),
        ]);
        let config = sidecars.config()?;
        Self::assemble(&sidecars, config, Weights::compiled(files.safetensors)?)
    }

    fn assemble(files: &Sidecars, mut config: Value, mut weights: Weights) -> Result<Self> {
        let told = OWN_CODE
            .iter()
            .find(|(name, _)| weights.tensors.contains_key(*name));
        if let Some((_, model_type)) = told {
            config["model_type"] = (*model_type).into();
        }
        let packed = packed::translate(&config, &files.folder, &mut weights)?;
        let tokenizer = tokenizer::files::load(files, &config)?;
        let template = ChatTemplate::of_folder(files, &tokenizer)?;
        Self {
            files: weights.files,
            tensors: weights.tensors,
            packed,
            config,
            tokenizer,
            template,
            processors: ["preprocessor_config.json", "processor_config.json"]
                .map(|n| files.json(n)),
            described: files
                .iter()
                .map(|(role, bytes)| (role, blake3::hash(bytes)))
                .collect(),
            fingerprint: OnceLock::new(),
        }
        .checked(&files.folder)
    }

    fn open_gguf(path: &Path, projector: Option<&Path>) -> Result<Self> {
        let mut files = parts::open(path)?;
        let gguf = Gguf::read(&files)?;
        let source = gguf.metadata.text("tokenizer.chat_template");
        let tokenizer = tokenizer::guarded(|| tokenizer::ggml::load(&gguf.metadata, source))
            .map_err(|why| fault::bad(path, why))?;
        let template = source
            .map(|source| ChatTemplate::new(source, &tokenizer))
            .transpose()
            .map_err(|why| fault::bad(path, format!("its chat template is broken: {why}")))?;
        let (mut tokenizer, mut tensors, mut config) = (tokenizer, gguf.tensors, gguf.config);
        let mut processor = None;
        if let Some(beside) = projector {
            let own = parts::open(beside)?;
            let [file] = own.as_slice() else {
                return Err(fault::bad(beside, "is one part of several"));
            };
            let mut seen = Projector::read(file, files.len())?;
            files.extend(own);
            tensors.append(&mut seen.tensors);
            config = seen
                .config(config, &mut tokenizer)
                .map_err(|why| fault::bad(path, why))?;
            processor = Some(seen.processor);
        }
        Self {
            files,
            tensors,
            packed: Packed::default(),
            config,
            tokenizer,
            template,
            processors: [processor, None],
            described: Vec::new(),
            fingerprint: OnceLock::new(),
        }
        .checked(path)
    }

    /// The last look before anybody works with it: does the tokenizer belong to the embedding?
    fn checked(self, path: &Path) -> Result<Self> {
        bounds::check(&self.config, &self.tensors).map_err(|why| {
            fault::bad(path, why)
                .hint("the file is damaged, or is not what it says; fetch it again")
        })?;
        let Some((name, rows)) = self.embedding() else {
            return Ok(self); // the transformer will miss it, and say by which name
        };
        let template = self.template.as_ref().map(ChatTemplate::source);
        self.tokenizer.check_rows(rows, template).map_err(|why| {
            fault::bad(
                path,
                format!(
                    "the tokenizer does not match the weights: {why}, but tensor `{name}` \
                         has {rows} rows"
                ),
            )
            .hint("use the tokenizer that was saved with these weights")
        })?;
        Ok(self)
    }

    fn embedding(&self) -> Option<(&str, usize)> {
        let ends = "embed_tokens wte embed_in word_embeddings token_embedding";
        let known = |name: &str| {
            let name = name.strip_suffix(".weight").unwrap_or_default();
            let last = name.rsplit('.').next().unwrap_or_default();
            ends.split(' ').any(|end| end == last)
        };
        self.tensors
            .iter()
            .filter(|(name, tensor)| tensor.info.shape.len() == 2 && known(name))
            .map(|(name, tensor)| (name.as_str(), tensor.info.shape[0]))
            .min_by_key(|(name, _)| name.len())
    }

    /// The configuration in the form of Hugging Face's `config.json`; a GGUF file's metadata is
    /// translated to the same keys.
    pub fn config(&self) -> &Value {
        &self.config
    }

    pub fn tensor_names(&self) -> Vec<&str> {
        self.tensors.keys().map(String::as_str).collect()
    }

    pub fn info(&self, name: &str) -> Option<&TensorInfo> {
        self.tensors.get(name).map(|t| &t.info)
    }

    pub fn file_of(&self, name: &str) -> Option<&Path> {
        let tensor = self.tensors.get(name)?;
        self.files.get(tensor.file).map(|file| file.path.as_path())
    }

    /// The numbers of a tensor, row-major, converted or dequantised.
    pub fn read_f32(&self, name: &str) -> Result<Vec<f32>> {
        let (tensor, bytes) = self.find(name)?;
        match self.made(name)? {
            Some(made) => Ok(mary_kernels::dequant::numbers(tensor.info.dtype, &made)),
            None => Ok(tensor.read_f32(bytes)),
        }
    }

    /// The blocks of a matrix in one of the hub's own formats.
    fn made(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let Some(recipe) = self.packed.recipes.get(name) else {
            return Ok(None);
        };
        let made = recipe.follow(&|stored| packed::bytes_of(&self.files, stored));
        made.map(Some).map_err(|why| {
            let file = self.file_of(name).unwrap_or(Path::new(""));
            fault::bad(file, format!("tensor `{name}` cannot be read: {why}"))
        })
    }

    /// Whether the file holds a tensor as it is read; matrices of the hub's own formats are made of several.
    pub fn as_stored(&self, name: &str) -> bool {
        !self.packed.recipes.contains_key(name)
    }

    /// What the reader of a folder in one of the hub's own formats should know of its weights.
    pub fn remark(&self) -> Option<&str> {
        self.packed.remark.as_deref()
    }

    /// The bytes of a tensor as stored, little-endian (ggml blocks for quantised types), in the
    /// row order of Hugging Face. A quantised tensor that is stored transposed (GPT-2's linear
    /// layers in GGUF files) cannot be given this way and is an error: use [`Self::read_f32`].
    pub fn read_raw(&self, name: &str) -> Result<Cow<'_, [u8]>> {
        let (tensor, bytes) = self.find(name)?;
        if let Some(made) = self.made(name)? {
            return Ok(Cow::Owned(made));
        }
        tensor.read_raw(bytes).ok_or_else(|| {
            bad_request(format!(
                "tensor `{name}` ({}) can only be read as numbers",
                tensor.info.dtype
            ))
        })
    }

    /// Gives back the memory of all that was read; it is read from the files again where it is wanted again.
    pub fn let_go(&self) {
        self.files.iter().for_each(Mapped::let_go);
    }

    /// The same to keep: a tensor that is stored as it is needed stays in the mapped file.
    pub fn share_raw(&self, name: &str) -> Result<RawBytes> {
        let raw = self.read_raw(name)?;
        let tensor = self.tensors.get(name);
        match (raw, tensor.and_then(|t| Some((self.files.get(t.file)?, t)))) {
            (Cow::Borrowed(_), Some((file, t))) => Ok(file.share(t.start..t.start + t.len)),
            (raw, _) => Ok(raw.into_owned().into()),
        }
    }

    /// Writes a GGUF model anew to `out` with numbers added to some tensors, in the order of
    /// [`Self::read_f32`]. What is changed is stored in 32 bits, the rest stays as it is.
    pub fn rewrite_gguf(&self, out: &Path, additions: &dyn Additions) -> Result<()> {
        match self.files.as_slice() {
            [file] if self.is_gguf() => rewrite::rewrite(file, &self.tensors, out, additions),
            files => {
                let first = files.first().map_or(Path::new(""), |f| &f.path);
                Err(fault::bad(
                    first,
                    format!("expected one GGUF file, found {} files", files.len()),
                )
                .hint("join the parts first: llama-gguf-split --merge"))
            }
        }
    }

    pub fn is_gguf(&self) -> bool {
        let magic = |file: &Mapped| file.get(..4) == Some(b"GGUF".as_slice());
        !self.files.is_empty() && self.files.iter().all(magic)
    }

    fn find(&self, name: &str) -> Result<(&Stored, &[u8])> {
        let first = self.files.first().map_or(Path::new(""), |f| &f.path);
        let missing = || fault::bad(first, format!("there is no tensor `{name}`"));
        let tensor = self.tensors.get(name).ok_or_else(missing)?;
        let file = self.files.get(tensor.file);
        let bytes =
            file.and_then(|file| file.get(tensor.start..tensor.start.checked_add(tensor.len)?));
        let outside = || fault::bad(first, format!("tensor `{name}` lies outside its file"));
        let bytes = bytes.ok_or_else(outside)?;
        Ok((tensor, bytes))
    }

    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    pub fn template(&self) -> Option<&ChatTemplate> {
        self.template.as_ref()
    }

    /// How pictures are prepared: `preprocessor_config.json`, or the part of a newer
    /// `processor_config.json` that stands for it.
    pub fn picture_processor(&self) -> Option<&Value> {
        let [own, joint] = &self.processors;
        let names = |v: &&Value| {
            ["image_processor_type", "feature_extractor_type"]
                .iter()
                .any(|key| v.get(key).is_some())
        };
        own.as_ref()
            .filter(names)
            .or_else(|| joint.as_ref()?.get("image_processor"))
    }

    pub fn processor(&self) -> Option<&Value> {
        self.processors[1].as_ref()
    }

    /// Content hash (blake3) of weights, configuration and tokenizer; the names of weight files
    /// and folders play no part. The first call reads every byte, on all threads, unless the hash of a
    /// file is remembered ([`crate::remember_hashes_in`]); later calls are free.
    pub fn fingerprint(&self) -> Result<String> {
        if let Some(known) = self.fingerprint.get() {
            return Ok(known.clone());
        }
        let mut weights: Vec<blake3::Hash> = self
            .files
            .iter()
            .map(|file| {
                let compute = || blake3::Hasher::new().update_rayon(file).finalize();
                remembered::hash(&file.path, compute)
            })
            .collect();
        weights.sort_unstable_by_key(|hash| *hash.as_bytes());
        let mut hasher = blake3::Hasher::new();
        for hash in &weights {
            hasher.update(b"weights").update(hash.as_bytes());
        }
        for (role, hash) in &self.described {
            hasher.update(role.as_bytes()).update(hash.as_bytes());
        }
        let fingerprint = hasher.finalize().to_hex().to_string();
        Ok(self.fingerprint.get_or_init(|| fingerprint).clone())
    }
}

/// The `.gguf` file of a folder that holds exactly one model of the kind.
fn only_gguf(folder: &Path) -> Result<Option<PathBuf>> {
    let entries = std::fs::read_dir(folder).map_err(|e| fault::io(folder, &e))?;
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "gguf"))
        // Of a model in several parts, the first stands for all.
        .filter(|path| {
            let name = path.file_name().and_then(|n| n.to_str());
            name.and_then(parts::Part::read)
                .is_none_or(|part| part.number == 1)
        })
        .collect();
    found.sort();
    match found.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(one.clone())),
        several => Err(
            fault::bad(folder, format!("holds {} GGUF files", several.len()))
                .hint(format!("name one of them: {}", several[0].display())),
        ),
    }
}

impl Tokenizer {
    /// What each convention puts first, for a model with this chat template.
    pub fn start_tokens(&self, template: Option<&ChatTemplate>) -> StartTokens {
        let template = template.map(ChatTemplate::source);
        let named = |id: u32| Some(NamedToken::new(self.token(id)?, id, template));
        let bos = self.bos();
        // A chat model is told to stop at the end of a turn; the token that ends a text has another name.
        let known = TEXT_ENDS.iter().filter_map(|name| self.id(name));
        let ends = self.eos_ids().iter().copied().chain(known);
        let ends: Vec<NamedToken> = ends.filter_map(named).collect();
        let adds = bos.filter(|_| self.adds_bos());
        StartTokens::of_tokenizer(adds.and_then(named), bos.and_then(named), &ends)
    }
}

impl Checkpoint {
    pub fn start_tokens(&self) -> StartTokens {
        self.tokenizer().start_tokens(self.template())
    }

    /// The token that stands before a plain text.
    pub fn start_token(&self, start: &Start) -> Result<Option<u32>> {
        let tokenizer = self.tokenizer();
        Ok(match start {
            Start::Model => tokenizer.bos().filter(|_| tokenizer.adds_bos()),
            Start::Always => tokenizer.bos().or(tokenizer.eos()),
            Start::Never => None,
            Start::Text => self.start_tokens().auto.map(|token| token.id),
            Start::Token(name) => Some(tokenizer.id(name).ok_or_else(|| {
                let message = format!("this model has no token `{name}` to put before a text");
                let known = self.start_tokens().words();
                bad_request(message).hint(format!("{known}; --start takes {}", Start::VALUES))
            })?),
        })
    }
}
