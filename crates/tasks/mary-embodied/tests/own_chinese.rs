//! Our own questions in Chinese, read back by rules: every option leads back to one English option, the
//! figures, letters and signs of a question are those of its English twin, and what is asked for (the
//! loudest, the least …) is the same. A line that was moved, or an answer that was changed, shows.

use std::collections::{BTreeMap, BTreeSet};

use mary_contract::{NoData, Target, Task, TaskSettings};
use mary_embodied::Language;
use mary_embodied::own::{questions, triples};
use mary_embodied::perceptualqa::PERCEPTUAL_QA;

/// An English option without what Chinese does not say: articles, whose it is, number, and words that
/// mean the same.
fn bare(option: &str) -> String {
    let mut text = option.to_lowercase();
    for start in [
        "a ", "an ", "the ", "your ", "in a ", "at a ", "it ", "they ",
    ] {
        if let Some(rest) = text.strip_prefix(start) {
            text = rest.to_owned();
        }
    }
    for (from, to) in [
        ("refrigerator", "fridge"),
        ("drops", "falls"),
        ("turns", "gets"),
        ("gets", "get"),
        ("sweeter", "sweet"),
        ("sourer", "sour"),
        ("top", "up"),
        ("bottom", "down"),
        ("rhombuses", "rhombus"),
    ] {
        if text == from
            || text.starts_with(&format!("{from} "))
            || text.ends_with(&format!(" {from}"))
        {
            text = text.replacen(from, to, 1);
        }
    }
    match text.strip_suffix('s') {
        Some(one) if !one.ends_with(['s', 'u']) => one.to_owned(),
        _ => text,
    }
}

#[test]
fn every_chinese_option_leads_back_to_one_english_option() {
    let mut back: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for (en, zh) in questions(Language::En).iter().zip(questions(Language::Zh)) {
        assert_eq!(en.subtask, zh.subtask, "{} {}", en.question, zh.question);
        assert_eq!(en.correct, zh.correct);
        let distinct: BTreeSet<&str> = zh.options.iter().map(AsRef::as_ref).collect();
        assert_eq!(distinct.len(), 4, "{}", zh.question);
        for (a, b) in en.options.iter().zip(&zh.options) {
            let key = (en.subtask.name().to_owned(), b.to_string());
            back.entry(key).or_default().insert(bare(a));
        }
    }
    let several: Vec<_> = back.iter().filter(|(_, en)| en.len() > 1).collect();
    assert!(several.is_empty(), "{several:#?}");
    // The key of a whole subtask read backwards is the English key.
    for (en, zh) in questions(Language::En).iter().zip(questions(Language::Zh)) {
        let key = (
            en.subtask.name().to_owned(),
            zh.options[zh.correct].to_string(),
        );
        assert_eq!(
            back[&key].iter().next().unwrap(),
            &bare(&en.options[en.correct])
        );
    }
}

/// Figures, single letters and signs: what a question is about and what no language changes.
fn facts(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let characters: Vec<char> = text.chars().collect();
    let mut at = 0;
    while at < characters.len() {
        let c = characters[at];
        let word = |c: char| c.is_ascii_alphanumeric() || c == '\'';
        if word(c) {
            let end = (at..characters.len())
                .find(|i| !word(characters[*i]))
                .unwrap_or(characters.len());
            let run: String = characters[at..end].iter().collect();
            let single =
                run.len() == 1 && run != "a" && !(run == "A" && end < characters.len() && at == 0);
            if single || run.chars().all(|c| c.is_ascii_digit()) {
                found.push(run);
            }
            at = end;
        } else {
            if "×=−÷≡⊂<>[".contains(c) {
                found.push(c.to_string());
            }
            at += 1;
        }
    }
    found.sort();
    found
}

/// What is asked for, in both languages: a word of the English question and one that the Chinese must have.
const ASKED: [(&str, &str); 34] = [
    ("lightest?", "最浅"),
    ("darkest?", "最深"),
    ("the most saturated", "饱和度最高"),
    ("least saturated", "饱和度最低"),
    ("cool colour", "冷色"),
    ("warm colour", "暖色"),
    ("opposite yellow", "黄色相对"),
    ("least likely", "最不可能"),
    ("greenest", "最绿"),
    ("palest", "最浅"),
    ("reddest", "最红"),
    ("no curve", "没有曲线"),
    ("upside down", "倒"),
    ("highest above", "最高"),
    ("arm is lowest", "最低"),
    ("loudest", "最响"),
    ("quietest", "最轻"),
    ("highest pitch", "音高最高"),
    ("lowest pitch", "音高最低"),
    ("deepest", "最低沉"),
    ("roughest", "最粗糙"),
    ("smoothest", "最光滑"),
    ("stickiest", "最黏"),
    ("heaviest", "最重"),
    ("coldest", "最凉"),
    ("the hardest", "最硬"),
    ("thinnest", "最薄"),
    ("least under", "最不会"),
    ("fastest", "最快"),
    ("sourest", "最酸"),
    ("sweetest", "最甜"),
    ("saltiest", "最咸"),
    ("most bitter", "最苦"),
    ("almost no smell", "几乎没有气味"),
];

#[test]
fn what_is_asked_is_the_same_in_both() {
    let mut used = BTreeSet::new();
    for (en, zh) in questions(Language::En).iter().zip(questions(Language::Zh)) {
        assert_eq!(
            facts(&en.question),
            facts(&zh.question),
            "{} {}",
            en.question,
            zh.question
        );
        assert!(zh.question.ends_with('？'), "{}", zh.question);
        let superlative = en.question.contains(" most ") || en.question.contains("est?");
        for (word, asked) in ASKED {
            if en.question.contains(word) {
                used.insert(word);
                assert!(
                    zh.question.contains(asked),
                    "{} {}",
                    en.question,
                    zh.question
                );
            }
        }
        // "Most penguins" are many, not the most of something.
        if superlative && !en.question.contains(" of most ") {
            assert!(
                zh.question.contains('最'),
                "{} {}",
                en.question,
                zh.question
            );
        }
    }
    assert_eq!(used.len(), ASKED.len(), "{used:?}");
}

#[test]
fn the_task_asks_them_under_the_same_numbers() {
    let items = |language: &str| {
        let settings = TaskSettings {
            seed: 3,
            params: [("language".to_owned(), language.to_owned())].into(),
            ..TaskSettings::default()
        };
        let items = PERCEPTUAL_QA.items(&settings, &NoData).unwrap();
        items.collect::<Result<Vec<_>, _>>().unwrap()
    };
    let (en, zh) = (items("en"), items("zh"));
    assert_eq!((en.len(), zh.len()), (378, 378));
    for (a, b) in en.iter().zip(&zh) {
        let place = |t: &Target| match t {
            Target::Choice { correct, .. } => *correct,
            _ => panic!("a choice"),
        };
        assert_eq!((&a.id, place(&a.target)), (&b.id, place(&b.target)));
    }
}

/// The Chinese triples stand beside the English ones sense by sense, are well formed, and no shared
/// character gives the synonym away.
#[test]
fn chinese_triples_are_well_formed_and_form_does_not_tell() {
    let shared = |a: &str, b: &str| a.chars().filter(|c| b.contains(*c)).count();
    let (mut by_synonym, mut by_antonym) = (0, 0);
    let (mut words, mut sentences) = (BTreeSet::new(), BTreeSet::new());
    for (en, zh) in triples(Language::En).iter().zip(triples(Language::Zh)) {
        assert_eq!(en.sense, zh.sense, "{} {}", en.word, zh.word);
        assert!(words.insert(&zh.word), "{} twice", zh.word);
        let three: BTreeSet<&str> = [&zh.word, &zh.synonym, &zh.antonym]
            .map(AsRef::as_ref)
            .into();
        assert_eq!(three.len(), 3, "{zh:?}");
        for sentence in &zh.sentences {
            assert_eq!(sentence.matches("{}").count(), 1, "{sentence}");
            assert!(
                sentence.ends_with('。') && sentences.insert(sentence),
                "{sentence}"
            );
        }
        by_synonym += usize::from(shared(&zh.word, &zh.synonym) > 0);
        by_antonym += usize::from(shared(&zh.word, &zh.antonym) > 0);
    }
    eprintln!(
        "characters shared with the word: synonyms {by_synonym}, antonyms {by_antonym} of 144"
    );
    assert!(by_synonym <= by_antonym + 2, "{by_synonym} {by_antonym}");
}
