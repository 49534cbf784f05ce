//! Where start tokens are not what the tokenizer would put there, and how many verdicts depend on them.

use std::collections::BTreeMap;

use mary_contract::{Estimate, Measure, RunManifest, START_MEASURE, Start};
use mary_stats::paired::mcnemar;

/// The same samples judged after two start tokens: a measure with p, a sentence where verdicts differ.
pub(crate) fn paired(
    name: &str,
    scores: &BTreeMap<u32, f64>,
    others: impl Iterator<Item = (u32, f64)>,
) -> Option<(Measure, Option<String>)> {
    let other = name.strip_prefix(START_MEASURE)?;
    let own = Start::Text;
    let own = own.name();
    let (mut n, mut only_own, mut only_other) = (0, 0, 0);
    for (sample, value) in others {
        let Some(score) = scores.get(&sample) else {
            continue;
        };
        n += 1;
        only_own += u64::from(*score > value);
        only_other += u64::from(*score < value);
    }
    let p = mcnemar(only_own, only_other).exact_p;
    let method =
        format!("exact McNemar: {only_own} right only with {own}, {only_other} only with {other}");
    let differ = only_own + only_other;
    let said = (differ > 0).then(|| {
        format!(
            "warning: {differ} of {n} verdicts depend on the start token: {only_own} are right only with \
             start={own}, {only_other} only with start={other} (exact McNemar p = {})",
            shown(p)
        )
    });
    let estimate = Estimate {
        value: p,
        low: p,
        high: p,
        n,
        method,
    };
    let name = format!("{name}_p");
    Some((Measure::new(name, estimate), said))
}

fn shown(p: f64) -> String {
    match p < 0.001 {
        true => format!("{p:.1e}"),
        false => format!("{p:.3}"),
    }
}

/// Adds to each model's card which token its texts began with, and where its tokenizer would put another one.
pub(crate) fn remark(manifest: &mut RunManifest) {
    for card in &mut manifest.models {
        let Some(starts) = &card.starts else {
            continue;
        };
        let mut said: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for run in &manifest.tasks {
            let start = run.asked.as_ref().and_then(|asked| asked.get("start"));
            // Where several are compared, `auto` decides.
            let start = start.and_then(|name| match name.as_str() {
                "compare" => Some(Start::Text),
                one => one.parse::<Start>().ok(),
            });
            if let Some(start) = start {
                let text = starts.overriding(&start).unwrap_or_else(|| {
                    let put = starts.shown(&start);
                    let name = start.name();
                    format!("{put} was put before the texts (start: {name}), as its tokenizer does")
                });
                said.entry(text).or_default().push(&run.id);
            }
        }
        let remarks = said
            .into_iter()
            .map(|(text, tasks)| format!("{}: {text}", tasks.join(", ")));
        card.remarks.extend(remarks);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_after_two_start_tokens_are_paired_sample_by_sample() {
        // 68 : 32 of 402, as in the finding that asked for this; p = 2 Σ C(100, k) for k ≤ 32, over 2^100.
        let scores: BTreeMap<u32, f64> = (0..402)
            .map(|i| (i, f64::from(u8::from(i < 368))))
            .collect();
        let other = |i: u32| match i {
            0..68 => 0.0,
            370..402 => 1.0,
            _ => scores[&i],
        };
        let (measure, said) =
            paired("start_harness", &scores, (0..402).map(|i| (i, other(i)))).unwrap();
        assert_eq!(
            (measure.name.as_str(), measure.estimate.n),
            ("start_harness_p", 402)
        );
        assert!(
            (measure.estimate.value - 0.000_408_777_167_4).abs() < 1e-12,
            "{}",
            measure.estimate.value
        );
        let said = said.unwrap();
        assert!(said.contains("100 of 402 verdicts depend"), "{said}");
        assert!(said.contains("68 are right only with start=auto"), "{said}");
        let same = scores.iter().map(|(i, s)| (*i, *s));
        let (measure, said) = paired("start_none", &scores, same).unwrap();
        assert_eq!((measure.estimate.value, said), (1.0, None));
    }

    #[test]
    fn the_token_before_the_texts_is_said_of_every_model() {
        use mary_contract::{ModelCard, NamedToken, StartTokens, TaskRun};
        let token = |text: &str, id| Some(NamedToken::new(text.to_owned(), id, None));
        let card = |adds: Option<NamedToken>| {
            let mut card = ModelCard::new("hf/x".parse().unwrap(), Default::default());
            let ends = [NamedToken::new("<|endoftext|>".into(), 0, None)];
            card.starts = Some(StartTokens::of_tokenizer(adds.clone(), adds, &ends));
            card
        };
        let asked = [("start".to_owned(), "auto".to_owned())];
        let mut manifest: RunManifest = serde_json::from_value(serde_json::json!({
            "schema": 1, "id": "x", "created": "", "version": "", "command": [], "models": [],
            "model_settings": {}, "tasks": [], "trials": 1, "seed": 0,
        }))
        .unwrap();
        manifest.models = vec![card(None), card(token("<bos>", 2))];
        manifest.tasks = vec![TaskRun {
            id: "f/t".into(),
            asked: Some(asked.into()),
            ..TaskRun::default()
        }];
        remark(&mut manifest);
        assert_eq!(
            manifest.models[0].remarks,
            [
                "f/t: <|endoftext|> (id 0) was put before the texts (start: auto); its tokenizer alone would put nothing there"
            ]
        );
        assert_eq!(
            manifest.models[1].remarks,
            ["f/t: <bos> (id 2) was put before the texts (start: auto), as its tokenizer does"]
        );
    }
}
