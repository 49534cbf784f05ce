//! Whatever is wrong with a task file or its data is told with file and line, and nothing in either can
//! make Mary spend time or memory without end.

use mary_contract::{NoData, Task, TaskSettings};

use crate::support::Folder;

const PAIRS: &str = "[data]\npath = \"d.jsonl\"\nid = \"id\"\n[request]\nkind = \"score\"\n\
                     good = \"{{ good }}\"\nbad = \"{{ bad }}\"\n[judge]\nkind = \"choice\"\n";

fn row(id: usize) -> String {
    format!("{{\"id\": \"{id}\", \"good\": \"It is.\", \"bad\": \"It are.\"}}\n")
}

/// The fault of a pair task with these bytes as data.
fn of_data(bytes: &[u8]) -> String {
    Folder::new(PAIRS, ("d.jsonl", bytes)).fault()
}

/// The fault of a task file beside sound data.
fn of_file(text: &str) -> String {
    Folder::new(text, ("d.jsonl", row(1).as_bytes())).fault()
}

fn says(fault: &str, wanted: &[&str]) {
    for part in wanted {
        assert!(fault.contains(part), "`{part}` is not in: {fault}");
    }
}

#[test]
fn invalid_utf8_is_told_with_its_line() {
    let mut bytes: Vec<u8> = (1..7).flat_map(|n| row(n).into_bytes()).collect();
    bytes.extend(b"{\"id\": \"7\", \"good\": \"\xff\", \"bad\": \"b\"}\n");
    says(&of_data(&bytes), &["d.jsonl:7: ", "UTF-8"]);
    let csv = PAIRS.replace("d.jsonl", "d.csv");
    let folder = Folder::new(&csv, ("d.csv", b"id,good,bad\n1,a,b\n2,\xe9,b\n"));
    says(
        &folder.fault(),
        &[
            "d.csv:3: byte 3 is not valid UTF-8",
            "`é`",
            "iconv -f WINDOWS-1252",
        ],
    );
}

#[test]
fn tables_as_spreadsheet_programs_save_them_are_read() {
    let csv = PAIRS.replace("d.jsonl", "d.csv");
    let rows = "id;good;bad\r\n1;Er sagt „ja“, wie 3,5;b\r\n2;x;\"y;\nz\"\r\n";
    let wide: Vec<u8> = "\u{feff}"
        .encode_utf16()
        .chain(rows.encode_utf16())
        .flat_map(u16::to_le_bytes)
        .collect();
    for bytes in [
        rows.as_bytes().to_vec(),
        format!("sep=;\r\n{rows}").into_bytes(),
        format!("\u{feff}{rows}").into_bytes(),
        rows.replace(';', "\t").into_bytes(),
        wide,
    ] {
        let folder = Folder::new(&csv, ("d.csv", &bytes));
        let task = folder.task().unwrap();
        let items = task.items(&TaskSettings::default(), &NoData).unwrap();
        let items: Vec<_> = items.map(|item| item.unwrap()).collect();
        assert_eq!(items.len(), 2);
        let asked = format!("{:?}", items[0].asks);
        assert!(asked.contains("„ja“, wie 3,5"), "{asked}");
    }
}

#[test]
fn a_quote_that_is_never_closed_swallows_nothing() {
    let csv = PAIRS.replace("d.jsonl", "d.csv");
    let fault = |text: &str| Folder::new(&csv, ("d.csv", text.as_bytes())).fault();
    // The last field of the row: without a look at the quote, the rest of the file would be this field.
    let open = "id,good,bad\n1,a,b\n2,a,\"b\n3,a,b\n4,a,b\n";
    says(
        &fault(open),
        &["d.csv:3: ", "never closed", "written twice"],
    );
    says(
        &fault("id,good,bad\n1,a,\"b\n2,a,b\n3,\"a\",b\n"),
        &["d.csv:2: ", "line 4", "not closed"],
    );
    says(
        &fault("id,good,bad\n1,\"a\n2,a,b\n3,a,b\"\n"),
        &["d.csv:2: ", "found 2", "goes on to line 4"],
    );
    // Lines keep their numbers behind a `sep=` and a field of two lines.
    let late = "sep=;\nid;good;bad\n1;\"a\nb\";c\n2;a\n";
    says(&fault(late), &["d.csv:5: ", "3 fields", "found 2"]);
    let windows = late.replace('\n', "\r\n");
    says(&fault(&windows), &["d.csv:5: ", "3 fields", "found 2"]);
    // The parser takes such a line feed with the next row; ids that are lines stay what they were.
    let unnamed = "good,bad\r\na,b\r\nc,d\r\n";
    let csv = PAIRS
        .replace("d.jsonl", "d.csv")
        .replace("id = \"id\"\n", "");
    let folder = Folder::new(&csv, ("d.csv", unnamed.as_bytes()));
    let items = folder.items(&TaskSettings::default()).unwrap();
    let ids: Vec<&str> = items.iter().map(|item| item.id.as_str()).collect();
    assert_eq!(ids, ["1", "2"]);
}

#[test]
fn a_spreadsheet_with_the_ending_of_a_table_is_called_one() {
    let csv = PAIRS.replace("d.jsonl", "d.csv");
    let folder = Folder::new(&csv, ("d.csv", b"PK\x03\x04\x14\0\x06\0"));
    says(
        &folder.fault(),
        &["d.csv:1: ", "spreadsheets", "convert-to"],
    );
}

#[test]
fn a_duplicate_id_is_told_with_both_lines() {
    let data = row(1) + &row(2) + "\n" + &row(1);
    says(&of_data(data.as_bytes()), &["d.jsonl:4: ", "`1`", "line 1"]);
}

#[test]
fn an_empty_file_and_one_without_fitting_rows_are_refused() {
    says(&of_data(b""), &["d.jsonl:1: ", "no rows"]);
    says(&of_data(b"\n\n"), &["no rows"]);
    let filtered = PAIRS.replace("id = \"id\"", "id = \"id\"\nwhere = \"{{ id == 'x' }}\"");
    says(&of_file(&filtered), &["`where`", "none"]);
}

#[test]
fn a_missing_column_is_told_with_the_row_and_the_template() {
    let data = row(1) + "{\"id\": \"2\", \"good\": \"It is.\", \"evil\": \"It are.\"}\n";
    says(
        &of_data(data.as_bytes()),
        &["d.jsonl:2: ", "`bad`", "mytask.toml:7", "evil, good, id"],
    );
    let tags = PAIRS.replace("id = \"id\"", "id = \"id\"\ntags = [\"topic\"]");
    says(&of_file(&tags), &["d.jsonl:1: ", "`topic`", "`tags`"]);
}

#[test]
fn broken_rows_are_told() {
    says(&of_data(b"[1, 2]\n"), &["d.jsonl:1: ", "a list"]);
    says(&of_data(b"{\"id\": 1,}\n"), &["d.jsonl:1: ", "column"]);
    let csv = PAIRS.replace("d.jsonl", "d.csv");
    let folder = Folder::new(&csv, ("d.csv", b"id,good,bad\n1,a,b\n2,a\n"));
    says(&folder.fault(), &["d.csv:3: ", "3 fields", "found 2"]);
    let folder = Folder::new(&csv, ("d.csv", b"id,good,good\n1,a,b\n"));
    says(&folder.fault(), &["d.csv:1: ", "two columns", "`good`"]);
}

#[test]
fn broken_task_files_are_told_with_their_line() {
    let with = |from: &str, to: &str| of_file(&PAIRS.replace(from, to));
    says(
        &with("{{ good }}", "{{ good"),
        &["mytask.toml:6: ", "`good`", "broken"],
    );
    says(
        &with("kind = \"score\"", "kind = \"scores\""),
        &["mytask.toml:5: ", "scores"],
    );
    says(
        &with("id = \"id\"", "idd = \"id\""),
        &["mytask.toml:3: ", "idd"],
    );
    says(
        &with("kind = \"choice\"", "kind = \"number\""),
        &["mytask.toml:9: ", "does not fit"],
    );
    says(
        &with("bad = \"{{ bad }}\"\n", ""),
        &["mytask.toml:5: ", "`bad`"],
    );
    says(
        &with("d.jsonl", "d.xlsx"),
        &["mytask.toml:2: ", "a spreadsheet", ".parquet", "convert-to"],
    );
    says(
        &with("d.jsonl", "absent.jsonl"),
        &["absent.jsonl", "mytask.toml:2"],
    );
    let template = PAIRS.replace("\"{{ good }}\"", "\"\"\"\nfine\n{% if %}\"\"\"");
    says(&of_file(&template), &["mytask.toml:8: ", "broken"]);
}

#[test]
fn templates_run_on_limited_fuel() {
    for endless in [
        "{% for a in range(100000) %}{% for b in range(100000) %}x{% endfor %}{% endfor %}",
        "{{ 'x' * 50000000 }}",
    ] {
        let fault = of_file(&PAIRS.replace("{{ good }}", endless));
        says(&fault, &["d.jsonl:1: ", "`good`", "cannot be rendered"]);
    }
}

#[test]
fn patterns_are_bounded() {
    let task = "[data]\npath = \"d.jsonl\"\n[request]\nkind = \"generate\"\nprompt = \"{{ good }}\"\n\
                [judge]\nkind = \"regex\"\nanswer = \"x\"\npattern = '(a{1000}){1000}'\n";
    says(&of_file(task), &["mytask.toml:9: ", "`pattern`"]);
    says(
        &of_file(&task.replace("(a{1000}){1000}", "(")),
        &["mytask.toml:9: ", "`pattern`"],
    );
}

#[test]
fn rows_are_read_lazily() {
    // The bad row far behind does not disturb the first, so the file is not read as a whole.
    let mut data: String = (0..20_000).map(row).collect();
    data.push_str("not json\n");
    let folder = Folder::new(PAIRS, ("d.jsonl", data.as_bytes()));
    let mut items = folder
        .task()
        .unwrap()
        .items(&TaskSettings::default(), &NoData)
        .unwrap();
    assert!(items.next().unwrap().is_ok());
    assert!(
        items
            .last()
            .unwrap()
            .unwrap_err()
            .to_string()
            .contains("d.jsonl:20001: ")
    );
}

#[test]
fn data_that_changes_after_it_was_hashed_is_refused() {
    let folder = Folder::new(PAIRS, ("d.jsonl", row(1).as_bytes()));
    let task = folder.task().unwrap();
    std::fs::write(folder.path("d.jsonl"), row(1) + &row(2)).unwrap();
    let error = task.items(&TaskSettings::default(), &NoData).err().unwrap();
    assert!(error.to_string().contains("has changed"), "{error}");
}

/// Templates of a stranger's task file: values that double, lists of lists, text that is kept.
#[test]
fn no_template_grows_without_end() {
    let of = |prompt: &str| {
        let prompt = serde_json::Value::from(prompt).to_string();
        let file = format!(
            "[data]\npath = \"d.jsonl\"\n[request]\nkind = \"generate\"\nprompt = {prompt}\n\
             [judge]\nkind = \"exact\"\nanswer = \"{{{{ bad }}}}\"\n"
        );
        of_file(&file)
    };
    for (prompt, wanted) in [
        (
            "{% set n = namespace(x='ab') %}{% for i in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}",
            "grows",
        ),
        (
            "{% set n = namespace(x=[1]) %}{% for i in range(60) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x }}",
            "grows",
        ),
        ("{{ ('a' * 1000)|replace('a', 'b' * 40000) }}", "grows"),
        (
            "{% set x = 'a' * 40000 %}{% for i in range(9999) %}{{ x }}{% endfor %}",
            "more than 16 MiB",
        ),
        (
            "{% set x = 'a' * 40000 %}{% set y %}{% for i in range(9999) %}{{ x }}{% endfor %}{% endset %}{{ y|length }}",
            "grows",
        ),
    ] {
        let fault = of(prompt);
        assert!(fault.contains(wanted), "{prompt}: {fault}");
    }
}

/// Data that is no file: it would be read for ever, or waited for.
#[cfg(unix)]
#[test]
fn data_that_is_no_plain_file_is_refused() {
    let folder = Folder::new(PAIRS, ("other", b""));
    let made = std::process::Command::new("mkfifo")
        .arg(folder.path("d.jsonl"))
        .status();
    assert!(made.unwrap().success());
    says(&folder.fault(), &["d.jsonl", "FIFO"]);
    let file = PAIRS.replace("\"d.jsonl\"", "\"/dev/zero\"\nformat = \"jsonl\"");
    says(&of_file(&file), &["/dev/zero", "device"]);
    let material = mary_taskfile::Material::open(&folder.path("d.jsonl"));
    says(&material.unwrap_err().to_string(), &["FIFO"]);
}

#[test]
fn a_twin_in_words_must_be_there_and_be_in_words() {
    const SHOWN: &str = "[data]\npath = \"d.jsonl\"\nid = \"id\"\n[request]\nkind = \"score\"\n\
                         pictures = [\"{{ p }}\"]\nprompt = \"a\"\nchoices = [\"x\", \"y\"]\n\
                         [judge]\nkind = \"choice\"\nanswer = \"x\"\n";
    let named = |file: &str, more: &str| format!("{SHOWN}[twin]\nwords = \"{file}\"\n{more}");
    let data = ("d.jsonl", row(1).into_bytes());
    let fault = |text: &str, other: &str| {
        let folder = Folder::new(text, (data.0, &data.1));
        std::fs::write(folder.path("other.toml"), other).unwrap();
        folder.fault()
    };
    let words = SHOWN.replace("pictures = [\"{{ p }}\"]\n", "");
    says(&fault(&named("nowhere.toml", ""), ""), &["nowhere.toml"]);
    says(
        &fault(&named("other.toml", ""), SHOWN),
        &["mytask.toml:13: ", "`other.toml` shows pictures"],
    );
    let pictureless = format!("{words}[twin]\nwords = \"other.toml\"\n");
    says(
        &fault(&pictureless, &words),
        &["mytask.toml:12: ", "shows pictures itself"],
    );
    let same = format!("name = \"own/mytask\"\n{words}");
    says(&fault(&named("other.toml", ""), &same), &["same name"]);
    says(
        &fault(&named("other.toml", "shown = \"words\"\n"), &words),
        &["picture", "both"],
    );
    let folder = Folder::new(&named("other.toml", ""), (data.0, &data.1));
    std::fs::write(folder.path("other.toml"), &words).unwrap();
    let twin = folder.task().unwrap().twin(&TaskSettings::default());
    let twin = twin.unwrap();
    assert_eq!(twin.name, "own/other");
    assert_eq!(twin.shown, mary_contract::ShownAs::Picture);
}
