//! What is said of a model before it is open: its card and its fingerprint.

use std::collections::BTreeMap;

use mary_contract::{ModelCard, ModelRef, NamedToken, StartTokens};
use mary_weights::{Checkpoint, Tokenizer};

use crate::config::Architecture;
use crate::errors::Result;
use crate::load::masked_head;
use crate::options::{Masking, Options};
use crate::precision::Precision;
use crate::{text, vision};

/// What is known of a checkpoint without loading it.
pub(crate) fn describe(
    model: ModelRef,
    checkpoint: &Checkpoint,
    architecture: &Architecture,
    options: &Options,
) -> ModelCard {
    let template = checkpoint.template().is_some();
    let seeing = vision::sees(checkpoint, architecture).map(|found| found.is_some());
    let seeing = match architecture.language_head {
        true => seeing,
        false => vision::pairs(checkpoint),
    };
    let sees = matches!(seeing, Ok(true));
    let mut can = text::capabilities(architecture.language_head, template, sees);
    let masking = masking(checkpoint, architecture, options);
    can.score |= masking.is_some();
    // Heads and patterns are attention's; what is changed where a state is carried is not told to later tokens yet.
    can.intervene = architecture.language_head
        && architecture.causal
        && architecture.recurrence.is_none()
        && architecture.attention.relative.is_none();
    let mut card = ModelCard::new(model, can);
    card.architecture = Some(architecture.family.to_owned());
    let observed = architecture
        .source
        .as_ref()
        .map(|source| source.encoder.layers);
    card.layers = Some(observed.unwrap_or(architecture.layers));
    card.context_length = Some(architecture.context);
    if let Err(error) = seeing {
        card.remarks
            .push(format!("it cannot be shown pictures: {}", error.message));
    }
    let (parameters, stored) = numbers(checkpoint);
    card.parameters = Some(parameters);
    let starts = starts(checkpoint, architecture);
    let start = starts.words();
    card.starts = Some(starts);
    let dtype = match (options.precision, options.rounds_rows()) {
        (Precision::Single, _) => "f32",
        (Precision::Bf16, false) => "weights rounded to bf16, arithmetic f32",
        (Precision::F16, false) => "weights rounded to f16, arithmetic f32",
        (Precision::Bf16, true) => "bf16 into products, sums and residual stream f32",
        (Precision::F16, true) => "f16 into products, sums and residual stream f32",
    };
    let own = if template {
        "the checkpoint's own"
    } else {
        "none"
    };
    let conventions = [
        ("weights", stored.as_str()),
        ("dtype", dtype),
        ("start", start.as_str()),
        ("template", own),
        ("log-probabilities", "natural logarithm, f32 log-softmax"),
        (
            "beyond the context",
            "windows overlapping by at least half a context",
        ),
    ];
    let owned = conventions.map(|(k, v)| (k.to_owned(), v.to_owned()));
    card.conventions = owned.into();
    if let Some(masking) = masking {
        let mut about = masking.about().to_owned();
        if architecture.predicts_next {
            about.push_str("; each token is predicted from the place before it");
        }
        card.conventions.insert("scoring".to_owned(), about);
    }
    if architecture.source.is_some() {
        answering(&mut card.conventions);
    }
    if let Some(seed) = options.untrained {
        let said = format!("untrained twin: every matrix shuffled (seed {seed})");
        card.remarks.push(said);
    }
    if let Some((path, factor)) = &options.steer {
        let said = format!("steered by {factor} times {}", path.display());
        card.remarks.push(said);
    }
    card.remarks.extend(options.chosen_16());
    card.remarks.extend(checkpoint.remark().map(str::to_owned));
    let template = checkpoint.template();
    let dated = template.is_some_and(|t| t.source().contains("strftime_now"));
    if dated && std::env::var_os("SOURCE_DATE_EPOCH").is_none() {
        card.remarks.push(
            "its chat template writes today's date into every prompt, so that answers of another \
             day are answers to another prompt; set SOURCE_DATE_EPOCH to fix the day"
                .to_owned(),
        );
    }
    card
}

/// What stands before a text.
fn starts(checkpoint: &Checkpoint, architecture: &Architecture) -> StartTokens {
    match (&architecture.source, architecture.causal) {
        (Some(source), _) => {
            let piece = checkpoint.tokenizer().piece(source.start);
            always(Some(NamedToken::new(piece, source.start, None)))
        }
        (None, true) => checkpoint.start_tokens(),
        // Encoders read a text between their own two tokens, whatever is asked.
        (None, false) => around(checkpoint.tokenizer()),
    }
}

/// How an encoder-decoder scores.
fn answering(conventions: &mut BTreeMap<String, String>) {
    let about = "the continuation as the decoder's target, given the prefix as the encoder's source; each is \
                 tokenised by itself, the source with the end that the tokenizer adds; without a prefix the source \
                 is that end alone";
    for (name, what) in [("scoring", about), ("beyond the context", "refused")] {
        conventions.insert(name.to_owned(), what.to_owned());
    }
}

/// How many numbers a checkpoint holds, and in which types its matrices are stored, the most frequent first.
fn numbers(checkpoint: &Checkpoint) -> (u64, String) {
    let mut parameters = 0;
    let mut stored: BTreeMap<&'static str, usize> = BTreeMap::new();
    let all = checkpoint.tensor_names().into_iter();
    for info in all.filter_map(|name| checkpoint.info(name)) {
        let count = info.numbers().unwrap_or(0);
        parameters += count as u64;
        if info.shape.len() > 1 {
            *stored.entry(info.dtype.name()).or_default() += count;
        }
    }
    let mut stored: Vec<(usize, &str)> = stored.into_iter().map(|(name, n)| (n, name)).collect();
    stored.sort_unstable_by(|a, b| b.cmp(a));
    let names: Vec<&str> = stored.into_iter().map(|(_, name)| name).collect();
    (parameters, names.join(", "))
}

/// What an encoder's tokenizer puts before a text.
fn around(tokenizer: &Tokenizer) -> StartTokens {
    let read = tokenizer.encode("a", true).unwrap_or_default();
    let special = read.special.first() == Some(&true);
    let first = read.ids.first().filter(|_| special);
    always(first.map(|&id| NamedToken::new(tokenizer.piece(id), id, None)))
}

/// The same token whatever is asked.
fn always(first: Option<NamedToken>) -> StartTokens {
    StartTokens {
        model: first.clone(),
        harness: first.clone(),
        auto: first,
    }
}

/// How a checkpoint scores, where it is a masked language model.
pub(crate) fn masking(
    checkpoint: &Checkpoint,
    architecture: &Architecture,
    options: &Options,
) -> Option<Masking> {
    let encoder = !architecture.causal && !architecture.language_head;
    (encoder && masked_head(checkpoint).is_some()).then_some(options.masking)
}

/// A number type other than the default is part of who the model is, and on a GPU it rounds more than weights.
pub(crate) fn fingerprint(checkpoint: &Checkpoint, options: &Options) -> Result<String> {
    let hash = checkpoint.fingerprint()?;
    // Another way of masking gives other answers; of a model without a masked head it says nothing.
    let hash = match options.masking {
        Masking::Alone if masked_head(checkpoint).is_some() => format!("{hash}-original"),
        _ => hash,
    };
    let hash = match options.untrained {
        Some(seed) => format!("{hash}-untrained-{seed}"),
        None => hash,
    };
    let hash = match &options.steer {
        Some((path, factor)) => {
            let directions = mary_weights::read_control_vector(path)?;
            let bytes = mary_weights::control_vector_file(&directions, "");
            let steer = blake3::hash(&bytes).to_hex();
            format!("{hash}-steer-{factor}-{}", &steer[..16])
        }
        None => hash,
    };
    let place = if options.rounds_rows() { "-cuda" } else { "" };
    Ok(match options.precision {
        Precision::Single => hash,
        Precision::Bf16 => format!("{hash}-bf16{place}"),
        Precision::F16 => format!("{hash}-f16{place}"),
    })
}
