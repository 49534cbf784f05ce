//! The exported files in the hands of the tools they are made for.
//!
//! Needs a Python that has inspect_ai, lm_eval or pyarrow: the one named by MARY_PEER_PYTHON, else
//! `python3`. With MARY_PEER_PYTHON set, a tool that is missing there is an error, not a skip.

use crate::support;
use mary_testkit::{Lacking, skip};

use std::path::Path;
use std::process::Command;

use mary_contract::{
    Ask, ContinuationScore, ErrorKind, Exchange, Image, Judgement, Part, Prompt, Reply, Request,
    Response, Score, Scored, Start,
};
use mary_store::{ExportForm, RunFolder, export};
use support::{key, manifest, sample};

/// A sample with log-probabilities, one with a picture, one that failed, and hostile text.
fn run(root: &Path) -> RunFolder {
    let mut run = RunFolder::create_or_open(root, &manifest("run-1")).unwrap();
    for n in 0..20 {
        run.append(&sample(n)).unwrap();
    }
    let mut scored = sample(20);
    let score = |logprob: f32| ContinuationScore {
        tokens: vec!["x".into()],
        logprobs: vec![logprob],
        boundary_merged: false,
        first_unscored: false,
        windowed: false,
        details: None,
    };
    scored.exchanges = vec![Exchange {
        key: key("scored"),
        ask: Ask::subject(Request::Score(Score::new(
            Prompt::plain("Once"),
            vec![" upon".into(), " under".into()],
            Start::Always,
        ))),
        reply: Ok(Reply::bare(Response::Scored(Scored {
            continuations: vec![score(-1.5), score(-3.0)],
        }))),
    }];
    run.append(&scored).unwrap();
    let mut seen = sample(21);
    if let Request::Generate(g) = &mut seen.exchanges[0].ask.request {
        g.prompt = Prompt::chat("What is this?");
        g.prompt.system = Some("Be brief.".into());
        g.prompt.turns[0].parts.push(Part::Image(Image {
            media_type: "image/png".into(),
            data: vec![1, 2, 3],
        }));
    }
    seen.judgement.parsed = Some("<script>alert(\"\u{202e}\")</script>\u{0}".into());
    run.append(&seen).unwrap();
    let mut failed = sample(22);
    failed.judgement = Judgement::failed(ErrorKind::Timeout, "no answer in 60 s");
    run.append(&failed).unwrap();
    run.flush().unwrap();
    run
}

#[test]
fn inspect_lm_eval_and_arrow_read_what_we_export() {
    let named = std::env::var("MARY_PEER_PYTHON").ok();
    let python = named.clone().unwrap_or_else(|| "python3".into());
    let dir = tempfile::tempdir().unwrap();
    let run = run(dir.path());
    let out = dir.path().join("out");
    for form in [
        ExportForm::InspectJson,
        ExportForm::InspectEval,
        ExportForm::LmEval,
        ExportForm::Parquet,
    ] {
        export(&run, form, &out).unwrap();
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tools/check_exports.py");
    let mut command = Command::new(&python);
    command.arg(script).arg(&out);
    if named.is_some() {
        command.arg("--require");
    }
    let Ok(result) = command.output() else {
        assert!(named.is_none(), "MARY_PEER_PYTHON: no {python} here");
        skip(Lacking::Peers, &format!("no {python} here"));
        return;
    };
    let text = String::from_utf8_lossy(&result.stdout);
    let errors = String::from_utf8_lossy(&result.stderr);
    if errors.contains("nothing was checked") {
        let why = format!(
            "{python} has neither inspect_ai nor lm_eval nor pyarrow; set MARY_PEER_PYTHON"
        );
        skip(Lacking::Peers, &why);
        return;
    }
    assert!(result.status.success(), "{text}\n{errors}");
    assert!(text.contains("ok: "), "{text}");
    eprintln!("{text}");
}
