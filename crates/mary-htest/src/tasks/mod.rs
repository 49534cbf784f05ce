//! The ten A/B tasks, one file each: the card, the rule and how its twins are drawn.

mod end_ly;
mod end_punctuation;
mod hyphenated_word;
mod palindrome;
mod repeated_word;
mod rhyme;
mod spelled_math;
mod spelled_number;
mod start_vowel;
mod uppercase;

use super::ab_task::AbTask;

/// In the order of the paper's tables.
pub static AB_TASKS: [&AbTask; 10] = [
    &uppercase::TASK,
    &start_vowel::TASK,
    &end_punctuation::TASK,
    &palindrome::TASK,
    &end_ly::TASK,
    &spelled_math::TASK,
    &spelled_number::TASK,
    &rhyme::TASK,
    &repeated_word::TASK,
    &hyphenated_word::TASK,
];

/// The surface baselines of an audit that *are* the rule of a task, or see it in full: what they reach
/// is no shortcut. Runs of characters (`character_ngrams`) see every rule that stands in the letters.
pub fn rule_baselines(task: &str) -> &'static [&'static str] {
    match task {
        "htest/uppercase" => &["capitals", "character_ngrams"],
        "htest/start-vowel" => &["first_character", "word_memory", "character_ngrams"],
        "htest/end-punctuation" => &["last_character", "character_ngrams"],
        "htest/end-ly" => &["last_character", "word_memory", "character_ngrams"],
        "htest/spelled-math" | "htest/spelled-number" | "htest/hyphenated-word" => {
            &["words", "punctuation", "character_ngrams"]
        }
        // Palindrome, rhyme, repeated word and letter geometry: nothing on the surface.
        _ => &[],
    }
}
