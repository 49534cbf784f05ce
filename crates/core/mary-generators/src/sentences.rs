//! Pairs of sentences as data: what is drawn, in which order, and a template of the good and of the bad sentence.
//!
//! A step `verb = transitive` draws from the list `transitive`, or as the mixture of that name says; `who/whom = two people`
//! draws two that differ, by drawing again (`pair people`: by a step to another). `bad = some | most` takes one of
//! several texts, of which `=people` draws a word and `'people'` is one; with several names on the left the parts of a
//! text at `/` go to one each. In front of texts, `coin` decides between two and `1/4` takes the first one time in
//! four. Steps in brackets are taken again until what their `until` says holds.
//!
//! `{who}` in a text is what was drawn, `{who.many}` one of its forms. A place where nothing was drawn leaves no blank.

use std::borrow::Cow;
use std::collections::BTreeMap;

use rand::RngExt as _;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::{Stream, below, coin};

/// A text, or a word with its forms in the order of `FORMS`; a noun's gender comes last where it has one.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Word {
    Text(String),
    Forms(Vec<Word>),
}

/// What forms of nouns, of verbs and of irregular verbs are called.
const FORMS: [&[&str]; 7] = [
    &["one", "base"],
    &["many", "third"],
    &["past"],
    &["participle"],
    &["ing", "regular"],
    &["objects"],
    &["attributive"],
];

impl Word {
    /// The text, or the first form.
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Forms(forms) => forms.first().map_or("", Self::text),
        }
    }

    pub fn part(&self, name: &str) -> Option<&Self> {
        let Self::Forms(forms) = self else {
            return None;
        };
        forms.get(FORMS.iter().position(|names| names.contains(&name))?)
    }

    fn gender(&self) -> &str {
        let forms = match self {
            Self::Text(_) => &[],
            Self::Forms(forms) => forms.as_slice(),
        };
        let mut texts = forms.iter().map(Self::text);
        texts.find(|t| ["female", "male"].contains(t)).unwrap_or("")
    }

    /// A form, or what goes with the word: its article, its gender and pronouns.
    fn form(&self, name: &str) -> String {
        let female = self.gender() == "female";
        let form = match (name, female) {
            ("", _) => self.text(),
            ("a", _) => return format!("{} {}", article(self.text()), self.text()),
            ("gender", _) => self.gender(),
            ("self", true) | ("other", false) => "herself",
            ("self", false) | ("other", true) => "himself",
            ("he", true) => "she",
            ("he", false) => "he",
            _ => self.part(name).map_or("", Self::text),
        };
        form.to_owned()
    }
}

#[derive(Debug, Default, Deserialize)]
struct Lists {
    #[serde(default, rename = "about")]
    _about: IgnoredAny,
    #[serde(flatten)]
    by_name: BTreeMap<String, Vec<Word>>,
}

/// How pairs of one kind are written.
#[derive(Debug, Deserialize)]
pub struct Paradigm {
    pub phenomenon: String,
    pub name: String,
    draw: Vec<Step>,
    good: String,
    bad: String,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Step {
    Draw(String),
    Again(Vec<Step>),
    Fork {
        odds: String,
        then: Vec<Step>,
        #[serde(rename = "else")]
        otherwise: Vec<Step>,
    },
}

#[derive(Debug, Default, Deserialize)]
struct Paradigms {
    mixed: BTreeMap<String, String>,
    paradigms: Vec<Paradigm>,
}

/// Lists of words and the paradigms that draw from them.
#[derive(Debug, Default)]
pub struct Writer {
    lists: Lists,
    file: Paradigms,
}

impl Writer {
    /// From two data files of the program: one that cannot be read is empty, which a test finds.
    pub fn read(words: &str, paradigms: &str) -> Self {
        Self {
            lists: serde_json::from_str(words).unwrap_or_default(),
            file: serde_json::from_str(paradigms).unwrap_or_default(),
        }
    }

    pub fn paradigms(&self) -> &[Paradigm] {
        &self.file.paradigms
    }

    /// A list of words; empty where there is none.
    pub fn words(&self, list: &str) -> &[Word] {
        self.lists.by_name.get(list).map_or(&[], Vec::as_slice)
    }

    /// A good sentence and the bad one beside it.
    pub fn pair(&self, paradigm: &Paradigm, rng: &mut Stream) -> (String, String) {
        let mut draft = Draft {
            writer: self,
            rng,
            drawn: Vec::new(),
        };
        draft.take(&paradigm.draw);
        let [good, bad] = [&paradigm.good, &paradigm.bad].map(|text| draft.sentence(text));
        (good, bad)
    }
}

struct Draft<'w, 'r> {
    writer: &'w Writer,
    rng: &'r mut Stream,
    /// What was drawn, by name; of two of one name the later counts.
    drawn: Vec<(&'w str, Cow<'w, Word>)>,
}

impl<'w> Draft<'w, '_> {
    /// Takes the steps; says whether all that they ask for holds.
    fn take(&mut self, steps: &'w [Step]) -> bool {
        let mut holds = true;
        for step in steps {
            match step {
                Step::Draw(step) => match step.strip_prefix("until ") {
                    Some(condition) => holds &= self.holds(condition),
                    None => self.draw(step),
                },
                Step::Fork {
                    odds,
                    then,
                    otherwise,
                } => {
                    let steps = if self.first(odds) { then } else { otherwise };
                    self.take(steps);
                }
                Step::Again(steps) => {
                    let before = self.drawn.len();
                    while !self.take(steps) {
                        self.drawn.truncate(before);
                    }
                }
            }
        }
        holds
    }

    fn draw(&mut self, step: &'w str) {
        let (names, source) = step.split_once(" = ").unwrap_or((step, ""));
        let Some((one, other)) = names.split_once('/') else {
            let word = self.word(source);
            self.drawn.push((names, word));
            return;
        };
        if let Some((how @ ("two" | "pair"), list)) = source.split_once(' ') {
            let words = self.writer.words(list);
            let first = below(self.rng, words.len());
            let mut second = first;
            while words.get(first) == words.get(second) {
                second = match how {
                    "two" => below(self.rng, words.len()),
                    _ => (first + self.rng.random_range(1..words.len())) % words.len(),
                };
            }
            let named = [(one, first), (other, second)];
            let named = named.map(|(name, at)| Some((name, Cow::Borrowed(words.get(at)?))));
            self.drawn.extend(named.into_iter().flatten());
            return;
        }
        let text = self.alternative(source);
        for (name, part) in names.split('/').zip(text.split('/')) {
            let part = Word::Text(self.filled(part));
            self.drawn.push((name, Cow::Owned(part)));
        }
    }

    /// A word of a list, or of what a source mixes, or a text.
    fn word(&mut self, source: &str) -> Cow<'w, Word> {
        if let Some(mixture) = self.writer.file.mixed.get(source) {
            return self.word(mixture);
        }
        if let Some(words) = self.list(source) {
            return Cow::Borrowed(&words[below(self.rng, words.len())]);
        }
        let text = self.alternative(source);
        match text.strip_prefix('=') {
            Some(list) => self.word(&self.filled(list)),
            None => Cow::Owned(Word::Text(self.filled(text.trim_matches('\'')))),
        }
    }

    /// The list of this name, or the words that stand in a form of a word that was drawn.
    fn list(&self, name: &str) -> Option<&'w [Word]> {
        let Some((name, form)) = name.split_once('.') else {
            return self.writer.lists.by_name.get(name).map(Vec::as_slice);
        };
        match self.drawn.iter().rfind(|(known, _)| *known == name)? {
            (_, Cow::Borrowed(word)) => match word.part(form)? {
                Word::Forms(words) => Some(words),
                Word::Text(_) => None,
            },
            _ => None,
        }
    }

    fn alternative<'s>(&mut self, source: &'s str) -> &'s str {
        let odds = source.split_once(' ');
        let odds = odds.filter(|(odds, _)| *odds == "coin" || odds.starts_with("1/"));
        let texts: Vec<&str> = odds.map_or(source, |o| o.1).split('|').collect();
        let at = match odds {
            Some((odds, _)) => usize::from(!self.first(odds)),
            None if texts.len() < 2 => 0,
            None => below(self.rng, texts.len()),
        };
        texts.get(at).map_or("", |text| text.trim())
    }

    fn first(&mut self, odds: &str) -> bool {
        match odds.strip_prefix("1/").and_then(|n| n.parse().ok()) {
            Some(n) => below(self.rng, n) == 0,
            None => coin(self.rng),
        }
    }

    /// Whether two texts are the same, or not, or a gerund is of another verb; alone, that there is one.
    fn holds(&self, condition: &str) -> bool {
        let sides = |sign| condition.split_once(sign);
        let filled = |(a, b)| (self.filled(a), self.filled(b));
        if let Some((a, b)) = sides(" != ").map(filled) {
            return a != b;
        }
        if let Some((a, b)) = sides(" == ").map(filled) {
            return a == b;
        }
        match sides(" not of ").map(filled) {
            Some((gerund, verb)) => !gerund.starts_with(verb.trim_end_matches('e')),
            None => !self.filled(condition).is_empty(),
        }
    }

    fn filled(&self, template: &str) -> String {
        let mut parts = template.split('{');
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (place, rest) = part.split_once('}').unwrap_or((part, ""));
            let (name, form) = place.split_once('.').unwrap_or((place, ""));
            let drawn = self.drawn.iter().rfind(|(known, _)| *known == name);
            text.extend(drawn.map(|(_, word)| word.form(form)));
            text.push_str(rest);
        }
        text
    }

    fn sentence(&self, template: &str) -> String {
        let filled = self.filled(template);
        let words: Vec<&str> = filled.split_whitespace().collect();
        capital(&words.join(" ").replace(" .", ".").replace(" ?", "?"))
    }
}

/// With a capital letter in front.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}

/// `a` or `an`, by the first letter, which is enough for the words of our lists.
pub fn article(word: &str) -> &'static str {
    let vowel = word.starts_with(|c: char| "aeiou".contains(c.to_ascii_lowercase()));
    if vowel { "an" } else { "a" }
}
