//! Verdicts on given answers: ties, normalisations, what is read from words, and a judge.

use mary_contract::{
    ContinuationScore, Finish, Generated, Item, Judgement, ModelRole, NoData, Outcome, Reply,
    ReplyMeta, Request, Response, Scored, Task, TaskSettings, UnscoredReason,
};
use mary_taskfile::OwnTask;

use crate::support::Folder;

fn reply(answer: Response) -> Reply {
    Reply {
        answer,
        meta: ReplyMeta::default(),
    }
}

fn words(text: &str, finish: Finish) -> Reply {
    reply(Response::Generated(Generated {
        text: text.into(),
        finish,
        reasoning: None,
    }))
}

fn scores(texts: &[&[f32]]) -> Reply {
    let continuations = texts.iter().map(|logprobs| ContinuationScore {
        tokens: logprobs.iter().map(|_| "t".to_owned()).collect(),
        logprobs: logprobs.to_vec(),
        boundary_merged: false,
        first_unscored: false,
        windowed: false,
        details: None,
    });
    reply(Response::Scored(Scored {
        continuations: continuations.collect(),
    }))
}

struct Case {
    task: OwnTask,
    item: Item,
    _folder: Folder,
}

impl Case {
    fn new(request: &str, judge: &str, row: &str) -> Self {
        let task = format!("[data]\npath = \"d.jsonl\"\n[request]\n{request}\n[judge]\n{judge}\n");
        let folder = Folder::new(&task, ("d.jsonl", row.as_bytes()));
        let item = folder.items(&TaskSettings::default()).unwrap().remove(0);
        Self {
            task: folder.task().unwrap(),
            item,
            _folder: folder,
        }
    }

    fn verdict(&self, answers: &[Reply]) -> Judgement {
        self.task
            .judge(&TaskSettings::default(), &self.item, answers)
    }

    fn says(&self, text: &str) -> Outcome {
        self.verdict(&[words(text, Finish::Stop)]).outcome
    }
}

const RIGHT: Outcome = Outcome::Scored(1.0);
const WRONG: Outcome = Outcome::Scored(0.0);
const UNPARSED: Outcome = Outcome::Unscored(UnscoredReason::Unparsed);

#[test]
fn options_are_compared_under_every_normalisation() {
    let case = Case::new(
        "kind = \"score\"\nprompt = \"It is\"\nchoices = [\"ab\", \"abcd efgh\"]",
        "kind = \"choice\"\nanswer = \"1\"",
        "{}\n",
    );
    // By sum the first wins, per token and per byte the second; per word they tie.
    let verdict = case.verdict(&[scores(&[&[-2.0], &[-1.0, -1.5, -1.5]])]);
    assert_eq!(verdict.outcome, WRONG);
    assert_eq!(verdict.measures["by_token"], 1.0);
    assert_eq!(verdict.measures["by_byte"], 1.0);
    assert_eq!(verdict.measures["by_word"], 0.5);
    assert_eq!(verdict.measures["margin"], -2.0);
    assert!(!verdict.measures.contains_key("by_unconditional"));
    let tie = case.verdict(&[scores(&[&[-2.0], &[-1.0, -1.0]])]);
    assert_eq!(tie.outcome, Outcome::Scored(0.5));
    let settings = TaskSettings {
        params: [("normalisation".to_owned(), "unconditional".to_owned())].into(),
        ..TaskSettings::default()
    };
    // A run that did not ask for them has no verdict by them; one that did has.
    let stored = [scores(&[&[-2.0], &[-3.0]])];
    let unasked = case.task.judge(&settings, &case.item, &stored);
    assert!(matches!(
        unasked.outcome,
        Outcome::Unscored(UnscoredReason::NotApplicable(_))
    ));
    let asked = [scores(&[&[-2.0], &[-3.0]]), scores(&[&[-2.5], &[-4.0]])];
    assert_eq!(
        case.task.judge(&settings, &case.item, &asked).outcome,
        RIGHT
    );
    let broken = case.verdict(&[scores(&[&[-2.0], &[f32::NAN]])]);
    assert!(matches!(broken.outcome, Outcome::Failed(_)), "{broken:?}");
}

#[test]
fn answers_in_words_are_right_wrong_or_unparsed() {
    let generate = "kind = \"generate\"\nprompt = \"q\"";
    let exact = Case::new(
        generate,
        "kind = \"exact\"\nanswer = \"{{ a }}\"",
        "{\"a\": [\"Paris\", \"the city of Paris\"]}\n",
    );
    assert_eq!(
        (exact.says(" paris. "), exact.says("Paris, I think")),
        (RIGHT, WRONG)
    );
    assert_eq!(exact.says("  "), UNPARSED);
    let contains = Case::new(generate, "kind = \"contains\"\nanswer = \"Paris\"", "{}\n");
    assert_eq!(
        (
            contains.says("It is PARIS, I think"),
            contains.says("Parisian")
        ),
        (RIGHT, WRONG)
    );
    let regex = Case::new(
        generate,
        "kind = \"regex\"\npattern = 'Answer: (\\w+)'\nanswer = \"Paris\"",
        "{}\n",
    );
    assert_eq!(
        (
            regex.says("Answer: Rome. Answer: Paris"),
            regex.says("Answer: Rome")
        ),
        (RIGHT, WRONG)
    );
    assert_eq!(regex.says("Paris"), UNPARSED);
    let cut = regex.verdict(&[words("Well, let me think", Finish::Length)]);
    assert_eq!(cut.outcome, Outcome::Unscored(UnscoredReason::Truncated));
    let refused = regex.verdict(&[words("Answer: Paris", Finish::Refusal)]);
    assert_eq!(refused.outcome, Outcome::Unscored(UnscoredReason::Refused));
    let number = Case::new(
        generate,
        "kind = \"number\"\nanswer = \"{{ n }}\"\ntolerance = 0.5",
        "{\"n\": 1234}\n",
    );
    assert_eq!(
        (number.says("12 and 1,233.6"), number.says("1,233 m")),
        (RIGHT, WRONG)
    );
    assert_eq!(number.says("many"), UNPARSED);
    let choice = Case::new(
        "kind = \"generate\"\nprompt = \"{{ lettered }}\"\nchoices = [\"red\", \"blue\"]",
        "kind = \"choice\"\nanswer = \"blue\"",
        "{}\n",
    );
    assert_eq!(
        (choice.says("(B)"), choice.says("Red."), choice.says("both")),
        (RIGHT, WRONG, UNPARSED)
    );
}

/// The conventions of lm-evaluation-harness, for whoever wants them.
#[test]
fn the_first_of_a_tie_counts_where_the_file_says_so() {
    let request = "kind = \"score\"\nprompt = \"It is\"\nchoices = [\"äöü\", \"abcd\"]";
    let of = |answer: usize| {
        let judge = format!("kind = \"choice\"\nties = \"first\"\nanswer = \"{answer}\"");
        Case::new(request, &judge, "{}\n").verdict(&[scores(&[&[-3.0], &[-3.0]])])
    };
    assert_eq!((of(0).outcome, of(1).outcome), (RIGHT, WRONG));
    // Four characters win over three, four bytes lose to six.
    assert_eq!(of(1).measures["by_character"], 1.0);
    assert_eq!(of(1).measures["by_byte"], 0.0);
    assert_eq!(
        (of(0).measures["tie_rate"], of(1).measures["tie_rate"]),
        (1.0, 1.0)
    );
}

#[test]
fn texts_are_compared_as_they_are_where_the_file_says_so() {
    let generate = "kind = \"generate\"\nprompt = \"q\"";
    let strict =
        "keep_spaces = true\nignore = [\"case\"]\nunread = \"wrong\"\nremove = [',', '\\.$']";
    let exact = format!("kind = \"exact\"\nanswer = \"1,000 M.\"\n{strict}");
    let exact = Case::new(generate, &exact, "{}\n");
    assert_eq!(
        (exact.says("1000 m"), exact.says("1,0,00 M.")),
        (RIGHT, RIGHT)
    );
    assert_eq!(
        (exact.says(" 1000 m"), exact.says("1000  m")),
        (WRONG, WRONG)
    );
    assert_eq!(exact.says(""), WRONG);
    let regex =
        format!("kind = \"regex\"\nanswer = \"12\"\npattern = '(\\$\\d+)|(\\d+)'\n{strict}");
    let regex = Case::new(generate, &regex, "{}\n");
    assert_eq!(
        (regex.says("$3 and 12"), regex.says("12 and $3")),
        (RIGHT, WRONG)
    );
    assert_eq!(regex.says("none"), WRONG);
    let refused = regex.verdict(&[words("12", Finish::Refusal)]);
    assert_eq!(refused.outcome, Outcome::Unscored(UnscoredReason::Refused));
}

#[test]
fn options_may_have_prompts_of_their_own() {
    let case = Case::new(
        "kind = \"score\"\nprompt = \"The {{ choice }}\"\nchoices = [\"cat\", \"dog\"]\ncontinuation = \" barks\"",
        "kind = \"choice\"\nanswer = \"dog\"",
        "{}\n",
    );
    let asked = case.item.asks.iter().map(|ask| match &ask.request {
        Request::Score(score) => (score.prefix.text(), score.continuations.clone()),
        other => panic!("{other:?}"),
    });
    let asked: Vec<(String, Vec<String>)> = asked.collect();
    let one = |prompt: &str| (prompt.to_owned(), vec![" barks".to_owned()]);
    assert_eq!(asked, [one("The cat"), one("The dog")]);
    let verdict = case.verdict(&[scores(&[&[-4.0]]), scores(&[&[-1.0]])]);
    assert_eq!(verdict.outcome, RIGHT);
    let lost = case.verdict(&[scores(&[&[-4.0]])]);
    assert!(matches!(lost.outcome, Outcome::Failed(_)), "{lost:?}");
}

#[test]
fn one_text_is_judged_by_its_ranks_or_by_its_bits() {
    let request = "kind = \"score\"\nprompt = \"a\"\ncontinuation = \" b ü\"";
    let greedy = Case::new(request, "kind = \"greedy\"", "{}\n");
    let ranked = |ranks: &[u32]| {
        let mut reply = scores(&[&[-0.5, -1.5]]);
        if let Response::Scored(scored) = &mut reply.answer {
            scored.continuations[0].details = Some(Box::new(mary_contract::TokenDetails {
                rank: ranks.to_vec(),
                ..Default::default()
            }));
        }
        reply
    };
    let asks_for_ranks =
        matches!(&greedy.item.asks[0].request, Request::Score(s) if s.details.rank);
    assert!(asks_for_ranks);
    assert_eq!(greedy.verdict(&[ranked(&[1, 1])]).outcome, RIGHT);
    assert_eq!(greedy.verdict(&[ranked(&[1, 2])]).outcome, WRONG);
    let untold = greedy.verdict(&[scores(&[&[-0.5, -1.5]])]).outcome;
    assert!(matches!(
        untold,
        Outcome::Unscored(UnscoredReason::NotApplicable(_))
    ));
    let bits = Case::new(request, "kind = \"perplexity\"", "{}\n");
    let Outcome::Scored(value) = bits.verdict(&[scores(&[&[-2.5, -2.5]])]).outcome else {
        panic!("expected a score");
    };
    // Five bytes, five nats: one nat a byte.
    assert!((value - std::f64::consts::LOG2_E).abs() < 1e-9, "{value}");
}

#[test]
fn a_judge_sees_the_rubric_and_its_last_word_counts() {
    let case = Case::new(
        "kind = \"generate\"\nprompt = \"{{ q }}\"",
        "kind = \"model\"\nanswer = \"{{ a }}\"\nrubric = \"{{ q }} / {{ response }} / {{ reference }}?\"",
        "{\"q\": \"Why?\", \"a\": \"because\", \"unused\": 1}\n",
    );
    let settings = TaskSettings::default();
    assert!(case.task.needs(&settings).judge);
    let said = words("So it is.", Finish::Stop);
    let asks = case
        .task
        .follow_up(&settings, &case.item, std::slice::from_ref(&said))
        .unwrap();
    assert_eq!(asks.len(), 1);
    assert_eq!(asks[0].role, ModelRole::Judge);
    let Request::Generate(asked) = &asks[0].request else {
        panic!("{asks:?}");
    };
    assert_eq!(asked.prompt.text(), "Why? / So it is. / because?");
    let both = [said.clone(), words("No doubt. Yes", Finish::Stop)];
    assert_eq!(case.verdict(&both).outcome, RIGHT);
    assert!(
        case.task
            .follow_up(&settings, &case.item, &both)
            .unwrap()
            .is_empty()
    );
    // Nothing was said, so there is nothing to judge.
    let silent = [words("", Finish::Stop)];
    assert!(
        case.task
            .follow_up(&settings, &case.item, &silent)
            .unwrap()
            .is_empty()
    );
    assert_eq!(case.verdict(&silent).outcome, UNPARSED);
}

#[test]
fn a_rubric_that_names_no_column_is_told_before_a_model_is_asked() {
    let task = "[data]\npath = \"d.jsonl\"\n[request]\nkind = \"generate\"\nprompt = \"{{ q }}\"\n\
                [judge]\nkind = \"model\"\nrubric = \"{{ question }} {{ response }}\"\n";
    let folder = Folder::new(task, ("d.jsonl", b"{\"q\": \"Why?\"}\n"));
    let mut items = folder
        .task()
        .unwrap()
        .items(&TaskSettings::default(), &NoData)
        .unwrap();
    let fault = items.next().unwrap().unwrap_err().to_string();
    assert!(
        fault.contains("d.jsonl:1: ") && fault.contains("`question`"),
        "{fault}"
    );
}
