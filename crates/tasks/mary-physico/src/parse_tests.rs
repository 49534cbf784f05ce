//! Answers as models write them, and what is read out of each.

use proptest::prelude::*;

use super::*;

const OPTIONS: [&str; 4] = [
    "gravity",
    "reflection",
    "diffuse reflection of light",
    "optical filters",
];

fn options() -> Vec<String> {
    OPTIONS.map(String::from).to_vec()
}

/// Answer, lenient reading, strict reading.
const ANSWERS: &[(&str, Option<usize>, Option<usize>)] = &[
    ("gravity", Some(0), Some(0)),
    ("Gravity", Some(0), Some(0)),
    (" Gravity.", Some(0), Some(0)),
    ("**Gravity**", Some(0), Some(0)),
    ("\"reflection\"", Some(1), Some(1)),
    ("diffuse reflection of light", Some(2), Some(2)),
    ("Diffuse Reflection of Light.", Some(2), Some(2)),
    (
        "The rays scatter.\n\nDiffuse reflection of light",
        Some(2),
        Some(2),
    ),
    ("Optical filter", Some(3), None),
    ("optical-filters", Some(3), None),
    ("The answer is gravity.", Some(0), None),
    ("Answer: gravity", Some(0), None),
    ("**Answer:** Gravity", Some(0), None),
    ("Answer:\ngravity", Some(0), Some(0)),
    (
        "**Answer: reflection**\n\nThe ray comes back.",
        Some(1),
        None,
    ),
    ("My choice is optical filters", Some(3), None),
    ("I choose reflection because the ray turns", Some(1), None),
    ("Things fall, so it is gravity", Some(0), None),
    (
        "gravity would pull down; reflection turns back.\nHence the answer is reflection.",
        Some(1),
        None,
    ),
    (
        "It could be gravity or reflection. The answer is: **gravity**",
        Some(0),
        None,
    ),
    (
        "The answer is not gravity.\nI think the best fit is optical filters",
        Some(3),
        None,
    ),
    ("Not reflection but gravity", Some(0), None),
    ("gravity rather than reflection is shown", Some(0), None),
    ("gravity or reflection", None, None),
    (
        "gravity, reflection, diffuse reflection of light, optical filters",
        None,
        None,
    ),
    ("gravity and reflection", None, None),
    ("", None, None),
    ("   \n\n", None, None),
    ("I cannot tell.", None, None),
    ("magnetism", None, None),
    ("B", None, None),
    ("2", None, None),
    ("antigravity", None, None),
    (
        "The options: gravity, reflection.\n\nI am not sure.",
        None,
        None,
    ),
    (
        "Only gravity fits here.\n\nI hope this helps!",
        Some(0),
        None,
    ),
    ("reflection\nreflection", Some(1), Some(1)),
    ("1. gravity\n2. reflection\n\nFinal answer: 2", None, None),
    ("REFLECTION", Some(1), Some(1)),
    ("`gravity`", Some(0), Some(0)),
    ("(gravity)", Some(0), Some(0)),
    ("Réflexion", None, None),
    ("🪂 gravity 🪂", Some(0), Some(0)),
    ("Choice: diffuse reflection of light\n", Some(2), None),
    // Negations, and a last word that takes back an announcement.
    (
        "The answer is not gravity. I think the best fit is optical filters",
        Some(3),
        None,
    ),
    (
        "The answer is gravity. No, wait: the answer is reflection.",
        Some(1),
        None,
    ),
    (
        "My first thought was gravity. Actually, reflection.",
        Some(1),
        None,
    ),
    (
        "The answer is gravity.\nOn second thought, I choose optical filters.",
        Some(3),
        None,
    ),
    (
        "I would say reflection. Looking again, it is gravity.",
        Some(0),
        None,
    ),
    ("It is not gravity.", None, None),
    ("It isn't gravity, it's reflection.", Some(1), None),
    ("It isn’t reflection. It is optical filters.", Some(3), None),
    ("This is gravity, not reflection.", Some(0), None),
    ("This is gravity and not reflection.", Some(0), None),
    ("Gravity, not reflection", Some(0), None),
    ("Reflection is wrong. Gravity is right.", Some(0), None),
    ("Gravity does not fit. Reflection fits best.", Some(1), None),
    (
        "Gravity cannot be the answer, so it is reflection.",
        Some(1),
        None,
    ),
    (
        "Neither gravity nor reflection; the answer is optical filters.",
        Some(3),
        None,
    ),
    ("Neither gravity nor reflection.", None, None),
    (
        "It is neither gravity nor reflection, therefore diffuse reflection of light.",
        Some(2),
        None,
    ),
    ("I don't think the answer is gravity.", None, None),
    (
        "I don't think it is gravity. I'd say reflection.",
        Some(1),
        None,
    ),
    (
        "I do not believe the answer is gravity. The answer is optical filters.",
        Some(3),
        None,
    ),
    ("Instead of gravity, I choose reflection.", Some(1), None),
    ("I choose reflection instead of gravity.", Some(1), None),
    (
        "I pick optical filters over the rest, unlike gravity it changes color.",
        Some(3),
        None,
    ),
    (
        "Rather than reflection, the best match is diffuse reflection of light.",
        Some(2),
        None,
    ),
    (
        "Gravity can be ruled out. Hence optical filters.",
        Some(3),
        None,
    ),
    (
        "I ruled out gravity and reflection. The answer is optical filters.",
        Some(3),
        None,
    ),
    (
        "We can exclude gravity. What is left is not reflection. So it is optical filters.",
        Some(3),
        None,
    ),
    ("Without a doubt, gravity.", Some(0), None),
    ("No doubt the answer is gravity.", Some(0), None),
    (
        "It is not only gravity that shows here: the answer is gravity.",
        Some(0),
        None,
    ),
    ("It can be nothing but gravity.", Some(0), None),
    ("It cannot be anything but gravity.", Some(0), None),
    (
        "It is anything but gravity. The answer is reflection.",
        Some(1),
        None,
    ),
    ("It is none other than gravity.", Some(0), None),
    (
        "Gravity never bends light. The answer must be diffuse reflection of light.",
        Some(2),
        None,
    ),
    ("Answer: not gravity but reflection", Some(1), None),
    ("The answer is gravity or reflection.", None, None),
    (
        "The answer is gravity. The answer is reflection.",
        Some(1),
        None,
    ),
    (
        "The answer is reflection.\n\nThe answer is not gravity because nothing falls.",
        Some(1),
        None,
    ),
    (
        "**Answer: gravity**\n\nExplanation: the bodies fall. A mirror would show reflection.",
        Some(0),
        None,
    ),
    (
        "Final Answer: Gravity\n\nNote that optical filters would change the colors.",
        Some(0),
        None,
    ),
    (
        "gravity: bodies fall.\nreflection: rays come back.\noptical filters: colors are kept out.\n\nThe last one fits: optical filters.",
        Some(3),
        None,
    ),
    (
        "- gravity: bodies fall\n- reflection: rays come back\n\nI conclude: reflection",
        Some(1),
        None,
    ),
    (
        "1. gravity: no\n2. reflection: no\n3. optical filters: yes\n\nAnswer: optical filters",
        Some(3),
        None,
    ),
    (
        "gravity: bodies fall.\nreflection: rays come back.",
        None,
        None,
    ),
    (
        "Options considered: gravity, reflection, optical filters.\nDecision: reflection",
        Some(1),
        None,
    ),
    (
        "The pattern is best described by diffuse reflection of light, not by reflection.",
        Some(2),
        None,
    ),
    ("Thus the concept is reflection", Some(1), None),
    ("So this is optical filters!", Some(3), None),
    ("Is it gravity? No. It is reflection.", Some(1), None),
    ("Gravity? No, nothing falls. Reflection.", Some(1), None),
    (
        "Not gravity. Not reflection. Optical filters.",
        Some(3),
        None,
    ),
    ("Not gravity, not reflection.", None, None),
    (
        "I was going to say gravity, but the answer is reflection.",
        Some(1),
        None,
    ),
    ("The answer, I think, is: optical filters.", Some(3), None),
    ("Gravity is my final answer.", Some(0), None),
    (
        "My final answer is **Diffuse Reflection of Light**.",
        Some(2),
        None,
    ),
    (
        "Looking at the grids, I will go with reflection.",
        Some(1),
        None,
    ),
    (
        "I'd go with gravity; reflection does not explain the stones.",
        Some(0),
        None,
    ),
    ("Reflection fits better than gravity.", Some(1), None),
    (
        "The objects do not fall, so the answer is reflection.",
        Some(1),
        None,
    ),
    (
        "No ray is thrown back here, which means gravity.",
        Some(0),
        None,
    ),
    (
        "The transformation demonstrates gravity.\nIt does not demonstrate reflection.",
        Some(0),
        None,
    ),
    (
        "The correct choice is gravity, since there is no mirror and no reflection.",
        Some(0),
        None,
    ),
    ("optical filters (not reflection)", Some(3), None),
    ("Choice: reflection (gravity is wrong)", Some(1), None),
];

#[test]
fn answers_are_read_as_written_in_the_table() {
    assert!(ANSWERS.len() >= 100, "{} answers", ANSWERS.len());
    let mut wrong = Vec::new();
    for &(answer, lenient, strict) in ANSWERS {
        let found = (choice(answer, &options()), strictly(answer, &options()));
        if found != (lenient, strict) {
            wrong.push((answer, found, (lenient, strict)));
        }
    }
    assert!(wrong.is_empty(), "answer, found, expected: {wrong:#?}");
}

#[test]
fn numbers_and_places_can_be_options() {
    let counts: Vec<String> = ["1", "2", "3", "12"].map(String::from).to_vec();
    assert_eq!(choice("There are 12.", &counts), Some(3));
    assert_eq!(choice("2 objects", &counts), Some(1));
    let places: Vec<String> = ["row 1, column 2", "row 2, column 1"]
        .map(String::from)
        .to_vec();
    assert_eq!(choice("It is at row 2, column 1.", &places), Some(1));
}

#[test]
fn the_judges_list_is_numbers_and_nothing_else() {
    let cases: [(&str, Option<&[usize]>); 9] = [
        ("1, 3", Some(&[1, 3])),
        ("3 and 1", Some(&[1, 3])),
        ("2.", Some(&[2])),
        ("1, 1, 2", Some(&[1, 2])),
        ("0", Some(&[])),
        ("None", Some(&[])),
        ("4", None),
        ("the first", None),
        ("", None),
    ];
    for (answer, expected) in cases {
        assert_eq!(numbers(answer, 3).as_deref(), expected, "{answer:?}");
    }
}

#[test]
fn the_judges_verdict_is_a_digit() {
    let cases = [
        ("1", Some(true)),
        ("0.", Some(false)),
        ("**1**", Some(true)),
        ("Verdict: 0", Some(false)),
        ("1 - correct", Some(true)),
        ("correct", None),
        ("", None),
    ];
    for (answer, expected) in cases {
        assert_eq!(verdict(answer), expected, "{answer:?}");
    }
}

proptest! {
    #[test]
    fn no_answer_breaks_the_parser(answer in "(\\PC|gravity|answer is|\n| ){0,20}") {
        let _ = choice(&answer, &options());
        let _ = strictly(&answer, &options());
        let _ = verdict(&answer);
    }

    #[test]
    fn an_option_alone_is_always_read(which in 0usize..4, blank in "[ \\n]{0,3}") {
        let answer = format!("{blank}{}{blank}", OPTIONS[which]);
        prop_assert_eq!(choice(&answer, &options()), Some(which));
    }
}

#[test]
fn the_phrases_can_be_read() {
    let read: Phrases = serde_json::from_str(include_str!("parse_words.json")).unwrap();
    let lists = [
        read.turns,
        read.leads,
        read.headings,
        read.trails,
        read.fillers,
    ];
    assert_eq!(lists.map(|list| list.len()), [15, 55, 8, 22, 26]);
}
