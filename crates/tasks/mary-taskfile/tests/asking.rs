//! From rows to items: templates, options, shots, strata, and what a task's hash is made of.

use mary_contract::{Request, Start, Target, Task, TaskSettings};

use crate::support::Folder;

const CHOICE: &str = "name = \"my_test\"\n[data]\npath = \"d.csv\"\nid = \"id\"\nstrata = [\"kind\", \"level\"]\ncluster = \"kind\"\ntags = \"level\"\n\
    [request]\nkind = \"score\"\nprompt = \"{{ word.title() }} is\"\nchoices = \"{{ options.split('|') }}\"\n\
    [judge]\nkind = \"choice\"\nanswer = \"{{ right }}\"\n";

const ROWS: &[u8] = b"id,kind,level,word,options,right\n\
    a,x,1,hot,cold|warm,cold\n\
    b,x,2,big,huge|small,B\n\
    c,y,1,wet,dry|damp,0\n\
    d,y,2,full,whole|empty,empty\n";

fn score(request: &Request) -> &mary_contract::Score {
    match request {
        Request::Score(score) => score,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_row_becomes_an_item() {
    let folder = Folder::new(CHOICE, ("d.csv", ROWS));
    let items = folder.items(&TaskSettings::default()).unwrap();
    assert_eq!(folder.task().unwrap().card().id, "own/my-test");
    assert_eq!(items.len(), 4);
    let rights: Vec<usize> = items
        .iter()
        .map(|item| match &item.target {
            Target::Choice { correct, .. } => *correct,
            other => panic!("{other:?}"),
        })
        .collect();
    // By text, by letter, by place, by text.
    assert_eq!(rights, [0, 1, 0, 1]);
    let first = &items[0];
    assert_eq!(
        (&*first.id, &*first.stratum, first.cluster.as_deref()),
        ("a", "x/1", Some("x"))
    );
    assert_eq!(first.tags["level"], "1");
    let asked = score(&first.asks[0].request);
    assert_eq!(asked.prefix.text(), "Hot is");
    assert_eq!(asked.continuations, [" cold", " warm"]);
    assert_eq!(asked.start, Start::Model);
}

#[test]
fn shots_are_balanced_seeded_and_never_the_item_itself() {
    let lettered = CHOICE.replace(
        "\"{{ options.split('|') }}\"",
        "[\"{{ options.split('|')[0] }}\", \"{{ options.split('|')[1] }}\"]",
    );
    let folder = Folder::new(&lettered, ("d.csv", ROWS));
    let with = |seed, shots| {
        let settings = TaskSettings {
            seed,
            shots: Some(shots),
            ..TaskSettings::default()
        };
        folder.items(&settings)
    };
    let prompts = |seed| -> Vec<String> {
        let items = with(seed, 2).unwrap();
        items
            .iter()
            .map(|i| score(&i.asks[0].request).prefix.text())
            .collect()
    };
    assert_eq!(prompts(1), prompts(1));
    assert!((2..20).any(|seed| prompts(seed) != prompts(1)));
    for (prompt, own) in prompts(1).iter().zip(["Hot", "Big", "Wet", "Full"]) {
        assert_eq!(prompt.matches(own).count(), 1, "{prompt}");
        assert_eq!(prompt.split("\n\n").count(), 3);
        // One shot of each right place.
        let first = ["Hot is cold", "Wet is dry"]
            .iter()
            .filter(|s| prompt.contains(*s))
            .count();
        let second = ["Big is small", "Full is empty"]
            .iter()
            .filter(|s| prompt.contains(*s))
            .count();
        assert_eq!((first, second), (1, 1), "{prompt}");
    }
    let error = with(1, 4).unwrap_err().to_string();
    assert!(error.contains("3 other rows"), "{error}");
}

#[test]
fn an_ambiguous_answer_is_refused_and_can_be_settled() {
    let rows = b"id,kind,level,word,options,right\na,x,1,two,1|0,1\n";
    let folder = Folder::new(CHOICE, ("d.csv", rows));
    let fault = folder.fault();
    assert!(
        fault.contains("d.csv:2: ") && fault.contains("answer_is"),
        "{fault}"
    );
    for (word, right) in [("text", 0), ("index", 1)] {
        let settled = format!("{CHOICE}answer_is = \"{word}\"\n");
        let items = Folder::new(&settled, ("d.csv", rows))
            .items(&TaskSettings::default())
            .unwrap();
        assert!(matches!(&items[0].target, Target::Choice { correct, .. } if *correct == right));
    }
}

#[test]
fn unconditional_probabilities_are_asked_for_when_wanted() {
    let folder = Folder::new(CHOICE, ("d.csv", ROWS));
    let mut settings = TaskSettings::default();
    settings
        .params
        .insert("normalisation".into(), "unconditional".into());
    let items = folder.items(&settings).unwrap();
    assert_eq!(items[0].asks.len(), 2);
    assert_eq!(score(&items[0].asks[1].request).prefix.text(), "Answer:");
    settings
        .params
        .insert("normalisation".into(), "letters".into());
    let error = folder.items(&settings).unwrap_err().to_string();
    assert!(error.contains("`letters`"), "{error}");
}

#[test]
fn the_content_hash_is_of_file_and_data() {
    let folder = Folder::new(CHOICE, ("d.csv", ROWS));
    let content = || folder.task().unwrap().card().content.clone().unwrap();
    let first = content();
    assert_eq!(first, content());
    let mut rows = ROWS.to_vec();
    rows.extend(b"e,y,2,open,shut|ajar,shut\n");
    std::fs::write(folder.path("d.csv"), &rows).unwrap();
    let second = content();
    assert_ne!(first, second);
    std::fs::write(
        folder.path("mytask.toml"),
        format!("{CHOICE}chance = 0.5\n"),
    )
    .unwrap();
    assert_ne!(second, content());
}

#[test]
fn rows_can_be_filtered_and_quoted_as_people_quote() {
    let task = CHOICE.replace(
        "id = \"id\"",
        "id = \"id\"\nwhere = \"{{ level | int > 1 }}\"",
    );
    let items = Folder::new(&task, ("d.csv", ROWS))
        .items(&TaskSettings::default())
        .unwrap();
    assert_eq!(items.iter().map(|i| &*i.id).collect::<Vec<_>>(), ["b", "d"]);
    let tsv = CHOICE.replace("d.csv", "d.tsv");
    let rows = b"\xef\xbb\xbfid\tkind\tlevel\tword\toptions\tright\na\tx\t1\t\"hot\" he said\tcold|warm\tcold\n";
    let items = Folder::new(&tsv, ("d.tsv", rows))
        .items(&TaskSettings::default())
        .unwrap();
    assert_eq!(
        score(&items[0].asks[0].request)
            .prefix
            .text()
            .to_lowercase(),
        "\"hot\" he said is"
    );
}

#[test]
fn every_skeleton_is_a_task() {
    use mary_taskfile::{Skeleton, skeleton};
    for kind in [
        Skeleton::Pairs,
        Skeleton::Choice,
        Skeleton::Answer,
        Skeleton::Number,
        Skeleton::Judge,
        Skeleton::Vectors,
    ] {
        let (task, rows) = skeleton(kind, "d.jsonl");
        let folder = Folder::new(&task, ("d.jsonl", rows.as_bytes()));
        let items = folder.items(&TaskSettings::default()).unwrap();
        assert!(items.len() >= 2, "{kind:?}");
        assert!(items.iter().all(|i| !i.asks.is_empty()));
    }
}
