//! Twins: forms are paired item by item, a model without a tower stands beside, and forms that were asked
//! otherwise are named and not paired.

use mary_contract::{
    Ask, Capabilities, Exchange, Generate, Image, Item, Judgement, Key as ReplyKey, ModelError,
    ModelRef, Part, Prompt, PromptForm, Request, SampleId, Sampling, Scoring, Speaker, Target,
    Ties, Turn, text,
};

use super::*;

const FORMS: [(ShownAs, &str); 3] = [
    (ShownAs::Words, "text"),
    (ShownAs::Picture, "picture"),
    (ShownAs::Both, "both"),
];

fn run(show: &str, mode: &str) -> TaskRun {
    let asked = [("show", show), ("mode", mode), ("seed", "0")];
    TaskRun {
        id: "f/t".into(),
        version: 1,
        asked: Some(asked.map(|(k, v)| (k.to_owned(), v.to_owned())).into()),
        scoring: Some(Scoring::share(Ties::Half)),
        ..TaskRun::default()
    }
}

fn twin(shown: ShownAs) -> Twin {
    Twin {
        name: "f/t".into(),
        shown,
        apart: vec![text("show")],
    }
}

fn card(model: &str, images: bool) -> ModelCard {
    let can = Capabilities {
        images,
        ..Capabilities::default()
    };
    ModelCard::new(model.parse::<ModelRef>().unwrap(), can)
}

fn sample(model: &str, item: usize, shown: ShownAs, right: bool) -> Sample {
    let target = Target::one_of("Which?".into(), vec!["a <b>".into(), "c".into()], 0);
    let mut parts = vec![Part::Text(format!("Item {item} in {}?", shown.words()))];
    if shown != ShownAs::Words {
        let picture = Image {
            media_type: "image/png".into(),
            data: format!("picture {item}").into_bytes(),
        };
        parts.insert(0, Part::Image(picture));
    }
    let prompt = Prompt {
        form: PromptForm::Plain,
        system: None,
        turns: vec![Turn {
            speaker: Speaker::User,
            parts,
        }],
    };
    let ask = Ask::subject(Request::Generate(Generate {
        prompt,
        sampling: Sampling::greedy(1),
    }));
    let key: ReplyKey = serde_json::from_value("0".repeat(64).into()).unwrap();
    Sample {
        id: SampleId::new(model, "f/t", format!("{item:03}"), 0),
        item: Item::new(format!("{item:03}"), target, vec![]),
        exchanges: vec![Exchange {
            key,
            ask,
            reply: Err(ModelError::new(mary_contract::ErrorKind::Internal, "none")),
        }],
        judgement: Judgement::scored(f64::from(u8::from(right))).read_as("c <i>"),
    }
}

/// A model that is right on half of 80 items in words, on a quarter more with a picture, and beside it one
/// that is right on a quarter in words.
fn gathered() -> Twins {
    let mut twins = Twins::default();
    twins.model(&card("hf/sees", true));
    twins.model(&card("hf/reads", false));
    let places = FORMS.map(|(shown, name)| twins.task(&twin(shown), &run(name, "score")));
    for item in 0..80 {
        for ((shown, _), place) in FORMS.iter().zip(places) {
            let right = match shown {
                ShownAs::Words => item % 4 < 2,
                _ => item % 4 < 3,
            };
            twins.add(place, &sample("hf/sees", item, *shown, right));
        }
        let words = sample("hf/reads", item, ShownAs::Words, item % 4 < 1);
        twins.add(places[0], &words);
    }
    twins
}

fn cells(exhibits: &Exhibits, id: &str) -> Vec<Vec<String>> {
    let table = exhibits.tables.iter().find(|t| t.id == id).unwrap();
    let row = |row: &Vec<mary_contract::Cell>| row.iter().map(ToString::to_string).collect();
    table.rows.iter().map(row).collect()
}

#[test]
fn forms_are_paired_item_by_item_with_intervals() {
    let (exhibits, _) = gathered().finish().unwrap();
    let forms = cells(&exhibits, "twins-forms");
    assert_eq!(
        forms,
        [[
            "hf/sees", "f/t", "50.0%", "75.0%", "75.0%", "+25.0", "+25.0", "+0.0"
        ]]
    );
    let table = &exhibits.tables[0];
    let (low, high) = table.rows[0][5].basis().unwrap().bounds.clone().unwrap();
    let (low, high): (f64, f64) = (low.parse().unwrap(), high.parse().unwrap());
    assert!(
        0.0 < low && low < 25.0 && 25.0 < high && high < 50.0,
        "{low} {high}"
    );
    assert!(exhibits.tables.iter().all(|t| t.bare().is_empty()));
    let decided = cells(&exhibits, "twins-decided");
    assert_eq!(decided[0][2..6], ["picture, words", "80", "20", "0"]);
    assert_eq!(decided[2][4..6], ["0", "0"]);
    assert_eq!(exhibits.figures[0].series.len(), 3);
}

#[test]
fn a_model_without_a_tower_stands_beside_on_the_same_words() {
    let (exhibits, _) = gathered().finish().unwrap();
    let eyes = cells(&exhibits, "twins-eyes");
    assert_eq!(
        eyes,
        [[
            "hf/sees", "hf/reads", "f/t", "25.0%", "+25.0", "+50.0", "+50.0"
        ]]
    );
}

#[test]
fn forms_that_were_asked_otherwise_are_named_and_not_paired() {
    let mut twins = Twins::default();
    twins.model(&card("hf/sees", true));
    let words = twins.task(&twin(ShownAs::Words), &run("text", "score"));
    let picture = twins.task(&twin(ShownAs::Picture), &run("picture", "generate"));
    assert!(twins.any());
    for item in 0..8 {
        twins.add(words, &sample("hf/sees", item, ShownAs::Words, true));
        twins.add(picture, &sample("hf/sees", item, ShownAs::Picture, false));
    }
    let (exhibits, sheet) = twins.finish().unwrap();
    assert_eq!(sheet.html(), "");
    assert_eq!(exhibits.tables.len(), 1);
    let apart = cells(&exhibits, "twins-apart");
    assert_eq!(apart[0][2], "mode score against generate");

    let mut alone = Twins::default();
    alone.task(&twin(ShownAs::Words), &run("text", "score"));
    assert!(!alone.any());
}

#[test]
fn the_sheet_shows_every_form_with_its_picture_and_escapes_what_models_wrote() {
    let (_, sheet) = gathered().finish().unwrap();
    let page = sheet
        .renamed(&[("hf/sees".to_owned(), "seer".to_owned())].into())
        .html();
    assert_eq!(page.matches("<article").count(), 24);
    assert_eq!(page.matches("<img").count(), 48);
    assert!(page.contains("Item ") && page.contains("in both?"));
    assert!(page.contains("seer") && !page.contains("hf/sees"));
    assert!(page.contains("c &lt;i&gt;") && !page.contains("<i>") && !page.contains("<b>"));
    // An item on which the forms differ stands first, and four are open.
    let first = page.split("<article").nth(1).unwrap();
    assert!(first.contains(">right</span>") && first.contains(">wrong</span>"));
    let open = page.split("<details").next().unwrap();
    assert_eq!(open.matches("<article").count(), 4);
}
