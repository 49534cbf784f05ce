//! People and places: a place is given when somebody agrees to take part, released when nothing was heard
//! of them for long, and free again when they withdraw. Each of these is one transaction.

use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::{execute, exists, value};

use crate::question::Answer;

mary_generators::named! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum PersonState {
        Running = "running",
        Finished = "finished",
        /// Was away for long, and the place was given to another.
        TimedOut = "timed out",
        /// Did not understand the instructions.
        ScreenedOut = "screened out",
    }
}

impl PersonState {
    fn named(name: &str) -> Self {
        let known = Self::ALL.into_iter().find(|s| s.name() == name);
        known.unwrap_or(Self::TimedOut)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    pub id: i64,
    pub pseudonym: String,
    pub place: usize,
    pub state: PersonState,
    pub consent_version: u32,
    pub consent_hash: String,
    /// Milliseconds since 1970.
    pub began: i64,
    pub seen: i64,
    /// When everything was answered.
    pub ended: Option<i64>,
    pub told: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlatformIds {
    pub pid: String,
    pub study: String,
    pub session: String,
}

#[derive(Debug, Clone)]
pub(crate) struct Joining {
    pub now: i64,
    /// Milliseconds after which a place is given to another.
    pub patience: i64,
    pub token: [u8; 32],
    pub pseudonym: String,
    pub consent_version: u32,
    pub consent_hash: String,
    pub platform: Option<PlatformIds>,
    /// Places that one address may hold at once, and who came from this one.
    pub neighbours: Option<Neighbours>,
}

/// Those who came from one address, as hashes of their tokens; shared with the server, which adds to it.
#[derive(Debug, Clone)]
pub(crate) struct Neighbours {
    pub most: usize,
    pub tokens: Arc<Mutex<Vec<[u8; 32]>>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joined {
    New,
    /// To who had one already: the form came twice, or the platform sent the same person and participation
    /// again. The new token replaces the old one.
    Back,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoPlace {
    Full,
    Closed,
    Again,
    Crowded,
}

const COLUMNS: &str =
    "id, pseudonym, place, state, consent_version, consent_hash, began, seen, ended, told";

fn person(row: &Row<'_>) -> rusqlite::Result<Person> {
    let state: String = row.get(3)?;
    Ok(Person {
        id: row.get(0)?,
        pseudonym: row.get(1)?,
        place: usize::try_from(row.get::<_, i64>(2)?).unwrap_or(0),
        state: PersonState::named(&state),
        consent_version: row.get(4)?,
        consent_hash: row.get(5)?,
        began: row.get(6)?,
        seen: row.get(7)?,
        ended: row.get(8)?,
        told: row.get(9)?,
    })
}

pub(crate) fn join(db: &Connection, who: &Joining) -> rusqlite::Result<Result<Joined, NoPlace>> {
    // A form that is sent again, because its answer was lost on the way.
    let sql = "SELECT 1 FROM people WHERE token = ?1";
    if exists(db, sql, [who.token.as_slice()])? {
        return Ok(Ok(Joined::Back));
    }
    if admission(db)? != Admission::Open {
        return Ok(Err(NoPlace::Closed));
    }
    if let Some(ids) = &who.platform
        && let Some((id, state, session)) = db
            .prepare_cached(
                "SELECT id, state, session FROM platform JOIN people ON id = person WHERE pid = ?1",
            )?
            .query_row([&ids.pid], |row| {
                Ok((
                    row.get::<_, i64>(0)?,
                    row.get::<_, String>(1)?,
                    row.get::<_, String>(2)?,
                ))
            })
            .optional()?
    {
        let over = matches!(
            PersonState::named(&state),
            PersonState::Finished | PersonState::ScreenedOut
        );
        // The same person under another participation is not let in twice, and whoever knows only the
        // person's id does not get at their answers.
        if over || session != ids.session {
            return Ok(Err(NoPlace::Again));
        }
        let sql = "UPDATE people SET token = ?2 WHERE id = ?1";
        execute(db, sql, params![id, who.token.as_slice()])?;
        return Ok(Ok(Joined::Back));
    }
    release(db, who.now, who.patience)?;
    let sql = "SELECT place FROM places WHERE person IS NULL ORDER BY place LIMIT 1";
    let Some(place) = value(db, sql, [])? else {
        return Ok(Err(NoPlace::Full));
    };
    if let Some(neighbours) = &who.neighbours
        && !neighbours.leave_room(db, &who.token)?
    {
        return Ok(Err(NoPlace::Crowded));
    }
    let id = sit(db, who, place)?;
    if let Some(ids) = &who.platform {
        db.execute(
            "INSERT INTO platform (person, pid, study, session) VALUES (?1, ?2, ?3, ?4)",
            params![id, ids.pid, ids.study, ids.session],
        )?;
    }
    Ok(Ok(Joined::New))
}

impl Neighbours {
    /// Whether one more may begin from this address; they are then counted with it. Who has finished, left or
    /// timed out no longer is.
    fn leave_room(&self, db: &Connection, token: &[u8; 32]) -> rusqlite::Result<bool> {
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        let mut select =
            db.prepare_cached("SELECT 1 FROM people WHERE token = ?1 AND state = 'running'")?;
        let mut inside = Vec::new();
        for token in tokens.iter() {
            if select.exists([token.as_slice()])? {
                inside.push(*token);
            }
        }
        let room = inside.len() < self.most;
        if room {
            inside.push(*token);
        }
        *tokens = inside;
        Ok(room)
    }
}

/// Gives a certain place; whether it was free.
pub(crate) fn seat(db: &Connection, who: &Joining, place: usize) -> rusqlite::Result<bool> {
    let sql = "SELECT 1 FROM places WHERE place = ?1 AND person IS NULL";
    let free = exists(db, sql, [place as i64])?;
    if free {
        sit(db, who, place as i64)?;
    }
    Ok(free)
}

fn sit(db: &Connection, who: &Joining, place: i64) -> rusqlite::Result<i64> {
    db.prepare_cached(
        "INSERT INTO people (token, pseudonym, place, state, consent_version, consent_hash, began, seen) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7)",
    )?
    .execute(params![
        who.token.as_slice(),
        who.pseudonym,
        place,
        PersonState::Running.name(),
        who.consent_version,
        who.consent_hash,
        who.now
    ])?;
    let id = db.last_insert_rowid();
    take_place(db, place, id)?;
    Ok(id)
}

/// Takes a place if it is free; whether it was.
fn take_place(db: &Connection, place: i64, person: i64) -> rusqlite::Result<bool> {
    let sql = "UPDATE places SET person = ?2 WHERE place = ?1 AND person IS NULL";
    Ok(execute(db, sql, [place, person])? == 1)
}

/// Milliseconds for which a place is kept for who has not answered anything yet: agreeing alone takes no place
/// away from others for long.
const BEFORE_AN_ANSWER: i64 = 10 * 60_000;

fn release(db: &Connection, now: i64, patience: i64) -> rusqlite::Result<()> {
    const AWAY: &str = "state = 'running' AND (seen < ?1 OR seen < ?2 AND NOT EXISTS \
                        (SELECT 1 FROM answers WHERE answers.person = people.id))";
    let (before, silent) = (now - patience, now - patience.min(BEFORE_AN_ANSWER));
    let gone = format!(
        "UPDATE places SET person = NULL WHERE person IN (SELECT id FROM people WHERE {AWAY})"
    );
    execute(db, &gone, [before, silent])?;
    let sql = format!("UPDATE people SET state = ?3 WHERE {AWAY}");
    let timed_out = PersonState::TimedOut.name();
    execute(db, &sql, params![before, silent, timed_out])?;
    Ok(())
}

/// The person of a token, seen now. Who was away for long goes on where their place is still free.
pub(crate) fn known(
    db: &Connection,
    token: &[u8; 32],
    now: i64,
) -> rusqlite::Result<Option<Person>> {
    let found = db
        .prepare_cached(&format!("SELECT {COLUMNS} FROM people WHERE token = ?1"))?
        .query_row([token.as_slice()], person)
        .optional()?;
    let Some(mut found) = found else {
        return Ok(None);
    };
    if found.state == PersonState::TimedOut
        && !is_closed(db)?
        && take_place(db, found.place as i64, found.id)?
    {
        found.state = PersonState::Running;
        set_state(db, found.id, PersonState::Running)?;
    }
    let sql = "UPDATE people SET seen = ?2 WHERE id = ?1";
    execute(db, sql, [found.id, now])?;
    Ok(Some(found))
}

pub(super) fn set_state(db: &Connection, id: i64, state: PersonState) -> rusqlite::Result<()> {
    let sql = "UPDATE people SET state = ?2 WHERE id = ?1";
    execute(db, sql, params![id, state.name()])?;
    Ok(())
}

/// Values of `state.closed`.
const OPEN: i64 = 0;
const CLOSED: i64 = 1;
const NO_ADMISSION: i64 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    Open,
    /// Nobody new; whoever has a place may finish.
    LettingFinish,
    Closed,
}

pub(crate) fn admission(db: &Connection) -> rusqlite::Result<Admission> {
    Ok(match value(db, "SELECT closed FROM state", [])? {
        Some(OPEN) => Admission::Open,
        Some(NO_ADMISSION) => Admission::LettingFinish,
        _ => Admission::Closed,
    })
}

pub(crate) fn is_closed(db: &Connection) -> rusqlite::Result<bool> {
    Ok(admission(db)? == Admission::Closed)
}

/// Nobody is let in any more, and no answer taken.
pub(crate) fn close_study(db: &Connection) -> rusqlite::Result<()> {
    db.execute("UPDATE state SET closed = ?1", [CLOSED])?;
    Ok(())
}

pub(crate) fn stop_admission(db: &Connection) -> rusqlite::Result<()> {
    let sql = "UPDATE state SET closed = ?1 WHERE closed = ?2";
    execute(db, sql, [NO_ADMISSION, OPEN])?;
    Ok(())
}

/// The last sign of life of anybody who has a place.
pub(crate) fn last_seen(db: &Connection) -> rusqlite::Result<Option<i64>> {
    let sql = "SELECT max(seen) FROM people WHERE state = 'running'";
    db.query_row(sql, [], |row| row.get(0))
}

/// Everybody's tokens, as hashes, once nobody could be heard while there was no server: who has a place keeps
/// it for as long again.
pub(crate) fn welcome_back(db: &Connection, now: i64) -> rusqlite::Result<Vec<[u8; 32]>> {
    db.execute(
        "UPDATE people SET seen = max(seen, ?1) WHERE state = 'running'",
        [now],
    )?;
    let mut select = db.prepare("SELECT token FROM people")?;
    select.query_map([], |row| row.get(0))?.collect()
}

pub(crate) fn all(db: &Connection) -> rusqlite::Result<Vec<Person>> {
    let sql = format!("SELECT {COLUMNS} FROM people ORDER BY place, id");
    db.prepare(&sql)?.query_map([], person)?.collect()
}

#[derive(Debug, Clone, PartialEq)]
pub struct StoredAnswer {
    /// From 0.
    pub trial: usize,
    pub item: usize,
    pub answer: Answer,
    /// Which option stood in which place.
    pub shown: Vec<usize>,
    /// Milliseconds from seeing to answering, by the browser's own clock.
    pub rt: Option<f64>,
    /// Milliseconds since the page was opened.
    pub elapsed: Option<f64>,
    pub blurs: Option<i64>,
    pub window: Option<(i64, i64)>,
    /// `key`, `mouse` or `touch`.
    pub input: Option<String>,
    pub views: i64,
    /// When it was saved, in milliseconds since 1970.
    pub saved: i64,
    /// Milliseconds for each word that was uncovered; empty where there were none, or no script ran.
    pub times: Vec<f64>,
}

pub(crate) fn answers_of(db: &Connection, id: i64) -> rusqlite::Result<Vec<StoredAnswer>> {
    let mut select = db.prepare_cached(
        "SELECT trial, item, answer, shown, rt, elapsed, blurs, width, height, input, views, saved, times \
         FROM answers WHERE person = ?1 ORDER BY trial",
    )?;
    let read = |row: &Row<'_>| {
        let place = |column: usize| -> rusqlite::Result<usize> {
            Ok(usize::try_from(row.get::<_, i64>(column)?).unwrap_or(0))
        };
        let json = |column: usize| -> rusqlite::Result<String> { row.get(column) };
        let broken = |column: usize| {
            move |e: serde_json::Error| {
                rusqlite::Error::FromSqlConversionFailure(
                    column,
                    rusqlite::types::Type::Text,
                    Box::new(e),
                )
            }
        };
        let (width, height): (Option<i64>, Option<i64>) = (row.get(7)?, row.get(8)?);
        Ok(StoredAnswer {
            trial: place(0)?,
            item: place(1)?,
            answer: serde_json::from_str(&json(2)?).map_err(broken(2))?,
            shown: serde_json::from_str(&json(3)?).map_err(broken(3))?,
            rt: row.get(4)?,
            elapsed: row.get(5)?,
            blurs: row.get(6)?,
            window: width.zip(height),
            input: row.get(9)?,
            views: row.get(10)?,
            saved: row.get(11)?,
            times: match row.get::<_, Option<String>>(12)? {
                Some(times) => serde_json::from_str(&times).map_err(broken(12))?,
                None => Vec::new(),
            },
        })
    };
    select.query_map([id], read)?.collect()
}

pub(crate) fn failures(db: &Connection, id: i64, attention: &[usize]) -> rusqlite::Result<u32> {
    let mut select =
        db.prepare_cached("SELECT number FROM checks WHERE person = ?1 AND passed = 0")?;
    let failed: Vec<i64> = select
        .query_map([id], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let counted = |n: &&i64| usize::try_from(**n).is_ok_and(|n| attention.contains(&n));
    Ok(u32::try_from(failed.iter().filter(counted).count()).unwrap_or(u32::MAX))
}

pub fn find_by_platform(db: &Connection, pid: &str) -> rusqlite::Result<Option<String>> {
    let sql = "SELECT pseudonym FROM platform JOIN people ON id = person WHERE pid = ?1";
    value(db, sql, [pid])
}

pub(crate) fn platform_kept(db: &Connection) -> rusqlite::Result<usize> {
    let n: i64 = db.query_row("SELECT count(*) FROM platform", [], |row| row.get(0))?;
    Ok(usize::try_from(n).unwrap_or(0))
}

/// Deletes a person with everything known of them; their place is free again. Whether there was one.
/// What is left of them in journals and in copies is noted, to be erased.
pub fn withdraw(db: &Connection, pseudonym: &str) -> rusqlite::Result<bool> {
    super::erase::note(db, pseudonym)?;
    db.execute(
        "UPDATE places SET person = NULL WHERE person = (SELECT id FROM people WHERE pseudonym = ?1)",
        [pseudonym],
    )?;
    let gone = db.execute("DELETE FROM people WHERE pseudonym = ?1", [pseudonym])?;
    Ok(gone > 0)
}
