//! Self-paced reading: a table of sentences becomes pages on which words are uncovered one by one. Every
//! person reads each item in one condition (a Latin square over lists); a question may follow.

use std::collections::BTreeMap;
use std::sync::Arc;

use mary_contract::{
    Ask, DataSource, Generate, Item, Items, Judgement, Needs, Part, Prompt, Reply, Request,
    Response, Sampling, Target, Task, TaskCard, TaskError, TaskRun, TaskSettings, UnscoredReason,
};
use mary_platform::from_spreadsheet;

use crate::error::{fault, table};
use crate::keys::{Frozen, KeyedItem, Keys};
use crate::question::{AnswerForm, Question};
use crate::settings::Language;
use crate::{Result, StudyError};

/// Words of a sentence, at most: their times go through one form.
const LONGEST: usize = 1_000;
const COMPREHENSION: &str = "people/comprehension";
/// Columns with a meaning; all others are conditions, carried into the export.
const OWN: [&str; 5] = ["sentence", "item", "question", "options", "answer"];

/// The task that judges what is asked after a sentence.
struct Comprehension(TaskCard);

/// The judge of a study of sentences, where a run is of one.
pub(crate) fn judge(run: &TaskRun) -> Option<Arc<dyn Task>> {
    (run.id == COMPREHENSION).then(|| Arc::new(comprehension()) as Arc<dyn Task>)
}

fn comprehension() -> Comprehension {
    Comprehension(TaskCard::new(
        COMPREHENSION,
        "Questions after self-paced reading",
        "Whether people understood the sentences that they read word by word.",
    ))
}

impl Task for Comprehension {
    fn card(&self) -> &TaskCard {
        &self.0
    }

    fn needs(&self, _: &TaskSettings) -> Needs {
        Needs::default()
    }

    fn items(&self, _: &TaskSettings, _: &dyn DataSource) -> Result<Items, TaskError> {
        let why = "its sentences are a study's own: `mary study new --read TABLE`";
        Err(TaskError::Setting(why.into()))
    }

    fn judge(&self, _: &TaskSettings, item: &Item, answers: &[Reply]) -> Judgement {
        match (item.target.right(), answers.first().map(|a| &a.answer)) {
            (None, _) => {
                let why = "no question was asked of the sentence";
                Judgement::unscored(UnscoredReason::NotApplicable(why.into()))
            }
            (Some(right), Some(Response::Generated(said))) => {
                let score = if said.text == right { 1.0 } else { 0.0 };
                Judgement::scored(score).read_as(said.text.clone())
            }
            _ => Judgement::unscored(UnscoredReason::Unparsed),
        }
    }

    fn conventions(&self, _: &TaskSettings) -> BTreeMap<String, String> {
        let said =
            "1 where the right option was chosen; sentences without a question have no score";
        BTreeMap::from([("score".to_owned(), said.to_owned())])
    }
}

/// A table as items of a study, list after list, and how many of them each person reads.
pub fn frozen(name: &str, bytes: &[u8], language: Language) -> Result<(Frozen, usize)> {
    let rows = rows(name, bytes, language)?;
    let lists = rows.iter().map(Vec::len).max().unwrap_or(0);
    if let Some(odd) = rows.iter().find(|same| lists % same.len() != 0) {
        let item = odd.first().map_or("", |(key, _)| key.item.id.as_str());
        return Err(StudyError::Refused(format!(
            "{name}: item {item} has {} conditions and others have {lists}; expected {lists}, or 1 for a filler, \
             so that every person reads each item once and each condition equally often",
            odd.len()
        )));
    }
    let (mut items, mut questions) = (Vec::new(), Vec::new());
    for list in 0..lists {
        for (number, same) in rows.iter().enumerate() {
            let (key, question) = &same[(number + list) % same.len()];
            items.push(key.clone());
            questions.push(question.clone());
        }
    }
    let keys = Keys {
        command: Vec::new(),
        tasks: vec![TaskRun::of(&comprehension(), TaskSettings::default())],
        items,
        judging: None,
    };
    let frozen = Frozen {
        questions,
        keys,
        seconds: None,
    };
    Ok((frozen, rows.len()))
}

type Condition = (KeyedItem, Question);

/// The rows by item, in the order of the table.
fn rows(name: &str, bytes: &[u8], language: Language) -> Result<Vec<Vec<Condition>>> {
    let wrong = |line: usize, why: String| StudyError::Refused(format!("{name}:{line}: {why}"));
    let (mut reader, head) = table(bytes, &wrong)?;
    let mut items: Vec<(String, Vec<Condition>)> = Vec::new();
    for (row, record) in reader.records().enumerate() {
        let line = row + 2;
        let record = record.map_err(|e| fault(line, &e, &wrong))?;
        let cells: BTreeMap<&str, &str> = head
            .iter()
            .zip(&record)
            .map(|(name, cell)| (name.trim(), from_spreadsheet(cell).trim()))
            .collect();
        let cell = |name: &str| cells.get(name).copied().filter(|text| !text.is_empty());
        let Some(sentence) = cell("sentence") else {
            return Err(wrong(
                line,
                "expected a text in the column `sentence`".into(),
            ));
        };
        let (words, critical) = words(sentence).map_err(|why| wrong(line, why))?;
        let item = cell("item").map_or_else(|| line.to_string(), str::to_owned);
        let place = items.iter().position(|(id, _)| *id == item);
        let place = place.unwrap_or_else(|| {
            items.push((item.clone(), Vec::new()));
            items.len() - 1
        });
        let (id, same) = &mut items[place];
        let (target, answer, said) = asked(&cells, language).map_err(|why| wrong(line, why))?;
        let whole = words.join(language.joint());
        let prompt = match cell("question") {
            Some(question) => format!("{whole}\n\n{question}"),
            None => whole,
        };
        let request = Request::Generate(Generate::new(Prompt::chat(prompt), Sampling::greedy(16)));
        let number = same.len() + 1;
        let mut made = Item::new(
            format!("{id}-{number}"),
            target,
            vec![Ask::subject(request)],
        );
        made.cluster = Some(id.clone());
        let conditions = cells.iter().filter(|(name, _)| !OWN.contains(name));
        made.tags = conditions
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
            .collect();
        let question = Question {
            instruction: String::new(),
            examples: Vec::new(),
            parts: Vec::from_iter(cell("question").map(|q| Part::Text(q.to_owned()))),
            reading: words,
            answer,
        };
        let key = KeyedItem {
            task: 0,
            item: made,
            said,
            critical,
        };
        same.push((key, question));
    }
    if items.is_empty() {
        return Err(wrong(1, "expected rows with sentences, found none".into()));
    }
    Ok(items.into_iter().map(|(_, same)| same).collect())
}

/// The pieces that are uncovered one by one (words, or what stands between bars) and which of them, from 0,
/// is the first in `[[ ]]`.
fn words(sentence: &str) -> Result<(Vec<String>, Option<usize>), String> {
    let pieces: Vec<&str> = match sentence.contains('|') {
        true => sentence.split('|').map(str::trim).collect(),
        false => sentence.split_whitespace().collect(),
    };
    let critical = pieces.iter().position(|piece| piece.contains("[["));
    let plain = |piece: &&str| piece.replace("[[", "").replace("]]", "");
    let words: Vec<String> = pieces.iter().map(plain).collect();
    match words.iter().all(|word| !word.is_empty()) && words.len() <= LONGEST {
        true => Ok((words, critical)),
        false => Err(format!(
            "expected at most {LONGEST} words, none of them empty, in `{sentence}`"
        )),
    }
}

type Asked = (Target, AnswerForm, Vec<String>);

/// What is asked after a sentence; nothing but to go on where no question stands beside it.
fn asked(cells: &BTreeMap<&str, &str>, language: Language) -> Result<Asked, String> {
    let cell = |name: &str| cells.get(name).copied().unwrap_or_default();
    let question = cell("question");
    if question.is_empty() {
        return Ok((
            Target::Data(serde_json::Value::Null),
            AnswerForm::Read,
            Vec::new(),
        ));
    }
    let usual = match language {
        Language::En => "Yes|No",
        Language::Zh => "是|否",
    };
    let given = cell("options");
    let given = if given.is_empty() { usual } else { given };
    let options: Vec<String> = given.split('|').map(|o| o.trim().to_owned()).collect();
    let right = cell("answer");
    let same = |option: &String| option.eq_ignore_ascii_case(right);
    let Some(correct) = options.iter().position(same) else {
        return Err(format!(
            "the answer `{right}` is none of the options {given}"
        ));
    };
    let target = Target::one_of(question.to_owned(), options.clone(), correct);
    Ok((target, AnswerForm::ordered(options.clone()), options))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "item,order,sentence,question,answer\n\
        1,plain,The key [[was]] rusty.,Was it rusty?,yes\n1,swapped,Rusty [[was]] the key.,,\n\
        2,plain,A|red door|[[shut]].,,\n2,swapped,Shut|[[was]]|a red door.,,\n3,filler,It rained.,,\n";

    #[test]
    fn every_list_has_each_item_once_and_conditions_take_turns() {
        let (frozen, each) = frozen("t.csv", TABLE.as_bytes(), Language::En).unwrap();
        assert_eq!((each, frozen.questions.len()), (3, 6));
        let ids: Vec<&str> = frozen
            .keys
            .items
            .iter()
            .map(|k| k.item.id.as_str())
            .collect();
        assert_eq!(ids, ["1-1", "2-2", "3-1", "1-2", "2-1", "3-1"]);
        let regions = &frozen.questions[4].reading;
        assert_eq!(regions, &["A", "red door", "shut."]);
        assert_eq!(frozen.keys.items[4].critical, Some(2));
        assert_eq!(frozen.keys.items[4].item.tags["order"], "plain");
        // Nothing that is shown tells the condition, the right answer or the critical word.
        let shown = serde_json::to_string(&frozen.questions).unwrap();
        assert!(!shown.contains("[[") && !shown.contains("plain") && !shown.contains("correct"));
    }

    #[test]
    fn what_is_wrong_with_a_table_is_said_with_its_line() {
        let mut more = TABLE.to_owned();
        more.push_str("4,a,One.,,\n4,b,Two.,,\n4,c,Three.,,\n");
        for (table, said) in [
            (
                "a,b\n1,2\n",
                "t.csv:2: expected a text in the column `sentence`",
            ),
            ("sentence\n", "t.csv:1: expected rows"),
            (
                "sentence,question,answer\nIt is.,Is it?,maybe\n",
                "t.csv:2: the answer `maybe`",
            ),
            ("sentence\nA||b\n", "t.csv:2: expected at most"),
            (&more, "t.csv: item 1-1 has 2 conditions and others have 3"),
        ] {
            let error = frozen("t.csv", table.as_bytes(), Language::En)
                .unwrap_err()
                .to_string();
            assert!(error.starts_with(said), "{error}");
        }
    }
}
