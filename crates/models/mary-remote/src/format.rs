//! What a wire format is: a file of its own behind [`WireFormat`], and a line in [`FORMATS`].
//!
//! A format turns a request into a body and a body into an answer, and says how its services are
//! talked to (where the key goes, which headers). It knows nothing of retries, money or files, and
//! nothing outside of it asks which format it is.

use std::fmt::Debug;

use mary_contract::{ErrorKind, Generated, ModelError, Scored};
use serde_json::Value;

use crate::batch_api::BatchDialect;
use crate::http::KeyHeader;
use crate::options::Options;
use crate::stream::StreamFormat;
use crate::wire::{Asked, Read, ReadError};
use crate::{anthropic, google, openai_chat, openai_completions};

/// All formats. A service in the catalogue names the ones it speaks.
pub static FORMATS: &[&dyn WireFormat] = &[
    &openai_chat::OpenAiChat,
    &openai_completions::OpenAiCompletions,
    &anthropic::Anthropic,
    &google::Google,
];

/// One way of asking for words over HTTP.
pub trait WireFormat: Debug + Send + Sync {
    /// A short name, for messages and tests.
    fn name(&self) -> &'static str;

    /// Where requests for a model go, below the base address.
    fn path(&self, model: &str) -> String;

    /// The body of a request for words.
    fn body(&self, asked: &Asked<'_>) -> Value;

    /// Reads the words out of an answer.
    fn read(&self, raw: &Value) -> Result<Read<Generated>, ReadError>;

    /// How answers come piece by piece, where they can.
    fn streams(&self) -> Option<&'static dyn StreamFormat> {
        None
    }

    /// How the key is shown to the service.
    fn key_header(&self) -> KeyHeader {
        KeyHeader::Bearer
    }

    /// Headers that every request has.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Whether a request can hold pictures.
    fn takes_images(&self) -> bool {
        true
    }

    /// Whether beginnings that requests share are marked in the body, so that the service caches
    /// them.
    fn marks_prefixes(&self) -> bool {
        false
    }

    /// Tokens of reasoning that the user's settings ask for, where the format sends a number.
    fn thinking(&self, _options: &Options) -> Option<u32> {
        None
    }

    /// Whether the most probable next tokens can be asked for.
    fn lists_top_tokens(&self) -> bool {
        false
    }

    /// The body of a request for the most probable next tokens.
    fn top_body(&self, asked: &Asked<'_>) -> Value {
        self.body(asked)
    }

    /// Reads the log-probabilities of single-token continuations out of the list of the most
    /// probable first tokens.
    fn read_top(&self, _raw: &Value, _continuations: &[String]) -> Result<Read<Scored>, ReadError> {
        Err(ReadError::Final(ModelError::new(
            ErrorKind::BadRequest,
            format!("{} lists no log-probabilities", self.name()),
        )))
    }

    /// The batch API of services that speak this format, where there is one.
    fn batches(&self) -> Option<BatchDialect> {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::io::{Read as _, Write as _};

    use mary_contract::{Finish, Generate, Model as _, ModelSettings, Prompt, Sampling, Usage};
    use serde_json::json;

    use super::*;
    use crate::catalogue::{Entry, SERVICES};
    use crate::money::Ledger;
    use crate::provider::RemoteProvider;
    use crate::wire::{Unreadable, text, words};

    #[test]
    fn every_format_is_spoken_by_a_service_and_every_service_speaks_a_listed_one() {
        let listed: HashSet<_> = FORMATS.iter().map(|f| f.name()).collect();
        assert_eq!(listed.len(), FORMATS.len(), "two formats of one name");
        let spoken: HashSet<_> = SERVICES
            .iter()
            .flat_map(|s| [s.chat, s.plain])
            .flatten()
            .map(|f| f.name())
            .collect();
        assert_eq!(spoken, listed);
    }

    /// A format that nobody speaks: everything a new one takes is this, in a file of its own, a line
    /// in [`FORMATS`], and the name in a service's entry.
    #[derive(Debug)]
    struct Telegram;

    impl WireFormat for Telegram {
        fn name(&self) -> &'static str {
            "telegram"
        }

        fn path(&self, model: &str) -> String {
            format!("wire/{model}")
        }

        fn body(&self, asked: &Asked<'_>) -> Value {
            let turns = &asked.generate.prompt.turns;
            let said: String = turns.iter().map(|t| words(&t.parts)).collect();
            json!({"message": said, "stop": asked.max_tokens()})
        }

        fn read(&self, raw: &Value) -> Result<Read<Generated>, ReadError> {
            let said = text(raw, "/said").ok_or_else(|| Unreadable::missing("said"))?;
            Ok(Read {
                answer: Generated {
                    text: said,
                    finish: Finish::Stop,
                    reasoning: None,
                },
                usage: Usage::default(),
                usage_told: false,
                cache_writes: 0,
                model_version: None,
            })
        }

        fn key_header(&self) -> KeyHeader {
            KeyHeader::XApiKey
        }
    }

    static OFFICE: Entry = Entry {
        name: "office",
        title: "the office",
        chat: Some(&Telegram),
        ..crate::catalogue::OWN_SERVER
    };

    #[test]
    fn a_new_format_is_one_file_and_is_asked_like_the_others() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut heard = Vec::new();
            let mut piece = [0; 4096];
            while !heard.ends_with(b"}") {
                let n = stream.read(&mut piece).unwrap();
                heard.extend_from_slice(&piece[..n]);
            }
            let body = r#"{"said":"STOP"}"#;
            let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 15\r\n\r\n";
            stream
                .write_all(format!("{head}{body}").as_bytes())
                .unwrap();
            String::from_utf8(heard).unwrap()
        });
        let provider = RemoteProvider {
            entry: &OFFICE,
            ledger: Ledger::new(),
            watched: false,
        };
        let settings = ModelSettings {
            base_url: Some(format!("http://{address}/v1")),
            args: [("check".to_owned(), "false".to_owned())].into(),
            ..ModelSettings::default()
        };
        let model = provider
            .open_remote(&"office/clerk".parse().unwrap(), &settings)
            .unwrap();
        assert!(model.generator().is_some());
        let asked = Generate {
            prompt: Prompt::chat("HELLO"),
            sampling: Sampling::greedy(3),
        };
        let remote = std::sync::Arc::clone(&model.remote);
        let reply =
            crate::queue::wait(async move { remote.generate_one(asked, 0, None).await }).unwrap();
        assert_eq!(reply.answer.text, "STOP");
        let heard = server.join().unwrap();
        assert!(heard.starts_with("POST /v1/wire/clerk"), "{heard}");
        assert!(
            heard.ends_with(r#"{"message":"HELLO","stop":3}"#),
            "{heard}"
        );
    }
}
