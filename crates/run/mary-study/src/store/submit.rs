//! The way through a study, step by step: instructions, comprehension checks, items with attention checks
//! among them, the end. Which step is next is read from what is stored, so that a person can close the page
//! and come back; a step is saved once, and saving it again changes nothing.

use rusqlite::{Connection, params};

use super::people::{Person, PersonState, answers_of, is_closed, known, set_state};
use super::{execute, exists, value};
use crate::folder::Study;
use crate::question::Answer;
use crate::settings::CheckKind;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Instructions,
    Check {
        number: usize,
        /// From 0.
        attempt: u32,
    },
    Trial {
        /// From 0.
        trial: usize,
        item: usize,
    },
    Finished,
    /// Did not understand the instructions.
    ScreenedOut,
    /// Was away, and the place was given to another.
    TimedOut,
    Closed {
        begun: bool,
    },
}

impl Step {
    pub fn id(&self) -> String {
        match self {
            Self::Instructions => "instructions".into(),
            Self::Check { number, attempt } => format!("check-{number}-{attempt}"),
            Self::Trial { trial, .. } => format!("trial-{trial}"),
            Self::Finished => "finished".into(),
            Self::ScreenedOut => "screened-out".into(),
            Self::TimedOut => "timed-out".into(),
            Self::Closed { .. } => "closed".into(),
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Submission {
    pub step: String,
    /// The step's key, which only its own page holds.
    pub key: String,
    /// Values of the field `answer`.
    pub values: Vec<String>,
    /// Milliseconds from seeing to answering.
    pub rt: Option<f64>,
    /// Milliseconds since the page was opened.
    pub elapsed: Option<f64>,
    pub blurs: Option<i64>,
    pub window: Option<(i64, i64)>,
    /// `key`, `mouse` or `touch`.
    pub input: Option<String>,
    /// Milliseconds for each word, where the page uncovered them one by one.
    pub times: Vec<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Submitted {
    Saved,
    /// It had been saved before; nothing was changed.
    Already,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    Unknown,
    /// The key is not that of this person and step, or the step is not the next one.
    NotNow,
    Unreadable,
    /// The study is over, or the place was given to another.
    Over,
}

/// The key of a step: nobody can make one for another's step, or for one that was not shown yet.
pub fn step_key(study: &Study, person: i64, step: &str) -> String {
    let secret = blake3::derive_key("mary-study step key", study.secrets.steps.as_bytes());
    let said = format!("{person}/{step}");
    let hash = blake3::keyed_hash(&secret, said.as_bytes()).to_hex();
    hash.as_str().chars().take(32).collect()
}

pub(crate) fn current(db: &Connection, study: &Study, who: &Person) -> rusqlite::Result<Step> {
    match who.state {
        PersonState::Finished => return Ok(Step::Finished),
        PersonState::ScreenedOut => return Ok(Step::ScreenedOut),
        PersonState::TimedOut => return Ok(Step::TimedOut),
        PersonState::Running => {}
    }
    let sql = "SELECT count(*) FROM answers WHERE person = ?1";
    let answered: Option<i64> = value(db, sql, [who.id])?;
    let answered = answered.map_or(0, |n| usize::try_from(n).unwrap_or(0));
    if is_closed(db)? {
        return Ok(Step::Closed {
            begun: answered > 0,
        });
    }
    if !who.told {
        return Ok(Step::Instructions);
    }
    for (number, check) in study.settings.checks.iter().enumerate() {
        let (tries, passed) = tries(db, who.id, number)?;
        let due = match check.kind {
            CheckKind::Comprehension => !passed,
            CheckKind::Attention => tries == 0 && answered >= check.after && answered > 0,
        };
        if due {
            return Ok(Step::Check {
                number,
                attempt: tries,
            });
        }
    }
    let next = match &study.adaptive {
        Some(test) => {
            let given = answers_of(db, who.id)?;
            test.next(who.place, given.iter().map(|a| (a.item, &a.answer)))
        }
        None => study.design().list(who.place).get(answered).copied(),
    };
    Ok(match next {
        Some(item) => Step::Trial {
            trial: answered,
            item,
        },
        None => Step::Finished,
    })
}

fn tries(db: &Connection, person: i64, number: usize) -> rusqlite::Result<(u32, bool)> {
    db.prepare_cached(
        "SELECT count(*), coalesce(max(passed), 0) FROM checks WHERE person = ?1 AND number = ?2",
    )?
    .query_row(params![person, number as i64], |row| {
        Ok((row.get(0)?, row.get(1)?))
    })
}

pub(crate) fn begin_view(db: &Connection, person: i64, step: &str) -> rusqlite::Result<()> {
    db.prepare_cached(
        "INSERT INTO views (person, step, times) VALUES (?1, ?2, 1) \
         ON CONFLICT (person, step) DO UPDATE SET times = times + 1",
    )?
    .execute(params![person, step])?;
    Ok(())
}

pub(crate) fn submit(
    db: &Connection,
    study: &Study,
    token: &[u8; 32],
    sent: &Submission,
    now: i64,
) -> rusqlite::Result<Result<Submitted, Refusal>> {
    let Some(who) = known(db, token, now)? else {
        return Ok(Err(Refusal::Unknown));
    };
    // Compared as hashes, so that the time it takes tells nothing.
    let expected = step_key(study, who.id, &sent.step);
    if blake3::hash(expected.as_bytes()) != blake3::hash(sent.key.as_bytes()) {
        return Ok(Err(Refusal::NotNow));
    }
    let step = current(db, study, &who)?;
    if step.id() != sent.step {
        return Ok(if was_done(db, &who, &sent.step)? {
            Ok(Submitted::Already)
        } else if matches!(step, Step::TimedOut | Step::Closed { .. }) {
            Err(Refusal::Over)
        } else {
            Err(Refusal::NotNow)
        });
    }
    match step {
        Step::Instructions => {
            db.execute("UPDATE people SET told = 1 WHERE id = ?1", [who.id])?;
        }
        Step::Check { number, attempt } => {
            if !take_check(db, study, &who, (number, attempt), sent)? {
                return Ok(Err(Refusal::Unreadable));
            }
        }
        Step::Trial { trial, item } => {
            let order = study.order(who.place, item);
            let form = study.questions.get(item).map(|q| &q.answer);
            let characters = study.settings.rules.characters;
            let answer = form.and_then(|form| form.read(&sent.values, &order, characters));
            let timed = study.settings.rules.seconds > 0;
            let Some(answer) = answer.filter(|a| timed || *a != Answer::TimeOut) else {
                return Ok(Err(Refusal::Unreadable));
            };
            let words = study.questions.get(item).map_or(0, |q| q.reading.len());
            let times = (words > 0 && sent.times.len() == words).then_some(&sent.times);
            save(db, &who, (trial, item), (&answer, &order, times), sent, now)?;
        }
        _ => return Ok(Err(Refusal::Over)),
    }
    finish(db, study, token, now)?;
    Ok(Ok(Submitted::Saved))
}

fn was_done(db: &Connection, who: &Person, step: &str) -> rusqlite::Result<bool> {
    if step == "instructions" {
        return Ok(who.told);
    }
    let number = |text: &str| text.parse::<i64>().unwrap_or(-1);
    if let Some(trial) = step.strip_prefix("trial-") {
        let sql = "SELECT 1 FROM answers WHERE person = ?1 AND trial = ?2";
        return exists(db, sql, [who.id, number(trial)]);
    }
    let check = step.strip_prefix("check-");
    let Some((check, attempt)) = check.and_then(|rest| rest.split_once('-')) else {
        return Ok(false);
    };
    let sql = "SELECT 1 FROM checks WHERE person = ?1 AND number = ?2 AND try = ?3";
    exists(db, sql, [who.id, number(check), number(attempt)])
}

/// Whether it was an answer at all.
fn take_check(
    db: &Connection,
    study: &Study,
    who: &Person,
    (number, attempt): (usize, u32),
    sent: &Submission,
) -> rusqlite::Result<bool> {
    let check = study.settings.checks.get(number);
    let (Some(check), [value]) = (check, sent.values.as_slice()) else {
        return Ok(false);
    };
    let chosen = value.parse::<usize>().ok();
    let Some(chosen) = chosen.filter(|c| *c < check.options.len()) else {
        return Ok(false);
    };
    let passed = chosen + 1 == check.answer;
    let sql = "INSERT INTO checks (person, number, try, passed) VALUES (?1, ?2, ?3, ?4)";
    execute(db, sql, params![who.id, number as i64, attempt, passed])?;
    let tries = study.settings.rules.comprehension_tries;
    if check.kind == CheckKind::Comprehension && !passed && attempt + 1 >= tries {
        set_state(db, who.id, PersonState::ScreenedOut)?;
        let sql = "UPDATE places SET person = NULL WHERE person = ?1";
        execute(db, sql, [who.id])?;
    }
    Ok(true)
}

/// Keeps an answer with where it belongs, the order of the options, times of words and what came with it.
fn save(
    db: &Connection,
    who: &Person,
    (trial, item): (usize, usize),
    (answer, order, times): (&Answer, &[usize], Option<&Vec<f64>>),
    sent: &Submission,
    now: i64,
) -> rusqlite::Result<()> {
    let json = |value: serde_json::Result<String>| {
        value.map_err(|e| rusqlite::Error::ToSqlConversionFailure(Box::new(e)))
    };
    let sql = "SELECT times FROM views WHERE person = ?1 AND step = ?2";
    let views: Option<i64> = value(db, sql, params![who.id, sent.step])?;
    db.prepare_cached(
        "INSERT INTO answers (person, trial, item, answer, shown, rt, elapsed, blurs, width, height, \
         input, views, saved, times) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
    )?
    .execute(params![
        who.id,
        trial as i64,
        item as i64,
        json(serde_json::to_string(answer))?,
        json(serde_json::to_string(order))?,
        sent.rt,
        sent.elapsed,
        sent.blurs,
        sent.window.map(|w| w.0),
        sent.window.map(|w| w.1),
        sent.input,
        views.unwrap_or(0),
        now,
        times.map(|t| json(serde_json::to_string(t))).transpose()?
    ])?;
    Ok(())
}

/// The end, once nothing is left to ask: within the transaction of the last answer.
fn finish(db: &Connection, study: &Study, token: &[u8; 32], now: i64) -> rusqlite::Result<()> {
    let Some(who) = known(db, token, now)? else {
        return Ok(());
    };
    if who.state == PersonState::Running && current(db, study, &who)? == Step::Finished {
        set_state(db, who.id, PersonState::Finished)?;
        db.execute("UPDATE people SET ended = ?2 WHERE id = ?1", [who.id, now])?;
    }
    Ok(())
}
