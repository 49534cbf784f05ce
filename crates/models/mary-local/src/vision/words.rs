//! The text that stands for a picture in a prompt, as processors write it.

use crate::pictures::Layout;

use super::config::Connector;
use crate::errors::{Result, bad_request};

/// What a picture is written as, before and after it is known how many tokens it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Words {
    /// What a chat template writes for a picture, and what takes its place is made from.
    pub marker: String,
    pub plain: String,
    token: String,
}

impl Words {
    pub(crate) fn new(connector: &Connector, token: String) -> Self {
        let marker = match connector {
            Connector::Gemma3 { .. } => "<start_of_image>".to_owned(),
            _ => token.clone(),
        };
        let plain = match connector {
            Connector::Qwen { .. } => format!("<|vision_start|>{token}<|vision_end|>"),
            _ => marker.clone(),
        };
        Self {
            marker,
            plain,
            token,
        }
    }

    pub(crate) fn written(&self, connector: &Connector, layout: &Layout, rows: usize) -> String {
        let token = &self.token;
        match (connector, layout) {
            (
                Connector::Idefics3 { .. },
                &Layout::Split {
                    rows: down,
                    columns,
                },
            ) => {
                let tiles = down * columns + 1;
                let each = token.repeat(rows / tiles);
                let fake = "<fake_token_around_image>";
                let mut text = String::new();
                for row in 1..=down {
                    for column in 1..=columns {
                        text.push_str(&format!("{fake}<row_{row}_col_{column}>{each}"));
                    }
                    text.push('\n');
                }
                let before = if down > 0 { "\n" } else { "" };
                text.push_str(&format!("{before}{fake}<global-img>{each}{fake}"));
                text
            }
            (Connector::Gemma3 { .. }, _) => format!(
                "\n\n<start_of_image>{}<end_of_image>\n\n",
                token.repeat(rows)
            ),
            _ => token.repeat(rows),
        }
    }

    pub(crate) fn place(&self, text: &str, pictures: &[String]) -> Result<String> {
        let places = text.matches(&self.marker).count();
        if places != pictures.len() {
            let message = format!(
                "the prompt shows {} pictures; as this model reads it, it has {places} places for them",
                pictures.len()
            );
            return Err(bad_request(message).hint(format!(
                "a text must not hold `{}` itself, and the chat template must know pictures",
                self.marker
            )));
        }
        let mut parts = text.split(&self.marker);
        let mut out = parts.next().unwrap_or_default().to_owned();
        for (picture, part) in pictures.iter().zip(parts) {
            out.push_str(picture);
            out.push_str(part);
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_marker_is_one_picture_and_a_text_may_not_forge_one() {
        let words = Words::new(&Connector::Llava { class: false }, "<image>".into());
        let two = ["AA".to_owned(), "B".to_owned()];
        let placed = words.place("x <image> y <image>", &two).unwrap();
        assert_eq!(placed, "x AA y B");
        let error = words.place("x <image> y <image>", &two[..1]).unwrap_err();
        assert!(error.message.contains("2 places"), "{error}");
    }

    #[test]
    fn idefics_names_its_tiles() {
        let kind = Connector::Idefics3 { factor: 2 };
        let words = Words::new(&kind, "<image>".into());
        let layout = Layout::Split {
            rows: 1,
            columns: 2,
        };
        assert_eq!(
            words.written(&kind, &layout, 3),
            "<fake_token_around_image><row_1_col_1><image><fake_token_around_image><row_1_col_2><image>\n\
             \n<fake_token_around_image><global-img><image><fake_token_around_image>"
        );
    }
}
