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
