//! The fourth thing that can be asked of a model: what it predicts when something inside it is changed while it reads.

use serde::{Deserialize, Serialize};

use crate::{Score, Scored, Vector};

/// Ask how probable some texts are while values inside the model are changed.
///
/// ```
/// use mary_contract::{Change, Details, Intervene, Operation, Place, Prompt, Score, Site, Start};
/// // The residual stream of the third token, as it is after two blocks, comes from another sentence.
/// let patched = Intervene {
///     score: Score {
///         prefix: Prompt::plain("The keys to the cabinet"),
///         continuations: vec![" are".into(), " is".into()],
///         start: Start::Always,
///         details: Details::default(),
///     },
///     changes: vec![Change {
///         site: Site::Stream(2),
///         place: Place::Token(1),
///         operation: Operation::From {
///             text: "The key to the cabinet".into(),
///             place: Place::Token(1),
///             site: None,
///         },
///     }],
///     states: vec![],
/// };
/// assert_eq!(patched.changes[0].site.to_string(), "stream 2");
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Intervene {
    /// What is scored, with plain words before it.
    pub score: Score,
    /// What is changed, all in one pass. Without any the scores are the ordinary ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// Values that come back besides, as they are after the changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<(Site, Place)>,
}

/// A place inside the model and what happens there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Which value.
    pub site: Site,
    /// At which tokens.
    pub place: Place,
    /// What becomes of it.
    pub operation: Operation,
}

/// A value that a model computes for every token. Blocks and heads count from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Site {
    /// The residual stream after so many blocks: 0 is what the first block reads, the number of blocks what the
    /// final norm reads.
    Stream(usize),
    /// What the attention of a block adds to the stream.
    Attention(usize),
    /// What the feed-forward layers of a block add to the stream.
    FeedForward(usize),
    /// What one head of a block gathers, before the heads are mixed.
    Head(usize, usize),
    /// How much one head of a block attends to each token from the first on. It can be looked at, not changed.
    Pattern(usize, usize),
}

impl std::fmt::Display for Site {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stream(layer) => write!(f, "stream {layer}"),
            Self::Attention(layer) => write!(f, "attention {layer}"),
            Self::FeedForward(layer) => write!(f, "feed-forward {layer}"),
            Self::Head(layer, head) => write!(f, "head {layer}.{head}"),
            Self::Pattern(layer, head) => write!(f, "pattern {layer}.{head}"),
        }
    }
}

/// Some tokens of the words before what is scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// One token, counted from 0 without what the start convention puts first.
    Token(usize),
    /// Every token that holds at least one byte of `start..end`.
    Span {
        /// First byte of the stretch.
        start: usize,
        /// One past the last byte.
        end: usize,
    },
    /// The last token, after which the continuations are predicted.
    Last,
    /// Every token that is read, the start token and the continuations included.
    All,
}

/// What becomes of a value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Replaced by what the model has in the same site, or another of the same width, when it reads another text
    /// unchanged. There must be as many tokens in both places, or one in the other text.
    From {
        /// The other text, read from the same start.
        text: String,
        /// Where in it.
        place: Place,
        /// Which value there; the same site where none is named. It must not lie behind the one that is changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        site: Option<Site>,
    },
    /// Replaced by zeros.
    Zero,
    /// Replaced by this vector.
    Set(Vector),
    /// This vector is added, times a factor.
    Add(Vector, f32),
    /// Loses what points in the direction of this vector.
    Remove(Vector),
}

/// What a changed model predicts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Intervened {
    /// The continuations, in the order asked.
    pub scores: Scored,
    /// For each value asked for, one vector per token.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<Vec<Vector>>,
}
