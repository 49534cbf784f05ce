//! A study from the command line: made, tried by simulated people, closed as a run beside a model's, exported,
//! printed and read, a person withdrawn; a task of one's own; forms with judgements read back.

use crate::program::{Said, done, mary};

#[test]
fn a_study_from_beginning_to_end() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let new = "study new -t htest/rhyme --shots 4 --people 8 --per-person 6 --items 12 --seed 2 --out rhyme";
    done(home, &new.split(' ').collect::<Vec<_>>());
    assert!(home.join("rhyme/study.toml").exists());
    let again = mary(home, &new.split(' ').collect::<Vec<_>>());
    assert_eq!(again.code, 2, "a study is not written over: {}", again.err);
    // Five by data, two through the page; one place is for paper.
    done(home, &["study", "simulate", "rhyme", "--people", "5"]);
    let said = done(
        home,
        &["study", "simulate", "rhyme", "--people", "2", "--page"],
    );
    assert!(
        said.contains("2 simulated people took part through the page"),
        "{said}"
    );
    let said = done(home, &["study", "status", "rhyme"]);
    assert!(
        said.contains("finished                         7"),
        "{said}"
    );
    // Paper: the last place.
    done(home, &["study", "print", "rhyme", "--first", "8"]);
    let key = std::fs::read_to_string(home.join("rhyme/paper/key.csv")).unwrap();
    let marks: String = key
        .lines()
        .skip(1)
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            format!("{},{},{},3\n", cells[0], cells[1], cells[4])
        })
        .collect();
    std::fs::write(
        home.join("marks.csv"),
        format!("sheet,question,mark,seconds\n{marks}"),
    )
    .unwrap();
    let said = done(home, &["study", "read", "rhyme", "marks.csv"]);
    assert_eq!(said, "1 sheets read\n");
    // A model on the same items, and both together.
    let run = "run -m builtin/nano -t htest/rhyme -k 4 --seed 2 --no-report --quiet";
    mary(home, &run.split(' ').collect::<Vec<_>>());
    let said = done(home, &["study", "close", "rhyme"]);
    assert!(said.contains("people/rhyme"), "{said}");
    assert!(said.contains("over people and items"), "{said}");
    let folders: Vec<String> = std::fs::read_dir(home.join("runs"))
        .unwrap()
        .flatten()
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .collect();
    let people = folders
        .iter()
        .find(|f| f.starts_with("people-rhyme"))
        .unwrap();
    let model = folders.iter().find(|f| !f.starts_with("people")).unwrap();
    let said = done(home, &["study", "results", people, "--against", model]);
    assert!(said.contains("builtin/nano: "), "{said}");
    assert!(said.contains("on 12 items"), "{said}");
    // A model that was asked by log-probability: what differs is named, and may be allowed.
    let Said { code, err, .. } = mary(home, &["compare", people, model]);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("--across mode"), "{err}");
    // As one model among models: everybody's answers, people and items both a sample.
    let said = done(
        home,
        &["compare", people, model, "--across", "mode", "--json"],
    );
    let compared: serde_json::Value = serde_json::from_str(&said).unwrap();
    let one = &compared["comparisons"][0];
    assert_eq!(one["paired"], 12, "{said}");
    assert_eq!(one["method"], "crossed, 8 people, 12 items");
    assert!(one["low"].is_number() && one["p"].is_number(), "{said}");
    // Judged again, nothing changes: neither verdicts nor how intervals are made.
    let said = done(home, &["rescore", people]);
    assert!(said.contains("No verdict changed."), "{said}");
    let read = |name: &str| -> serde_json::Value {
        let path = home.join("runs").join(people).join(name);
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    };
    let (before, after) = (read("summary.json"), read("summary.rescored.json"));
    assert_eq!(before["rows"][0]["score"], after["rows"][0]["score"]);
    assert_eq!(before["rows"][0]["measures"], after["rows"][0]["measures"]);
    done(home, &["report", people, model]);
    let page = home.join("runs").join(people).join("report.html");
    let page = std::fs::read_to_string(page).unwrap();
    for shown in [
        "Learning over the trials",
        "Times over the trials",
        "Each person",
        "alpha",
    ] {
        assert!(page.contains(shown), "{shown}");
    }
    done(home, &["export", people, "--to", "csv"]);
    done(home, &["study", "export", "rhyme"]);
    let rows = std::fs::read_to_string(home.join("rhyme/export/jspsych.csv")).unwrap();
    assert_eq!(rows.lines().count(), 1 + 8 * 6);
    assert!(
        home.join("rhyme/export/psych-ds/data/study-rhyme_data.csv")
            .exists()
    );
    // One of them withdraws.
    let who = rows.lines().nth(1).unwrap().split(',').next().unwrap();
    done(home, &["study", "withdraw", "rhyme", who]);
    let log =
        std::fs::read_to_string(home.join("runs").join(people).join("samples.jsonl")).unwrap();
    assert!(!log.contains(who));
    assert_eq!(mary(home, &["study", "withdraw", "rhyme", who]).code, 4);
    done(home, &["study", "power"]);
}

/// A person's "none fits" is a verdict of its own: judging again must not take it for an unread answer.
#[test]
fn none_fits_stays_wrong_when_judged_again() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let new = "study new -t physico/definition --set set=core --none-fits --people 2 --per-person 4 --out defined";
    done(home, &new.split(' ').collect::<Vec<_>>());
    done(home, &["study", "print", "defined"]);
    // The first person finds that nothing fits, the second takes the first option.
    let marks: String = (1..=4).map(|n| format!("1,{n},-\n2,{n},A\n")).collect();
    std::fs::write(
        home.join("marks.csv"),
        format!("sheet,question,mark\n{marks}"),
    )
    .unwrap();
    done(home, &["study", "read", "defined", "marks.csv"]);
    done(home, &["study", "close", "defined"]);
    let said = done(home, &["rescore"]);
    assert!(said.contains("No verdict changed."), "{said}");
    assert!(!said.contains("unparsed"), "{said}");
}

/// Descriptions of a run judged by people: made, judged through the page by simulated judges, and back as
/// judgements of that run; the same with the form of the family.
#[test]
fn what_a_model_wrote_is_judged_and_comes_back_to_its_run() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let run = "run -m builtin/nano -t physico/describe --set per_concept=1 --limit 5 --seed 2 --no-report --quiet";
    mary(home, &run.split(' ').collect::<Vec<_>>());
    let folders = || -> Vec<String> {
        let entries = std::fs::read_dir(home.join("runs")).unwrap().flatten();
        entries
            .map(|e| e.file_name().to_string_lossy().into_owned())
            .collect()
    };
    let run = folders().pop().unwrap();
    done(
        home,
        &[
            "study", "new", "--judge", &run, "--people", "2", "--out", "judged",
        ],
    );
    done(home, &["study", "simulate", "judged", "--page"]);
    let said = done(home, &["study", "results", "judged"]);
    assert!(
        said.contains("builtin/nano: ") && said.contains("2 judges"),
        "{said}"
    );
    let said = done(home, &["study", "close", "judged"]);
    assert!(
        said.contains("judged_by_people") || said.contains("without factual error"),
        "{said}"
    );
    let with = folders()
        .into_iter()
        .find(|f| f.starts_with("judged-judged-"))
        .unwrap();
    let log = std::fs::read_to_string(home.join("runs").join(&with).join("samples.jsonl")).unwrap();
    assert_eq!(log.matches("\"judged_by_people\"").count(), 5);
    done(home, &["report", &with]);
    // The way over a spreadsheet.
    done(home, &["physico", "form", &run, "--out", "ann.csv"]);
    let form = std::fs::read_to_string(home.join("ann.csv")).unwrap();
    assert!(form.lines().count() > 5, "{form}");
    let marked = form.replace(",,\n", ",1,\n");
    std::fs::write(home.join("ann.csv"), marked).unwrap();
    let said = done(home, &["study", "read", "ann.csv", "--run", &run]);
    assert!(said.contains("builtin/nano: 100.00 %"), "{said}");
    assert!(folders().iter().any(|f| f.starts_with("judged-forms-")));
    // Which core properties they name: a form of its own, with grids on its pages.
    let new = ["study", "new", "--judge", &run, "--form", "recall"];
    done(
        home,
        &[&new[..], &["--people", "2", "--out", "recalled"]].concat(),
    );
    let items = std::fs::read_to_string(home.join("recalled/items.json")).unwrap();
    assert!(items.contains("drawn as:\\n"), "{items}");
    done(home, &["study", "simulate", "recalled"]);
    let said = done(home, &["study", "close", "recalled"]);
    assert!(said.contains("texts (recall_by_people)"), "{said}");
    let wrong = [
        "study", "new", "--judge", &run, "--form", "prose", "--out", "x",
    ];
    let Said { code, err, .. } = mary(home, &wrong);
    assert_eq!(code, 2, "{err}");
    assert!(
        err.contains("--form prose: expected one of form, recall"),
        "{err}"
    );
    let Said { code, err, .. } = mary(
        home,
        &[
            "study",
            "new",
            "--judge",
            &run,
            "-t",
            "htest/rhyme",
            "--out",
            "x",
        ],
    );
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("hint:"), "{err}");
}

#[test]
fn a_task_of_ones_own_and_forms_of_judges() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    std::fs::write(
        home.join("sums.toml"),
        "name = \"own/sums\"\n[data]\npath = \"sums.jsonl\"\n[request]\nkind = \"generate\"\nprompt = \"{{ q }}\"\n\
         [judge]\nkind = \"number\"\nanswer = \"{{ a }}\"\n[people]\nwording = \"Work it out in your head.\"\n",
    )
    .unwrap();
    let rows: String = (0..6)
        .map(|n| format!("{{\"q\": \"{n} + 2 =\", \"a\": {}}}\n", n + 2))
        .collect();
    std::fs::write(home.join("sums.jsonl"), rows).unwrap();
    done(
        home,
        &[
            "study",
            "new",
            "-t",
            "sums.toml",
            "--people",
            "2",
            "--out",
            "sums",
        ],
    );
    let items = std::fs::read_to_string(home.join("sums/items.json")).unwrap();
    assert!(
        items.contains("Work it out") && items.contains("number"),
        "{items}"
    );
    done(home, &["study", "simulate", "sums", "--answers", "random"]);
    let said = done(home, &["study", "close", "sums"]);
    assert!(said.contains("own/sums"), "{said}");

    let form = |marks: [&str; 3]| {
        let rows: String = marks
            .iter()
            .enumerate()
            .map(|(n, mark)| format!("m/x,item-{n},0,c,\"words, words\",{mark},\n"))
            .collect();
        format!("model,item,trial,concept,description,\"0 = any error, 1 = none\",remark\n{rows}")
    };
    std::fs::write(home.join("one.csv"), form(["1", "0", "1"])).unwrap();
    std::fs::write(home.join("two.csv"), form(["1", "0", "0"])).unwrap();
    let said = done(home, &["study", "read", "one.csv", "two.csv"]);
    assert!(said.contains("m/x: 50.00 % of 3 descriptions"), "{said}");
    assert!(said.contains("kappa 0.40"), "{said}");
    std::fs::write(home.join("two.csv"), form(["1", "yes", "0"])).unwrap();
    assert_eq!(mary(home, &["study", "read", "one.csv", "two.csv"]).code, 2);
}
