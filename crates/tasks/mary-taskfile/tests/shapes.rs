//! Shapes of data and prompts beyond lines of text: Parquet, folders of Parquet, lists in JSON, chat
//! turns, pictures from columns, and datasets of Inspect.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use mary_contract::{
    Item, NoData, Part, Prompt, PromptForm, Request, Speaker, Target, Task, TaskSettings,
};
use mary_taskfile::OwnTask;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::support::Folder;

/// A picture of one pixel.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const CHOICE: &str = "[data]\npath = \"DATA\"\n[request]\nkind = \"generate\"\nprompt = \"{{ q }}\"\n\
                      [judge]\nkind = \"exact\"\nanswer = \"{{ a }}\"\n";

/// Rows of a question and an answer, compressed as most are.
fn parquet(path: &Path, rows: &[(&str, i64)]) {
    let schema = "message rows { required binary q (String); required int64 a; }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let properties = WriterProperties::builder()
        .set_compression(parquet::basic::Compression::SNAPPY)
        .build();
    let file = File::create(path).unwrap();
    let mut out = SerializedFileWriter::new(file, schema, Arc::new(properties)).unwrap();
    let mut group = out.next_row_group().unwrap();
    while let Some(mut column) = group.next_column().unwrap() {
        match column.untyped() {
            ColumnWriter::ByteArrayColumnWriter(w) => {
                let texts: Vec<ByteArray> = rows.iter().map(|r| r.0.into()).collect();
                w.write_batch(&texts, None, None).unwrap();
            }
            ColumnWriter::Int64ColumnWriter(w) => {
                let numbers: Vec<i64> = rows.iter().map(|r| r.1).collect();
                w.write_batch(&numbers, None, None).unwrap();
            }
            _ => panic!("another column"),
        }
        column.close().unwrap();
    }
    group.close().unwrap();
    out.close().unwrap();
}

fn items(folder: &Folder) -> Vec<Item> {
    folder.items(&TaskSettings::default()).unwrap()
}

fn prompt(item: &Item) -> &Prompt {
    let Request::Generate(ask) = &item.asks[0].request else {
        panic!("expected a generation");
    };
    &ask.prompt
}

#[test]
fn rows_come_from_parquet_and_from_folders_of_it() {
    let folder = Folder::new(&CHOICE.replace("DATA", "rows.parquet"), ("unused", b""));
    parquet(&folder.path("rows.parquet"), &[("one?", 1), ("two?", 2)]);
    let found = items(&folder);
    assert_eq!(
        (found[1].id.as_str(), prompt(&found[1]).text()),
        ("2", "two?".into())
    );
    assert_eq!(found[1].target, Target::Text("2".into()));

    let task = CHOICE.replace("path = \"DATA\"", "path = \"data\"\nsplit = \"test\"");
    let folder = Folder::new(&task, ("unused", b""));
    std::fs::create_dir(folder.path("data")).unwrap();
    parquet(
        &folder.path("data/test-00001-of-00002.parquet"),
        &[("three?", 3)],
    );
    parquet(
        &folder.path("data/test-00000-of-00002.parquet"),
        &[("one?", 1), ("two?", 2)],
    );
    parquet(
        &folder.path("data/train-00000-of-00001.parquet"),
        &[("no?", 0)],
    );
    let all: Vec<(String, String)> = items(&folder)
        .iter()
        .map(|i| (i.id.clone(), prompt(i).text()))
        .collect();
    let wanted = [("1", "one?"), ("2", "two?"), ("3", "three?")];
    assert_eq!(all, wanted.map(|(a, b)| (a.to_owned(), b.to_owned())));

    let without = Folder::new(&CHOICE.replace("DATA", "data"), ("unused", b""));
    std::fs::create_dir(without.path("data")).unwrap();
    for split in ["test", "train"] {
        parquet(
            &without.path(&format!("data/{split}.parquet")),
            &[("one?", 1)],
        );
    }
    assert!(
        without.fault().contains("several splits: test, train"),
        "{}",
        without.fault()
    );
}

#[test]
fn damaged_parquet_is_told() {
    let folder = Folder::new(
        &CHOICE.replace("DATA", "rows.parquet"),
        ("rows.parquet", b"PAR1 no"),
    );
    assert!(
        folder
            .fault()
            .contains("rows.parquet:1: this is no Parquet file"),
        "{}",
        folder.fault()
    );
}

#[test]
fn a_list_in_json_is_read_as_rows() {
    let rows = b"[{\"q\": \"one?\", \"a\": 1},\n {\"q\": \"two?\", \"a\": 2}]";
    let folder = Folder::new(&CHOICE.replace("DATA", "rows.json"), ("rows.json", rows));
    assert_eq!(items(&folder).len(), 2);
    let folder = Folder::new(
        &CHOICE.replace("DATA", "rows.json"),
        ("rows.json", b"[{\"q\": 1},\n 3]"),
    );
    assert!(folder.fault().contains("rows.json"), "{}", folder.fault());
}

#[test]
fn pictures_stand_before_the_words_of_a_score_in_plain_text_and_in_a_chat() {
    let task = r#"
[data]
path = "rows.jsonl"
[request]
kind = "score"
pictures = ["{{ p }}"]
prompt = "It is"
choices = "{{ ['red', 'blue'] }}"
[judge]
kind = "choice"
answer = "red"
"#;
    let row = format!("{{\"p\": \"{PIXEL}\"}}");
    let folder = Folder::new(task, ("rows.jsonl", row.as_bytes()));
    let found = items(&folder);
    let Request::Score(score) = &found[0].asks[0].request else {
        panic!("{:?}", found[0].asks);
    };
    assert_eq!(score.prefix.form, PromptForm::Plain);
    assert!(matches!(
        score.prefix.turns[0].parts.as_slice(),
        [Part::Image(_), Part::Text(words)] if words == "It is"
    ));
    assert_eq!(score.continuations, [" red", " blue"]);
    let observed = task
        .replace("\"score\"", "\"observe\"\ntexts = [\"a\", \"b\", \"c\"]")
        .replace("\"choice\"\nanswer = \"red\"", "\"triple\"")
        .replace(
            "prompt = \"It is\"\nchoices = \"{{ ['red', 'blue'] }}\"\n",
            "",
        );
    let folder = Folder::new(&observed, ("rows.jsonl", row.as_bytes()));
    assert!(
        folder.fault().contains("`pictures` go with"),
        "{}",
        folder.fault()
    );
}

#[test]
fn turns_are_asked_as_a_chat() {
    let task = CHOICE
        .replace("DATA", "rows.jsonl")
        .replace("prompt = \"{{ q }}\"", "turns = \"{{ chat }}\"");
    let row = br#"{"chat": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}, {"role": "user", "content": "2+2?"}], "a": 4}"#;
    let folder = Folder::new(&task, ("rows.jsonl", row));
    let found = items(&folder);
    let asked = prompt(&found[0]);
    assert_eq!(asked.form, PromptForm::Chat);
    assert_eq!(asked.system.as_deref(), Some("Be brief."));
    let speakers: Vec<Speaker> = asked.turns.iter().map(|t| t.speaker).collect();
    assert_eq!(speakers, [Speaker::User, Speaker::Assistant, Speaker::User]);
    let bad = Folder::new(
        &task,
        (
            "rows.jsonl",
            br#"{"chat": [{"role": "assistant", "content": "x"}], "a": 4}"#,
        ),
    );
    assert!(
        bad.fault()
            .contains("rows.jsonl:1: `turns` does not end with a question"),
        "{}",
        bad.fault()
    );
}

#[test]
fn pictures_come_from_files_and_columns() {
    use base64::Engine as _;
    let pixel = base64::engine::general_purpose::STANDARD
        .decode(PIXEL)
        .unwrap();
    let task = CHOICE
        .replace("DATA", "rows.jsonl")
        .replace("prompt = ", "pictures = [\"{{ image }}\"]\nprompt = ");
    for image in [
        "\"pixel.png\"".to_owned(),
        format!("\"{PIXEL}\""),
        format!("\"data:image/png;base64,{PIXEL}\""),
        format!("{{\"bytes\": \"{PIXEL}\", \"path\": null}}"),
        format!("[\"{PIXEL}\"]"),
    ] {
        let row = format!("{{\"q\": \"What?\", \"a\": \"dot\", \"image\": {image}}}");
        let folder = Folder::new(&task, ("rows.jsonl", row.as_bytes()));
        std::fs::write(folder.path("pixel.png"), &pixel).unwrap();
        let found = items(&folder);
        let parts = &prompt(&found[0]).turns[0].parts;
        let [Part::Image(shown), Part::Text(text)] = parts.as_slice() else {
            panic!("{parts:?}");
        };
        assert_eq!(
            (shown.media_type.as_str(), text.as_str()),
            ("image/png", "What?")
        );
        assert!(
            folder
                .task()
                .unwrap()
                .needs(&TaskSettings::default())
                .images
        );
    }
    let row = b"{\"q\": \"What?\", \"a\": \"dot\", \"image\": \"absent.png\"}";
    let folder = Folder::new(&task, ("rows.jsonl", row));
    assert!(
        folder.fault().contains("rows.jsonl:1: the picture"),
        "{}",
        folder.fault()
    );
}

#[test]
fn datasets_of_inspect_are_tasks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("set.jsonl");
    std::fs::write(&path, concat!(
        "{\"id\": \"x\", \"input\": \"Which is red?\", \"choices\": [\"sky\", \"blood\"], \"target\": \"B\", \"metadata\": {\"a\": 1}}\n",
        "{\"id\": \"y\", \"input\": \"Which is blue?\", \"choices\": [\"sky\", \"blood\"], \"target\": \"A\"}\n"
    )).unwrap();
    let all = |path: &Path| -> Vec<Item> {
        let task = OwnTask::of_dataset(path).unwrap();
        let items = task.items(&TaskSettings::default(), &NoData).unwrap();
        items.collect::<Result<_, _>>().unwrap()
    };
    let found = all(&path);
    assert_eq!(found[0].id, "x");
    assert!(matches!(
        &found[0].target,
        Target::Choice { correct: 1, .. }
    ));
    assert!(prompt(&found[0]).text().contains("A. sky\nB. blood"));
    let open = folder.path().join("open.jsonl");
    std::fs::write(&open, "{\"input\": [{\"role\": \"user\", \"content\": \"Capital of France?\"}], \"target\": [\"Paris\", \"paris\"]}\n").unwrap();
    let found = all(&open);
    assert_eq!(prompt(&found[0]).form, PromptForm::Chat);
    let other = folder.path().join("other.jsonl");
    std::fs::write(&other, "{\"text\": \"x\"}\n").unwrap();
    let error = OwnTask::of_dataset(&other).err().unwrap().to_string();
    assert!(
        error.contains("other.jsonl:1: ") && error.contains("`input`"),
        "{error}"
    );
}
