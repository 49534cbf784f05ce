//! What is said to models and people in many words, by name.

use std::collections::BTreeMap;

/// Texts from a data file that is part of the program, with places such as `{concept}`.
#[derive(Debug, Default)]
pub struct Texts(BTreeMap<String, String>);

impl Texts {
    /// Reads a data file. One that cannot be read holds no texts, which a test of what is asked finds.
    pub fn read(json: &str) -> Self {
        Self(serde_json::from_str(json).unwrap_or_default())
    }

    /// A text as it stands in the file; empty where there is none.
    pub fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// A text with its places filled. What is filled in is not searched for places.
    pub fn say(&self, name: &str, places: &[(&str, &str)]) -> String {
        let mut parts = self.get(name).split('{');
        let mut said = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let place = part.split_once('}');
            let known = |name: &str| places.iter().find(|(place, _)| *place == name);
            match place.and_then(|(name, rest)| Some((known(name)?.1, rest))) {
                Some((words, rest)) => said.extend([words, rest]),
                None => said.extend(["{", part]),
            }
        }
        said
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_filled_once_and_others_stay() {
        let texts = Texts::read(r#"{"a": "{x} and {y}, {no} place"}"#);
        let said = texts.say("a", &[("x", "{y}"), ("y", "z")]);
        assert_eq!(said, "{y} and z, {no} place");
        assert_eq!(texts.say("b", &[]), "");
    }
}
