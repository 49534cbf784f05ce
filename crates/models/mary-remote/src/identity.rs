//! Who is at the other end: what a server tells about itself when a model is opened, before anything
//! is spent.

use mary_contract::{ErrorKind, ModelError, NamedToken, StartTokens, TEXT_ENDS};
use serde_json::{Value, json};

use crate::catalogue::Entry;
use crate::connection::{Connection, Question};
use crate::llamacpp::{Token, read_tokens, tokenize_body};
use crate::wire::{count, text};

/// What a server tells about itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Identity {
    /// Goes into the fingerprint: two weights under one name are two models.
    pub described: Value,
    pub context_length: Option<usize>,
    /// Requests it works on at once.
    pub slots: Option<usize>,
    pub pictures: Option<bool>,
    /// Size of the vocabulary (llama.cpp).
    pub vocabulary: u64,
    /// A token it can always emit (llama.cpp).
    pub plain_token: u64,
    /// The start token's number (llama.cpp).
    pub start_token: Option<u64>,
    /// The start token's text: begin of sequence, or end of sequence for models without (llama.cpp).
    pub start_text: Option<String>,
    /// The token that ends a text in training and is no marker of a role (llama.cpp).
    pub text_start: Option<String>,
    pub parameters: Option<u64>,
}

impl Identity {
    /// Asks. `usual_address` is false when the user gave one, where a proxy may not know all paths.
    pub async fn probe(
        connection: &Connection,
        entry: &Entry,
        usual_address: bool,
    ) -> Result<Self, ModelError> {
        match entry.name {
            "openai" | "openai-completions" | "anthropic" | "google" | "groq" | "mistral" => {
                by_name(connection, usual_address).await
            }
            "llamacpp" => llamacpp(connection).await,
            "vllm" | "sglang" | "ollama" | "lmstudio" | "compatible" => {
                by_list(connection, entry).await
            }
            _ => Ok(Self::default()),
        }
    }
}

/// Asks a hosted service for one model; this costs nothing and finds a bad key or a wrong name.
async fn by_name(connection: &Connection, usual_address: bool) -> Result<Identity, ModelError> {
    let model = connection
        .model
        .strip_prefix("models/")
        .unwrap_or(&connection.model);
    let path = format!("models/{model}");
    let asked = connection
        .ask(Question::get(&path, &|raw| Ok(raw.clone())))
        .await;
    match asked {
        Ok(told) => Ok(Identity {
            context_length: told
                .answer
                .get("inputTokenLimit")
                .and_then(Value::as_u64)
                .and_then(|n| usize::try_from(n).ok()),
            ..Identity::default()
        }),
        Err(error) if error.kind == ErrorKind::Auth => Err(error),
        Err(error) if error.kind == ErrorKind::NotFound && usual_address => Err(error),
        // The question was a courtesy; only a clear no counts.
        Err(_) => Ok(Identity::default()),
    }
}

/// Asks a server of the user's for its list of models.
async fn by_list(connection: &Connection, entry: &Entry) -> Result<Identity, ModelError> {
    let asked = connection
        .ask(Question::get("models", &|raw| Ok(raw.clone())))
        .await;
    let told = match asked {
        Ok(told) => told.answer,
        Err(error)
            if matches!(
                error.kind,
                ErrorKind::Auth | ErrorKind::Transport | ErrorKind::Timeout
            ) =>
        {
            return Err(error);
        }
        Err(_) => return Ok(Identity::default()),
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
        let names: Vec<_> = models
            .iter()
            .filter_map(|m| text(m, "/id"))
            .take(8)
            .collect();
        return Err(ModelError::new(
            ErrorKind::NotFound,
            format!("{} does not serve `{}`", entry.title, connection.model),
        )
        .hint(format!("it serves: {}", names.join(", "))));
    };
    Ok(Identity {
        described: json!({"root": found.get("root"), "id": found.get("id")}),
        context_length: found
            .get("max_model_len")
            .and_then(Value::as_u64)
            .and_then(|n| usize::try_from(n).ok()),
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
async fn llamacpp(connection: &Connection) -> Result<Identity, ModelError> {
    let models = connection
        .ask(Question::get("models", &|raw| Ok(raw.clone())))
        .await?
        .answer;
    let props = connection
        .ask(Question::get("/props", &|raw| Ok(raw.clone())))
        .await?
        .answer;
    let tokens = async |of: &str| {
        let body = tokenize_body(of, false);
        connection
            .ask(Question::post("/tokenize", &|_| body.clone(), &read_tokens))
            .await
            .map(|told| told.answer)
    };
    let plain = tokens(".").await?;
    let start_text = ["/bos_token", "/eos_token"]
        .iter()
        .filter_map(|path| text(&props, path))
        .find(|name| !name.is_empty());
    let start_token = match &start_text {
        Some(name) => match tokens(name).await?.as_slice() {
            [token] => Some(token.id),
            _ => None,
        },
        None => None,
    };
    let meta = models.pointer("/data/0/meta").cloned().unwrap_or_default();
    let number =
        |value: &Value, path: &str| usize::try_from(count(value, path)).ok().filter(|n| *n > 0);
    Ok(Identity {
        described: json!({
            "n_params": meta.get("n_params"),
            "size": meta.get("size"),
            "ftype": meta.get("ftype"),
            "n_vocab": meta.get("n_vocab"),
            "template": props.get("chat_template"),
        }),
        context_length: number(&props, "/default_generation_settings/n_ctx"),
        slots: number(&props, "/total_slots"),
        pictures: props.pointer("/modalities/vision").and_then(Value::as_bool),
        vocabulary: count(&meta, "/n_vocab"),
        plain_token: plain.first().map_or(0, |t| t.id),
        start_token,
        text_start: text_start(&props, &tokens(&TEXT_ENDS.concat()).await?),
        start_text,
        parameters: Some(count(&meta, "/n_params")).filter(|n| *n > 0),
    })
}
