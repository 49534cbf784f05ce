//! Hostile files: whatever the bytes, a reader answers with a checkpoint or a refusal. It never
//! panics, and never takes more memory than a small multiple of the file.
//!
//! Valid small files are damaged in every way a fuzzer would try (bits flipped, numbers replaced
//! by extremes, pieces cut out, doubled, swapped); property tests add bytes that never were a
//! file. A counting allocator watches.

use crate::golden_files;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::path::Path;

use golden_files::{folder_of, golden};
use mary_weights::{Checkpoint, StaticVectors};
use proptest::prelude::*;
use serde_json::json;

/// Counts what is allocated, and what was at most.
struct Counting;

thread_local! {
    // Of this thread alone: other tests of the program allocate at the same time.
    static NOW: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn grown(by: isize) {
    // A thread that is ending has no counters any more.
    let _ = NOW.try_with(|now| {
        now.set(now.get() + by);
        PEAK.try_with(|peak| peak.set(peak.get().max(now.get())))
    });
}

// SAFETY: every call is handed to the system's allocator unchanged; only counters are added.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grown(layout.size() as isize);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        grown(-(layout.size() as isize));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// More than any small file needs: tokenizers, regular expressions and templates come with tables.
const ROOM: isize = 96 << 20;

/// Runs a reader on many files and checks the memory it took.
fn watched(files: impl FnOnce()) {
    let before = NOW.get();
    PEAK.set(before);
    files();
    let taken = PEAK.get() - before;
    assert!(taken < ROOM, "took {} MiB", taken >> 20);
}

/// Opens, and where that works uses everything.
fn try_everything(path: &Path) {
    let Ok(checkpoint) = Checkpoint::open(path) else {
        return;
    };
    for name in checkpoint.tensor_names() {
        let numbers = checkpoint.read_f32(name);
        let raw = checkpoint.read_raw(name);
        if let (Ok(numbers), Some(info)) = (numbers, checkpoint.info(name)) {
            assert_eq!(Some(numbers.len()), info.numbers());
            if let Ok(raw) = raw {
                assert_eq!(info.dtype.bytes_for(numbers.len()), Some(raw.len()));
            }
        }
    }
    let _ = checkpoint
        .tokenizer()
        .encode("a text <|im_end|> 123 é", true);
    let _ = checkpoint.tokenizer().decode(&[0, 1, 2, 300, u32::MAX]);
    if let Some(template) = checkpoint.template() {
        let _ = template.render(&mary_contract::Prompt::chat("hello"), true);
    }
}

/// A small deterministic generator, so that a failure can be run again.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        ((self.0 >> 33) as usize) % below.max(1)
    }
}

const EXTREMES: [u64; 10] = [
    0,
    1,
    0x7f,
    0xff,
    0x7fff_ffff,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    u64::MAX,
    u64::MAX - 7,
    1 << 40,
];

/// Damages a file in one to three places, mostly near the front, where the structure is.
fn damage(bytes: &mut Vec<u8>, front: usize, dice: &mut Dice) {
    for _ in 0..=dice.roll(3) {
        if bytes.is_empty() {
            return;
        }
        let reach = if dice.roll(4) > 0 {
            front.min(bytes.len())
        } else {
            bytes.len()
        };
        let at = dice.roll(reach);
        match dice.roll(7) {
            0 => bytes[at] ^= 1 << dice.roll(8),
            1 => bytes[at] = dice.roll(256) as u8,
            2 | 3 => {
                let width = [1, 2, 4, 8][dice.roll(4)].min(bytes.len() - at);
                let extreme = EXTREMES[dice.roll(EXTREMES.len())].to_le_bytes();
                bytes[at..at + width].copy_from_slice(&extreme[..width]);
            }
            4 => {
                let n = dice.roll(64).min(bytes.len() - at);
                bytes.drain(at..at + n);
            }
            5 => {
                let n = dice.roll(64).min(bytes.len() - at);
                let piece = bytes[at..at + n].to_vec();
                bytes.splice(at..at, piece);
            }
            _ => bytes.truncate(at),
        }
    }
}

/// Runs a reader on many damaged copies of a file, in place.
fn damaged_copies(original: &Path, target: &Path, front: usize, rounds: usize, open: &Path) {
    let good = std::fs::read(original).unwrap();
    let mut dice = Dice(rounds as u64 ^ 0x5eed);
    for _ in 0..rounds {
        let mut bytes = good.clone();
        damage(&mut bytes, front, &mut dice);
        std::fs::write(target, &bytes).unwrap();
        try_everything(open);
    }
}

#[test]
fn damaged_gguf_files() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("m.gguf");
    watched(|| {
        damaged_copies(&golden("llama.gguf"), &target, 1200, 150, &target);
        damaged_copies(&golden("gpt2.gguf"), &target, 17_000, 100, &target);
        damaged_copies(&golden("spm.gguf"), &target, 12_000, 100, &target);
    });
}

#[test]
fn damaged_folders_in_the_hubs_own_formats() {
    for name in [
        "gptq_order",
        "awq",
        "ct_int4_zeros",
        "fp8_block",
        "bnb_nf4_double",
        "mxfp4",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let golden = crate::packed::hub(name);
        for file in ["config.json", "tokenizer.json", "model.safetensors"] {
            std::fs::copy(golden.join(file), folder.path().join(file)).unwrap();
        }
        watched(|| {
            for (file, front) in [("model.safetensors", 3000), ("config.json", 2000)] {
                let target = folder.path().join(file);
                damaged_copies(&golden.join(file), &target, front, 60, folder.path());
                std::fs::copy(golden.join(file), &target).unwrap();
            }
        });
    }
}

#[test]
fn damaged_safetensors_files_and_indexes() {
    let folder = folder_of(&[("llama", &["config.json", "tokenizer.json"])]);
    let target = folder.path().join("model.safetensors");
    watched(|| {
        damaged_copies(
            &golden("llama/model.safetensors"),
            &target,
            1400,
            250,
            folder.path(),
        );
    });
    std::fs::remove_file(&target).unwrap();
    std::fs::copy(
        golden("llama/model.safetensors"),
        folder.path().join("a.safetensors"),
    )
    .unwrap();
    let index = folder.path().join("good-index.json");
    std::fs::write(
        &index,
        r#"{"metadata": {"total_size": 8}, "weight_map": {"model.norm.weight": "a.safetensors",
            "model.embed_tokens.weight": "a.safetensors"}}"#,
    )
    .unwrap();
    let target = folder.path().join("model.safetensors.index.json");
    watched(|| damaged_copies(&index, &target, 200, 200, folder.path()));
}

#[test]
fn damaged_torch_files() {
    let folder = folder_of(&[("llama", &["config.json", "tokenizer.json"])]);
    let target = folder.path().join("pytorch_model.bin");
    watched(|| damaged_copies(&golden("state.bin"), &target, 4000, 300, folder.path()));
}

#[test]
fn damaged_tokenizers_and_configurations() {
    let folder = folder_of(&[("llama", &["config.json", "model.safetensors"])]);
    watched(|| {
        for (from, to) in [
            ("llama/tokenizer.json", "tokenizer.json"),
            ("spm-bpe/tokenizer.model", "tokenizer.model"),
            ("bert-files/vocab.txt", "vocab.txt"),
        ] {
            let target = folder.path().join(to);
            damaged_copies(&golden(from), &target, 15_000, 60, folder.path());
            std::fs::remove_file(&target).unwrap();
        }
        let tokenizer = folder.path().join("tokenizer.json");
        std::fs::copy(golden("llama/tokenizer.json"), tokenizer).unwrap();
        let target = folder.path().join("config.json");
        let config = golden("llama/config.json");
        damaged_copies(&config, &target, 700, 60, folder.path());
    });
}

/// Pipelines of a few kilobytes that would take gigabytes, or a million passes, for a single letter.
#[test]
fn a_pipeline_that_multiplies_a_text_is_refused_before_it_runs() {
    let files = ["config.json", "tokenizer.json", "model.safetensors"];
    let llama = folder_of(&[("llama", &files)]);
    let file = llama.path().join("tokenizer.json");
    let good = std::fs::read(golden("llama/tokenizer.json")).unwrap();
    let good: serde_json::Value = serde_json::from_slice(&good).unwrap();
    let replace =
        json!({"type": "Replace", "pattern": {"String": "a"}, "content": "a".repeat(4096)});
    let text = json!({"Sequence": {"id": "A", "type_id": 0}});
    let cases = [
        (
            "normalizer",
            json!({"type": "Sequence", "normalizers": vec![replace.clone(); 3]}),
            "times longer",
        ),
        (
            "normalizer",
            json!({"type": "Prepend", "prepend": "b".repeat(8 << 20)}),
            "`prepend`",
        ),
        (
            "decoder",
            json!({"type": "Sequence", "decoders": vec![replace; 3]}),
            "times longer",
        ),
        (
            "pre_tokenizer",
            json!({"type": "Sequence", "pretokenizers":
            vec![json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}); 40]}),
            "times longer",
        ),
        (
            "normalizer",
            json!({"type": "Sequence", "normalizers": vec![json!({"type": "NFC"}); 100_000]}),
            "parts",
        ),
        (
            "post_processor",
            json!({"type": "TemplateProcessing", "single": vec![text; 100_000],
            "pair": [], "special_tokens": {}}),
            "repeats a text",
        ),
    ];
    for (part, value, said) in cases {
        let mut bad = good.clone();
        bad[part] = value;
        std::fs::write(&file, bad.to_string()).unwrap();
        watched(|| {
            let error = Checkpoint::open(llama.path()).map(drop).expect_err(said);
            assert!(error.message.contains(said), "{part}: {error}");
        });
    }
    let mut bad = good;
    bad["model"]["vocab"]["zzz"] = json!(u32::MAX - 1);
    std::fs::write(&file, bad.to_string()).unwrap();
    watched(|| assert!(Checkpoint::open(llama.path()).is_err()));
}

#[test]
fn damaged_vector_files() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("v");
    let text: String = (0..50)
        .map(|i| format!("word{i} 0.5 -1.25 {i}\n"))
        .collect();
    let mut binary = b"50 3\n".to_vec();
    for i in 0..50u8 {
        binary.extend(format!("word{i} ").bytes());
        binary.extend(
            [0.5f32, -1.25, f32::from(i)]
                .iter()
                .flat_map(|x| x.to_le_bytes()),
        );
    }
    let forms = [
        text.clone().into_bytes(),
        format!("50 3\n{text}").into_bytes(),
        binary,
    ];
    watched(|| {
        let mut dice = Dice(99);
        for good in &forms {
            for _ in 0..300 {
                let mut bytes = good.clone();
                damage(&mut bytes, 100, &mut dice);
                std::fs::write(&target, &bytes).unwrap();
                if let Ok(vectors) = StaticVectors::open(&target) {
                    assert!(
                        vectors
                            .get("word7")
                            .is_none_or(|v| v.len() == vectors.dim())
                    );
                }
            }
        }
    });
}

/// Headers that promise far more than the file holds.
#[test]
fn great_promises_allocate_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let gguf = folder.path().join("m.gguf");
    let vectors = folder.path().join("v.bin");
    watched(|| {
        for count in EXTREMES {
            for place in 0..2 {
                let mut bytes = b"GGUF\x03\0\0\0".to_vec();
                let counts = if place == 0 { [count, 1] } else { [1, count] };
                bytes.extend(counts.iter().flat_map(|n| n.to_le_bytes()));
                // A key whose text, or whose list, is endless.
                for kind in [8u32, 9] {
                    let mut bytes = bytes.clone();
                    bytes.extend(1u64.to_le_bytes());
                    bytes.push(b'k');
                    bytes.extend(kind.to_le_bytes());
                    if kind == 9 {
                        bytes.extend(8u32.to_le_bytes());
                    }
                    bytes.extend(count.to_le_bytes());
                    std::fs::write(&gguf, &bytes).unwrap();
                    assert!(Checkpoint::open(&gguf).is_err());
                }
            }
            std::fs::write(&vectors, format!("{count} 300\nword \0\0\0\0")).unwrap();
            assert!(StaticVectors::open(&vectors).is_err());
            std::fs::write(&vectors, format!("3 {count}\nword \0\0\0\0")).unwrap();
            assert!(StaticVectors::open(&vectors).is_err());
        }
        let llama = folder_of(&[("llama", &["config.json", "tokenizer.json"])]);
        for header in [
            r#"{"a":{"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,18446744073709551615]}}"#,
            r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}}"#,
            r#"{"a":{"dtype":"U8","shape":[0,18446744073709551615,9],"data_offsets":[0,0]}}"#,
        ] {
            let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
            bytes.extend(header.bytes());
            std::fs::write(llama.path().join("model.safetensors"), bytes).unwrap();
            let _ = Checkpoint::open(llama.path());
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..400), kind in 0usize..4) {
        let folder = folder_of(&[("llama", &["config.json", "tokenizer.json"])]);
        let (name, magic): (_, &[u8]) = [
            ("m.gguf", &b"GGUF\x03\0\0\0"[..]),
            ("model.safetensors", b"\x40\0\0\0\0\0\0\0"),
            ("pytorch_model.bin", b"PK\x03\x04"),
            ("model.safetensors.index.json", b"{\"weight_map\":"),
        ][kind];
        let path = folder.path().join(name);
        std::fs::write(&path, [magic, &bytes].concat()).unwrap();
        try_everything(if kind == 0 { &path } else { folder.path() });
        let vectors = folder.path().join("v");
        std::fs::write(&vectors, &bytes).unwrap();
        let _ = StaticVectors::open(&vectors);
    }

    /// A pickle made of the very opcodes the reader knows, in any order.
    #[test]
    fn any_program_is_answered(
        steps in proptest::collection::vec((0usize..24, any::<u8>()), 0..120)
    ) {
        use std::io::Write;
        let folder = folder_of(&[("llama", &["config.json", "tokenizer.json"])]);
        let mut program = vec![0x80, 2];
        for (op, byte) in steps {
            match op {
                0 => program.extend([b'K', byte]),
                1 => program.extend([b'q', byte]),
                2 => program.extend([b'h', byte]),
                3 => program.extend(b"X\x01\0\0\0a"),
                4 => program.extend(b"ctorch._utils\n_rebuild_tensor_v2\n"),
                5 => program.extend(b"ctorch\nFloatStorage\n"),
                6 => program.extend(b"ccollections\nOrderedDict\n"),
                7 => program.extend([0x8a, 1, byte]),
                n => program.push(b")(tRQ}]usabe\x85\x86\x87N"[(n - 8) % 16]),
            }
        }
        program.push(b'.');
        let path = folder.path().join("pytorch_model.bin");
        let mut zip = zip::ZipWriter::new(std::fs::File::create(&path).unwrap());
        let stored = zip::write::SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Stored);
        zip.start_file("m/data.pkl", stored).unwrap();
        zip.write_all(&program).unwrap();
        zip.finish().unwrap();
        try_everything(folder.path());
    }
}

/// A GGUF file with another number behind one of its keys.
fn with_number(bytes: &[u8], key: &str, number: u32) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let place = bytes.windows(key.len()).position(|w| w == key.as_bytes());
    // The key, four bytes for the kind, then the number.
    let at = place.unwrap_or_else(|| panic!("no {key}")) + key.len();
    assert_eq!(bytes[at..at + 4], 4u32.to_le_bytes(), "{key} is a u32");
    bytes[at + 4..at + 8].copy_from_slice(&number.to_le_bytes());
    bytes
}

fn refused(path: &Path, wanted: &str) {
    let error = Checkpoint::open(path).unwrap_err();
    assert!(error.message.contains(wanted), "{wanted}: {error}");
}

/// Counts that no tensor bears out, in whole files that are right otherwise.
#[test]
fn counts_in_a_header_are_held_against_its_tensors() {
    let folder = tempfile::tempdir().unwrap();
    let gguf = folder.path().join("m.gguf");
    let good = std::fs::read(golden("llama.gguf")).unwrap();
    watched(|| {
        for key in [
            "llama.block_count",
            "llama.embedding_length",
            "llama.feed_forward_length",
            "llama.attention.head_count",
            "llama.context_length",
        ] {
            std::fs::write(&gguf, with_number(&good, key, 1 << 31)).unwrap();
            // The number is named, whichever check met it first.
            refused(&gguf, "2147483648");
        }
        let llama = folder_of(&[(
            "llama",
            &["config.json", "tokenizer.json", "model.safetensors"],
        )]);
        let config = llama.path().join("config.json");
        let text = std::fs::read_to_string(&config).unwrap();
        for name in ["hidden_size", "num_hidden_layers", "head_dim", "vocab_size"] {
            let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
            value[name] = json!(1u64 << 63);
            std::fs::write(&config, value.to_string()).unwrap();
            refused(llama.path(), "9223372036854775808");
        }
    });
}

/// A file that says fewer layers than it holds tensors of would be another, worse model.
#[test]
fn a_gguf_that_says_fewer_layers_than_it_holds_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let gguf = folder.path().join("m.gguf");
    let good = std::fs::read(golden("llama.gguf")).unwrap();
    let name = b"blk.0.ffn_norm.weight";
    let mut bytes = good.clone();
    let at = bytes.windows(name.len()).position(|w| w == name).unwrap();
    bytes[at + 4] = b'2';
    std::fs::write(&gguf, &bytes).unwrap();
    refused(&gguf, "has 1 layers, but holds tensors of layer 3");
    std::fs::write(&gguf, &good).unwrap();
    assert!(Checkpoint::open(&gguf).is_ok());
}

/// A regular expression that gives up on a text is an error of that text, and the tokenizer goes on.
#[test]
fn a_tokenizer_whose_pattern_gives_up_is_an_error_of_the_text() {
    let llama = folder_of(&[(
        "llama",
        &["config.json", "tokenizer.json", "model.safetensors"],
    )]);
    let file = llama.path().join("tokenizer.json");
    let mut value: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    // Every way to divide a row of letters is tried before it is known that none ends right.
    value["pre_tokenizer"] = json!({"type": "Split", "behavior": "Isolated",
        "invert": false, "pattern": {"Regex": r"(?:(a|aa)+)+\1!"}});
    std::fs::write(&file, value.to_string()).unwrap();
    let checkpoint = Checkpoint::open(llama.path()).unwrap();
    let error = checkpoint.tokenizer().encode(&"a".repeat(60), false);
    let error = error.unwrap_err();
    assert!(error.message.contains("could not read a text"), "{error}");
    assert!(checkpoint.tokenizer().encode("b", false).is_ok());
}
