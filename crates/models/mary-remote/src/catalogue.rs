//! Who can be asked: an entry for each service in `data/services.json`, with what it takes, what it cannot
//! do and what is known of its models by their names.

use std::sync::LazyLock;

use mary_contract::Capabilities;
use serde::{Deserialize, Deserializer};

use crate::format::{BatchFormat, WireFormat};
use crate::formats::FORMATS;
use crate::options::Logprobs;
use crate::wire::{Extensions, RequestShape};

/// Whether a model takes pictures.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pictures {
    /// All models of the service do, but those whose name begins with one of these.
    AllBut(#[serde(borrow)] Vec<&'static str>),
    /// Only those whose name holds one of these.
    Named(#[serde(borrow)] Vec<&'static str>),
    /// It depends on the model, and its name does not always tell; the user may say so.
    #[default]
    Unknown,
}

/// How a service tells about itself when a model is opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Introduction {
    #[default]
    None,
    Name,
    List,
    /// By the llama.cpp server's own endpoints.
    LlamaCpp,
}

/// What is known of models by the beginning or a part of their name.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelRule {
    begins: Vec<&'static str>,
    holds: Vec<&'static str>,
    /// But not those whose name holds this.
    without: Option<&'static str>,
    reasoning: bool,
    /// Parameters they do not accept.
    omit: Vec<&'static str>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CatalogueEntry {
    /// The word before the slash.
    pub name: &'static str,
    pub title: &'static str,
    /// One line for `mary models`.
    pub about: &'static str,
    /// Its format for chat prompts, where it takes them.
    #[serde(deserialize_with = "format_of_name")]
    pub chat: Option<&'static dyn WireFormat>,
    /// Its format for plain text, where it continues that.
    #[serde(deserialize_with = "format_of_name")]
    pub plain: Option<&'static dyn WireFormat>,
    /// Its answers say what they cost.
    pub tells_cost: bool,
    /// Where it listens, unless the user says otherwise. Empty: the user must.
    pub base_url: &'static str,
    /// Variables that may hold the key, the first being the one to tell users about.
    pub keys: Vec<&'static str>,
    pub needs_key: bool,
    /// Where keys and credit are looked after.
    pub console: &'static str,
    /// How it gives log-probabilities, where it does.
    pub logprobs: Logprobs,
    /// The only models for which it does, where it does not for all.
    pub logprobs_only: Vec<&'static str>,
    pub pictures: Pictures,
    pub extensions: Extensions,
    /// Its token limit is called `max_completion_tokens`.
    pub max_completion_tokens: bool,
    pub models: Vec<ModelRule>,
    /// It has the batch API of its format.
    pub batches: bool,
    pub introduction: Introduction,
    /// Requests in flight at once, at most, unless the user says otherwise.
    pub max_in_flight: usize,
    /// How to start it, for servers that run on the user's machines.
    pub start: &'static str,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Catalogue {
    everywhere: Vec<ModelRule>,
    /// Words in the names of models that take pictures.
    #[serde(borrow)]
    pictures: Vec<&'static str>,
    services: Vec<CatalogueEntry>,
}

static CATALOGUE: LazyLock<Catalogue> =
    // A test reads the file; nothing else can make it unreadable.
    LazyLock::new(|| serde_json::from_str(FILE).unwrap_or_default());
const FILE: &str = include_str!("../data/services.json");

pub fn services() -> &'static [CatalogueEntry] {
    &CATALOGUE.services
}

fn format_of_name<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'static dyn WireFormat>, D::Error> {
    let name = String::deserialize(deserializer)?;
    let found = FORMATS.iter().find(|format| format.name() == name);
    let unknown = || serde::de::Error::custom(format!("no format is called `{name}`"));
    Ok(Some(*found.ok_or_else(unknown)?))
}

impl CatalogueEntry {
    pub fn main_format(&self) -> Option<&'static dyn WireFormat> {
        self.chat.or(self.plain)
    }

    pub fn batch_format(&self) -> Option<&'static dyn BatchFormat> {
        self.main_format().filter(|_| self.batches)?.batches()
    }

    /// How log-probabilities are asked of this model, unless the user says otherwise.
    pub fn logprobs_of(&self, model: &str) -> Logprobs {
        let only = &self.logprobs_only;
        let excluded = !only.is_empty() && !only.contains(&bare_name(model));
        match self.logprobs {
            _ if excluded => Logprobs::None,
            Logprobs::Top if self.shape(model).reasoning => Logprobs::None,
            other => other,
        }
    }

    /// What a model of this name is known not to accept.
    pub fn shape(&self, model: &str) -> RequestShape {
        let bare = bare_name(model);
        let mut shape = RequestShape {
            max_completion_tokens: self.max_completion_tokens,
            ..RequestShape::default()
        };
        for rule in self.models.iter().chain(&CATALOGUE.everywhere) {
            let named = rule.begins.iter().any(|n| bare.starts_with(n))
                || rule.holds.iter().any(|n| bare.contains(n));
            if named && !rule.without.is_some_and(|n| bare.contains(n)) {
                shape.reasoning |= rule.reasoning;
                shape.omit.extend(rule.omit.iter().map(|&n| n.to_owned()));
            }
        }
        shape
    }

    pub fn capabilities(
        &self,
        model: &str,
        logprobs: Logprobs,
        images: Option<bool>,
    ) -> Capabilities {
        let bare = bare_name(model);
        let pictures = match &self.pictures {
            Pictures::AllBut(names) => !names.iter().any(|n| bare.starts_with(n)),
            Pictures::Named(names) => names.iter().any(|n| bare.contains(n)),
            Pictures::Unknown => CATALOGUE.pictures.iter().any(|n| bare.contains(n)),
        };
        let (chat, plain) = (self.chat.is_some(), self.plain.is_some());
        Capabilities {
            generate: true,
            score: logprobs != Logprobs::None,
            score_single_token_only: logprobs == Logprobs::Top,
            observe: false,
            intervene: false,
            images: chat && images.unwrap_or(pictures),
            chat,
            plain,
        }
    }
}

/// The name without an owner in front (`openai/gpt-4o` on OpenRouter).
fn bare_name(model: &str) -> &str {
    model.rsplit('/').next().unwrap_or(model)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn entry(name: &str) -> &'static CatalogueEntry {
        services().iter().find(|s| s.name == name).unwrap()
    }

    #[test]
    fn the_file_is_read_and_every_format_in_the_registry_is_spoken() {
        serde_json::from_str::<Catalogue>(FILE).unwrap();
        let spoken: BTreeSet<_> = services()
            .iter()
            .flat_map(|s| [s.chat, s.plain])
            .flatten()
            .map(|f| f.name())
            .collect();
        let listed: BTreeSet<_> = FORMATS.iter().map(|f| f.name()).collect();
        assert_eq!(listed.len(), FORMATS.len(), "two formats of one name");
        assert_eq!(spoken, listed);
        let batches = services().iter().filter(|s| s.batches);
        assert!(batches.clone().all(|s| s.batch_format().is_some()));
    }

    #[test]
    fn names_are_unique_and_every_hosted_service_names_its_key() {
        let mut names: Vec<_> = services().iter().map(|s| s.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), services().len());
        for service in services() {
            assert!(!service.keys.is_empty(), "{}", service.name);
            assert!(!service.about.is_empty() && !service.title.is_empty());
            assert_eq!(service.base_url.starts_with("https:"), service.needs_key);
        }
    }

    #[test]
    fn reasoning_models_are_known_by_name() {
        for (service, model, reasons) in [
            ("openai", "o3-mini", true),
            ("openai", "gpt-5-nano", true),
            ("openai", "gpt-5-chat-latest", false),
            ("openai", "gpt-4o", false),
            ("openrouter", "openai/o1", true),
            ("google", "gemini-2.5-flash", true),
            ("google", "gemini-2.0-flash", false),
            ("vllm", "o1-lookalike", false),
        ] {
            let shape = entry(service).shape(model);
            assert_eq!(shape.reasoning, reasons, "{service}/{model}");
        }
        assert!(!entry("openai").shape("o1").sends("temperature"));
        assert!(entry("openai").shape("gpt-4o").sends("temperature"));
        assert!(!entry("anthropic").shape("claude-sonnet-4-5").sends("top_p"));
    }

    #[test]
    fn cards_tell_what_cannot_be_done() {
        let card = |service: &str, model: &str| {
            let entry = entry(service);
            entry.capabilities(model, entry.logprobs_of(model), None)
        };
        assert!(card("openai", "gpt-4o").score_single_token_only);
        assert!(
            !card("openai", "o3").score,
            "reasoning models list no log-probabilities"
        );
        assert!(!card("anthropic", "claude-opus-4-1").score);
        assert!(!card("groq", "llama-3.3-70b-versatile").score);
        let vllm = card("vllm", "meta-llama/Llama-3.1-8B");
        assert!(vllm.score && !vllm.score_single_token_only && vllm.plain && vllm.chat);
        assert!(!vllm.images);
        assert!(card("vllm", "Qwen/Qwen2.5-vl-7B").images);
        assert!(card("openai-completions", "davinci-002").score);
        assert!(!card("openai-completions", "gpt-3.5-turbo-instruct").score);
        assert!(!card("openai-completions", "davinci-002").chat);
        assert!(!card("deepseek", "deepseek-reasoner").score);
    }
}
