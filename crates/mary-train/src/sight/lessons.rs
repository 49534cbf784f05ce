//! From pictures with questions to what the model learns from: tokens, the places of pictures, patches.

use crate::corpus::scenes::{Phrase, Question, Scene, lesson};
use crate::net::{Segment, Sight, patches};
use crate::{TrainError, tokenizer};
use tokenizers::{AddedToken, Tokenizer};

use super::SightSize;

/// The token whose places a picture takes.
pub const IMAGE: &str = "<image>";

/// How much the end after an answer counts beside the answer: enough that a written answer stops.
const END_WEIGHT: f32 = 0.1;

/// Lessons whose words the tokenizer is trained on; there are few wordings, and these hold all of them.
const TOKENIZER_LESSONS: u64 = 2_000;

/// A tokenizer trained on the words of lessons, with a token for pictures behind all others.
pub(super) fn train_tokenizer(vocabulary: usize) -> Result<Tokenizer, TrainError> {
    let words = |number| {
        let phrases = lesson(0, number).phrases.into_iter();
        phrases.map(|phrase| phrase.text).collect::<String>()
    };
    let texts = (0..TOKENIZER_LESSONS).map(words);
    let mut tokenizer = tokenizer::train(texts, vocabulary.saturating_sub(1))?;
    tokenizer
        .add_special_tokens([AddedToken::from(IMAGE, true)])
        .map_err(|e| TrainError::Tokenizer(e.to_string()))?;
    Ok(tokenizer)
}

/// Reads words and pictures as the model will.
#[derive(Debug, Clone)]
pub(super) struct Pupil {
    pub(super) tokenizer: Tokenizer,
    pub(super) image: u32,
    pub(super) end: u32,
    size: SightSize,
}

impl Pupil {
    pub(super) fn new(tokenizer: Tokenizer, size: SightSize) -> Result<Self, TrainError> {
        let id = |token: &str| {
            let found = tokenizer.token_to_id(token);
            found.ok_or_else(|| TrainError::Tokenizer(format!("no token {token}")))
        };
        let (image, end) = (id(IMAGE)?, id(tokenizer::END)?);
        Ok(Self {
            tokenizer,
            image,
            end,
            size,
        })
    }

    /// Adds one picture and the texts about it, in which the tokens of answers count.
    fn add(&self, sight: &mut Sight, scene: &Scene, phrases: &[Phrase]) -> Result<(), TrainError> {
        let size = &self.size;
        let side = size.image / size.patch.max(1);
        let mut tokens = vec![self.image; side * side];
        let mut counts = vec![0.0; side * side];
        for phrase in phrases {
            tokens.extend(tokenizer::encode(&self.tokenizer, &phrase.text)?);
            counts.resize(tokens.len(), if phrase.learned { 1.0 } else { 0.0 });
            if phrase.ends {
                tokens.push(self.end);
                counts.push(END_WEIGHT);
            }
        }
        let start = sight.packed.tokens.len();
        let length = tokens.len().saturating_sub(1);
        sight.places.extend(start..start + side * side);
        patches(
            &scene.rgb(size.image),
            size.image,
            size.patch,
            &mut sight.patches,
        );
        let targets = tokens.iter().zip(&counts).skip(1);
        sight.packed.targets.extend(targets.map(|(t, c)| (*t, *c)));
        sight.packed.tokens.extend(&tokens[..length]);
        sight.packed.segments.push(Segment { start, length });
        Ok(())
    }

    /// The lessons of these numbers, packed.
    pub(super) fn lessons(
        &self,
        seed: u64,
        numbers: std::ops::Range<u64>,
    ) -> Result<Sight, TrainError> {
        let mut sight = Sight::default();
        for number in numbers {
            let lesson = lesson(seed, number);
            self.add(&mut sight, &lesson.scene, &lesson.phrases)?;
        }
        Ok(sight)
    }

    /// One question with each of its answers in turn, all about this picture; what counts are the tokens
    /// of the answers.
    pub(super) fn answers(
        &self,
        scene: &Scene,
        question: &Question,
    ) -> Result<Vec<Sight>, TrainError> {
        let answers = question.kind.answers().iter();
        answers
            .map(|answer| {
                let mut sight = Sight::default();
                self.add(&mut sight, scene, &question.answered(answer))?;
                // The end is no part of the answer.
                for target in &mut sight.packed.targets {
                    target.1 = if target.0 == self.end { 0.0 } else { target.1 };
                }
                Ok(sight)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pupil() -> Pupil {
        let size = SightSize::named("pico").expect("a size");
        let tokenizer = train_tokenizer(size.vocabulary).expect("trains");
        Pupil::new(tokenizer, size).expect("a pupil")
    }

    #[test]
    fn a_text_in_parts_has_the_tokens_of_the_whole() {
        let pupil = pupil();
        let rows = (pupil.size.image / pupil.size.patch).pow(2);
        // Among so many are grids, questions and descriptions.
        for number in 0..16 {
            let sight = pupil.lessons(1, number..number + 1).expect("a lesson");
            let mut text = IMAGE.repeat(rows);
            for phrase in lesson(1, number).phrases {
                text += &phrase.text;
                text += if phrase.ends { tokenizer::END } else { "" };
            }
            let ids = tokenizer::encode(&pupil.tokenizer, &text).expect("encodes");
            assert_eq!(sight.packed.tokens, ids[..ids.len() - 1], "{text}");
            assert_eq!(sight.places, (0..rows).collect::<Vec<_>>());
            assert_eq!(sight.patches.len(), 3 * 48 * 48);
            assert!(ids.len() < rows + 4 * 30, "words are tokens: {}", ids.len());
        }
    }

    #[test]
    fn the_answers_of_a_question_differ_in_what_counts_alone() {
        let pupil = pupil();
        let posed = &crate::corpus::scenes::exam(1, 1)[0];
        let all = pupil.answers(&posed.scene, &posed.question).expect("four");
        for (sight, answer) in all.iter().zip(posed.question.kind.answers()) {
            let counted = sight.packed.targets.iter().filter(|t| t.1 > 0.0);
            let ids: Vec<u32> = counted.map(|t| t.0).collect();
            let said = pupil.tokenizer.decode(&ids, true).expect("decodes");
            assert_eq!(said.trim(), *answer);
        }
    }
}
