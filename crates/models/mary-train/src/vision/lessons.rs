//! From pictures with questions to what the model learns from: tokens, the places of pictures, patches.

use crate::corpus::scenes::{Phrase, Question, Scene, lesson};
use crate::net::{Segment, VisionPack, patches};
use crate::{Result, TrainError, tokenizer};
use tokenizers::{AddedToken, Tokenizer};

use super::VisionSize;

/// The token whose places a picture takes.
pub const IMAGE: &str = "<image>";

/// How much the end after an answer counts beside the answer: enough that a written answer stops.
const END_WEIGHT: f32 = 0.1;

/// Lessons whose words the tokenizer is trained on; there are few wordings, and these hold all of them.
const TOKENIZER_LESSONS: u64 = 2_000;

/// A tokenizer trained on the words of lessons, with a token for pictures behind all others.
pub(super) fn train_tokenizer(vocabulary: usize) -> Result<Tokenizer> {
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

#[derive(Debug, Clone)]
pub(super) struct LessonEncoder {
    pub(super) tokenizer: Tokenizer,
    pub(super) image: u32,
    pub(super) end: u32,
    size: VisionSize,
}

impl LessonEncoder {
    pub(super) fn new(tokenizer: Tokenizer, size: VisionSize) -> Result<Self> {
        let image = tokenizer::token_id(&tokenizer, IMAGE)?;
        let end = tokenizer::token_id(&tokenizer, tokenizer::END)?;
        Ok(Self {
            tokenizer,
            image,
            end,
            size,
        })
    }

    /// Adds one picture and the texts about it, in which the tokens of answers count.
    fn add(&self, pack: &mut VisionPack, scene: &Scene, phrases: &[Phrase]) -> Result<()> {
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
        let start = pack.packed.tokens.len();
        let length = tokens.len().saturating_sub(1);
        pack.places.extend(start..start + side * side);
        patches(
            &scene.rgb(size.image),
            size.image,
            size.patch,
            &mut pack.patches,
        );
        let targets = tokens.iter().zip(&counts).skip(1);
        pack.packed.targets.extend(targets.map(|(t, c)| (*t, *c)));
        pack.packed.tokens.extend(&tokens[..length]);
        pack.packed.segments.push(Segment { start, length });
        Ok(())
    }

    pub(super) fn lessons(&self, seed: u64, numbers: std::ops::Range<u64>) -> Result<VisionPack> {
        let mut pack = VisionPack::default();
        for number in numbers {
            let lesson = lesson(seed, number);
            self.add(&mut pack, &lesson.scene, &lesson.phrases)?;
        }
        Ok(pack)
    }

    /// One question with each of its answers in turn, all about this picture; what counts are the tokens
    /// of the answers.
    pub(super) fn answers(&self, scene: &Scene, question: &Question) -> Result<Vec<VisionPack>> {
        let answers = question.kind.answers().iter();
        answers
            .map(|answer| {
                let mut pack = VisionPack::default();
                self.add(&mut pack, scene, &question.answered(answer))?;
                // The end is no part of the answer.
                for target in &mut pack.packed.targets {
                    target.1 = if target.0 == self.end { 0.0 } else { target.1 };
                }
                Ok(pack)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoder() -> LessonEncoder {
        let size = VisionSize::named("pico").expect("a size");
        let tokenizer = train_tokenizer(size.vocabulary).expect("trains");
        LessonEncoder::new(tokenizer, size).expect("a encoder")
    }

    #[test]
    fn a_text_in_parts_has_the_tokens_of_the_whole() {
        let encoder = encoder();
        let rows = (encoder.size.image / encoder.size.patch).pow(2);
        // Among so many are grids, questions and descriptions.
        for number in 0..16 {
            let pack = encoder.lessons(1, number..number + 1).expect("a lesson");
            let mut text = IMAGE.repeat(rows);
            for phrase in lesson(1, number).phrases {
                text += &phrase.text;
                text += if phrase.ends { tokenizer::END } else { "" };
            }
            let ids = tokenizer::encode(&encoder.tokenizer, &text).expect("encodes");
            assert_eq!(pack.packed.tokens, ids[..ids.len() - 1], "{text}");
            assert_eq!(pack.places, (0..rows).collect::<Vec<_>>());
            assert_eq!(pack.patches.len(), 3 * 48 * 48);
            assert!(ids.len() < rows + 4 * 30, "words are tokens: {}", ids.len());
        }
    }

    #[test]
    fn the_answers_of_a_question_differ_in_what_counts_alone() {
        let encoder = encoder();
        let posed = &crate::corpus::scenes::exam(1, 1)[0];
        let all = encoder
            .answers(&posed.scene, &posed.question)
            .expect("four");
        for (pack, answer) in all.iter().zip(posed.question.kind.answers()) {
            let counted = pack.packed.targets.iter().filter(|t| t.1 > 0.0);
            let ids: Vec<u32> = counted.map(|t| t.0).collect();
            let said = encoder.tokenizer.decode(&ids, true).expect("decodes");
            assert_eq!(said.trim(), *answer);
        }
    }
}
