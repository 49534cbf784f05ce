//! Every kind of question, on the tasks that Mary has and on one of one's own; and the released answers of
//! PerceptualQA's people read as a study.

use mary_contract::{Part, PeopleAnswer};
use mary_study::question::{AnswerForm, Question};

use crate::fixture::{self, Datasets, drawn, frozen, registry};

#[test]
fn rule_finding_shows_the_examples_and_keeps_the_labels_in_order() {
    let made = frozen("htest/rhyme", 6, &[], Some(8), false);
    assert_eq!(made.questions.len(), 6);
    for question in &made.questions {
        assert_eq!(question.examples.len(), 8);
        let AnswerForm::Choice {
            options, ordered, ..
        } = &question.answer
        else {
            panic!("a choice");
        };
        assert!(*ordered);
        assert_eq!(options, &["A", "B"]);
    }
    // In words, and not by log-probability.
    let mode = made.keys.tasks[0].settings.params.get("mode");
    assert_eq!(mode.map(String::as_str), Some("generate"));
}

#[test]
fn grids_are_shown_as_pictures_or_as_numbers_with_none_fits() {
    let numbers = frozen("physico/core-text", 4, &[("per_concept", "1")], None, true);
    for (task, made, picture) in [
        ("pictures", fixture::pictures(), true),
        ("numbers", &numbers, false),
    ] {
        for question in &made.questions {
            let shown = question.parts.iter().all(|p| matches!(p, Part::Image(_)));
            assert_eq!(shown, picture, "{task}");
            assert!(question.instruction.ends_with("at work?"), "{task}");
            assert!(matches!(
                question.answer,
                AnswerForm::Choice {
                    none_fits: true,
                    ..
                }
            ));
        }
    }
}

#[test]
fn perceptualqa_is_asked_in_chinese_and_read_as_the_paper_reads() {
    let Some(data) = mary_testkit::lacking::datasets("embodied") else {
        return;
    };
    let set = [("language", "zh"), ("orders", "1"), ("source", "upstream")];
    let made = drawn(
        "embodied/perceptualqa",
        5,
        &set,
        None,
        false,
        &Datasets(data),
    );
    for (question, key) in made.questions.iter().zip(&made.keys.items) {
        assert!(question.instruction.contains("请"));
        assert!(key.said.iter().all(|said| said.starts_with("{\"index\":")));
    }
}

/// Whatever a family offers people is either shown, with a line that says what to do, or refused with a reason;
/// its judge reads every option.
#[test]
fn every_task_is_shown_or_refused() {
    use mary_contract::{NoData, TaskSettings};
    use mary_study::freeze::{StudyTask, freeze};
    let registry = registry();
    let mut shown = Vec::new();
    for task in registry.tasks() {
        if task.card().id.starts_with("physico/") && task.card().id != "physico/definition" {
            continue; // drawn above; making all its grids takes long
        }
        let wanted = StudyTask {
            task: task.clone(),
            settings: TaskSettings::default(),
            limit: Some(2),
            none_fits: Default::default(),
        };
        match freeze(&[wanted], &NoData, 1) {
            Ok(made) => {
                assert_eq!(made.questions.len(), made.keys.items.len());
                let untold = |q: &Question| q.instruction.trim().is_empty();
                let id = &task.card().id;
                assert!(
                    !made.questions.iter().any(untold),
                    "{id}: what is to be done?"
                );
                shown.push(task.card().id.to_string());
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    for expected in [
        "htest/uppercase",
        "htest/letter-geometry",
        "physico/definition",
        "psychometric/grammar",
        "embodied/perceptualqa",
        "embodied/fresh-colour",
    ] {
        assert!(
            shown.iter().any(|id| id == expected),
            "{expected} of {shown:?}"
        );
    }
    eprintln!("people can be asked: {}", shown.join(", "));
}

/// Tasks that read files of others: shown with a line that says what to do, and with nothing that tells.
#[test]
fn tasks_that_need_files_say_what_to_do_too() {
    let registry = registry();
    let blimp = registry.task("psychometric/blimp").unwrap();
    let pair = frozen("psychometric/grammar", 1, &[], None, false);
    let shown = blimp.for_people(&Default::default(), &pair.keys.items[0].item);
    assert!(shown.unwrap().instruction.contains("sentences"));

    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("my-gravity.png"), b"\x89PNG").unwrap();
    let manifest = dir.path().join("photos.csv");
    std::fs::write(&manifest, "image,label\nmy-gravity.png,gravity\n").unwrap();
    let set = [("manifest", manifest.to_str().unwrap())];
    let made = frozen("physico/photo", 1, &set, None, false);
    let [question] = made.questions.as_slice() else {
        panic!("one photograph");
    };
    assert!(question.instruction.contains("photograph"));
    let texts = question.parts.iter().filter(|p| matches!(p, Part::Text(_)));
    assert_eq!(texts.count(), 0, "the name of the file tells the answer");
}

/// A question about a picture is not answered from the numbers behind it.
#[test]
fn perception_in_pictures_shows_no_numbers() {
    let made = frozen("physico/perception-visual", 4, &[], None, false);
    for question in &made.questions {
        assert!(question.instruction.contains("on the left"));
        let [Part::Image(_), Part::Text(asked)] = question.parts.as_slice() else {
            panic!("a picture and a question: {:?}", question.parts.len());
        };
        assert!(asked.ends_with('?') && !asked.contains('\n'), "{asked}");
    }
    let made = frozen("physico/perception-text", 1, &[], None, false);
    let [Part::Text(asked)] = made.questions[0].parts.as_slice() else {
        panic!("words and grids");
    };
    assert!(asked.contains("\n->\n"), "{asked}");
    assert!(made.questions[0].instruction.contains("before the arrow"));
}

/// What the contract's own forms of answers become.
#[test]
fn answers_of_every_kind_have_a_form() {
    for (answer, options) in [
        (PeopleAnswer::Text, 0),
        (PeopleAnswer::Number, 0),
        (PeopleAnswer::Transcription, 0),
        (PeopleAnswer::Rating { low: 1, high: 5 }, 0),
        (
            PeopleAnswer::Several {
                options: ["a", "b"].map(mary_contract::PeopleOption::new).to_vec(),
            },
            2,
        ),
    ] {
        assert_eq!(
            AnswerForm::for_task(&answer, Default::default())
                .options()
                .len(),
            options
        );
    }
}

/// The two released answers to each of 350 questions, filled in on two sheets of a study of those questions,
/// judged and added up as any study is: the paper's 86.00 and its kappa of 0.69.
#[test]
fn the_released_people_read_as_a_study_give_86_and_their_kappa() {
    use mary_study::{PeopleStatistics, Session, Study, paper};
    let Some(folder) = mary_testkit::lacking::datasets("embodied") else {
        return;
    };
    let released = folder.join("embodied/PerceptualQA/human_questions1400_with_answer1_sampled350");
    let data = Datasets(folder);
    let registry = registry();
    let family = registry.family("embodied").unwrap();
    let run = family
        .released_runs(&released, &data)
        .unwrap()
        .unwrap()
        .pop()
        .unwrap();
    let said: std::collections::BTreeMap<(String, u32), String> = run
        .samples
        .iter()
        .map(|s| {
            let parsed = s.judgement.parsed.clone().unwrap();
            ((s.id.item.clone(), s.id.trial), parsed)
        })
        .collect();
    assert_eq!(said.len(), 700);

    let set = [("language", "en"), ("orders", "1"), ("source", "upstream")];
    let mut made = drawn(
        "embodied/perceptualqa",
        usize::MAX,
        &set,
        None,
        false,
        &data,
    );
    let asked: Vec<bool> = made
        .keys
        .items
        .iter()
        .map(|k| said.contains_key(&(k.item.id.clone(), 0)))
        .collect();
    let mut keep = asked.iter();
    made.questions.retain(|_| *keep.next().unwrap());
    let mut keep = asked.iter();
    made.keys.items.retain(|_| *keep.next().unwrap());
    assert_eq!(made.questions.len(), 350);

    let dir = tempfile::tempdir().unwrap();
    let mut settings = fixture::settings(2, 350);
    settings.name = "released".into();
    Study::create(&dir.path().join("study"), &settings, &made).unwrap();
    let (session, _thread) = Session::open(&dir.path().join("study")).unwrap();
    let keys = session.study.keys().unwrap();
    let mut marks = String::from("sheet,question,mark\n");
    for person in 0..2u32 {
        let place = person as usize;
        for (trial, item) in session.study.design().list(place).into_iter().enumerate() {
            let letter = &said[&(keys.items[item].item.id.clone(), person)];
            let option = (letter.as_bytes()[0] - b'A') as usize;
            let order = session.study.order(place, item);
            let shown = order.iter().position(|o| *o == option).unwrap();
            let mark = char::from(b'A' + shown as u8);
            marks.push_str(&format!("{},{},{mark}\n", place + 1, trial + 1));
        }
    }
    let file = dir.path().join("marks.csv");
    std::fs::write(&file, marks).unwrap();
    assert_eq!(paper::read(&session, &file).unwrap(), 2);
    let found = session.judged(&registry).unwrap();
    let samples: Vec<_> = found.samples.iter().collect();
    let statistics = PeopleStatistics::from_samples(&samples);
    let score = statistics.score.unwrap().value;
    assert!((100.0 * score - 86.0).abs() < 1e-9, "{score}");
    let kappa = statistics.cohen.unwrap().value;
    assert!((kappa - 0.693_44).abs() < 1e-5, "{kappa}");
    let exact: f64 = samples.iter().map(|s| s.judgement.measures["exact"]).sum();
    assert!((exact / 7.0 - 86.0).abs() < 1e-9, "the paper's own reading");
    eprintln!("{statistics}");
}
