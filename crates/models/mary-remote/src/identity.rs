//! Who is at the other end: what a server tells about itself when a model is opened, before anything
//! is spent.

use mary_contract::{ErrorKind, ModelError, NamedToken, StartTokens, TEXT_ENDS};
use serde_json::{Value, json};

use crate::catalogue::Introduction;
use crate::connection::Connection;
use crate::llamacpp::{LlamaServer, Token, tokenize};
use crate::options::Result;
use crate::wire::{count, text};

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Identity {
    /// Goes into the fingerprint: two weights under one name are two models.
    pub(crate) described: Value,
    pub(crate) context_length: Option<usize>,
    pub(crate) pictures: Option<bool>,
    pub(crate) parameters: Option<u64>,
    pub(crate) llama: LlamaServer,
}

impl Identity {
    /// Asks. `usual_address` is false when the user gave one, where a proxy may not know all paths.
    pub(crate) async fn probe(connection: &Connection, usual_address: bool) -> Result<Self> {
        match connection.entry.introduction {
            Introduction::None => Ok(Self::default()),
            Introduction::Name => by_name(connection, usual_address).await,
            Introduction::List => by_list(connection).await,
            Introduction::LlamaCpp => llamacpp(connection).await,
        }
    }
}

/// A number of tokens that is told and not nothing.
fn size(value: &Value, path: &str) -> Option<usize> {
    usize::try_from(count(value, path)).ok().filter(|n| *n > 0)
}

/// Asks a hosted service for one model; this costs nothing and finds a bad key or a wrong name.
async fn by_name(connection: &Connection, usual_address: bool) -> Result<Identity> {
    let model = connection
        .model
        .strip_prefix("models/")
        .unwrap_or(&connection.model);
    match connection.fetch(&format!("models/{model}")).await {
        Ok(told) => Ok(Identity {
            context_length: size(&told, "/inputTokenLimit"),
            ..Identity::default()
        }),
        Err(error) if error.kind == ErrorKind::Auth => Err(error),
        Err(error) if error.kind == ErrorKind::NotFound && usual_address => Err(error),
        // The question was a courtesy; only a clear no counts.
        Err(_) => Ok(Identity::default()),
    }
}

async fn by_list(connection: &Connection) -> Result<Identity> {
    let told = match connection.fetch("models").await {
        Ok(told) => told,
        Err(error) => {
            return match error.kind {
                ErrorKind::Auth | ErrorKind::Transport | ErrorKind::Timeout => Err(error),
                _ => Ok(Identity::default()),
            };
        }
    };
    let models = told.get("data").and_then(Value::as_array);
    let Some(models) = models.filter(|m| !m.is_empty()) else {
        return Ok(Identity::default());
    };
    let named = |model: &&Value| {
        let id = model.get("id").and_then(Value::as_str).unwrap_or("");
        id == connection.model || id.strip_suffix(":latest") == Some(&connection.model)
    };
    let Some(found) = models.iter().find(named) else {
        let names = models.iter().filter_map(|m| text(m, "/id"));
        let names: Vec<_> = names.take(8).collect();
        let title = connection.entry.title;
        let message = format!("{title} does not serve `{}`", connection.model);
        return Err(ModelError::new(ErrorKind::NotFound, message)
            .hint(format!("it serves: {}", names.join(", "))));
    };
    Ok(Identity {
        described: json!({"root": found.get("root"), "id": found.get("id")}),
        context_length: size(found, "/max_model_len"),
        ..Identity::default()
    })
}

/// What [`mary_contract::Start::Text`] puts before a text where the server's tokenizer adds nothing, by the
/// rule of local models. `ends` are the known names of such tokens as the server reads them: those it has
/// are one token each.
fn text_start(props: &Value, ends: &[Token]) -> Option<String> {
    let template = text(props, "/chat_template");
    let named = |name: String| NamedToken::new(name, 0, template.as_deref());
    let told = |path: &str| text(props, path).filter(|name| !name.is_empty());
    let known = ends.iter().filter_map(|t| {
        let name = TEXT_ENDS.iter().find(|name| name.as_bytes() == t.bytes)?;
        Some((*name).to_owned())
    });
    let ends: Vec<NamedToken> = told("/eos_token")
        .into_iter()
        .chain(known)
        .map(named)
        .collect();
    let bos = told("/bos_token").map(named);
    Some(StartTokens::of_tokenizer(None, bos, &ends).auto?.text)
}

/// Asks a llama.cpp server for everything that scoring needs. It serves one model, whatever it is
/// called.
async fn llamacpp(connection: &Connection) -> Result<Identity> {
    let models = connection.fetch("models").await?;
    let props = connection.fetch("/props").await?;
    let plain = tokenize(connection, ".", false).await?;
    let start_text = ["/bos_token", "/eos_token"]
        .iter()
        .filter_map(|path| text(&props, path))
        .find(|name| !name.is_empty());
    let start = tokenize(connection, start_text.as_deref().unwrap_or_default(), false).await?;
    let ends = tokenize(connection, &TEXT_ENDS.concat(), false).await?;
    let meta = models.pointer("/data/0/meta").cloned().unwrap_or_default();
    Ok(Identity {
        described: json!({
            "n_params": meta.get("n_params"),
            "size": meta.get("size"),
            "ftype": meta.get("ftype"),
            "n_vocab": meta.get("n_vocab"),
            "template": props.get("chat_template"),
        }),
        context_length: size(&props, "/default_generation_settings/n_ctx"),
        pictures: props.pointer("/modalities/vision").and_then(Value::as_bool),
        parameters: Some(count(&meta, "/n_params")).filter(|n| *n > 0),
        llama: LlamaServer {
            vocabulary: count(&meta, "/n_vocab"),
            plain_token: plain.first().map_or(0, |t| t.id),
            start_token: match start.as_slice() {
                [token] => Some(token.id),
                _ => None,
            },
            text_start: text_start(&props, &ends),
            start_text,
        },
    })
}
