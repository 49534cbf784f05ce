//! A study that people take part in: the folder, the store and the clock together. The server, the
//! simulated people and the tests all come through here.

use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::Connection;

use crate::Result;
use crate::clock::Clock;
use crate::deletion::{EXPORT, know_export};
use crate::folder::{Study, random_token};
use crate::store::{
    self, Joined, NoPlace, Person, PlatformIds, Refusal, Step, Store, StoreThread, Submission,
    Submitted,
};

#[derive(Clone)]
pub struct Session {
    pub study: Arc<Study>,
    pub store: Store,
    clock: Clock,
}

#[derive(Debug, Clone, PartialEq)]
pub struct View {
    pub person: Person,
    pub step: Step,
    pub key: String,
}

/// Whoever holds it takes part. Only its hash is kept.
pub fn token_hash(token: &str) -> [u8; 32] {
    blake3::derive_key("mary-study token", token.as_bytes())
}

/// Milliseconds since 1970.
pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |d| i64::try_from(d.as_millis()).unwrap_or(i64::MAX))
}

type Work<T> = Box<dyn FnOnce(&Connection) -> rusqlite::Result<T> + Send>;

impl Session {
    pub fn open(path: &Path) -> Result<(Self, StoreThread)> {
        let study = Study::open(path)?;
        let (store, thread) = Store::open(&study.database(), study.settings.people)?;
        let clock = Clock::starting(now(), store.wait(store::last_seen)?);
        let study = Arc::new(study);
        let session = Self {
            study,
            store,
            clock,
        };
        Ok((session, thread))
    }

    /// The time by which places are kept, in milliseconds since 1970. It goes on evenly, whatever happens to
    /// the machine's clock.
    pub fn now(&self) -> i64 {
        self.clock.now()
    }

    pub fn joining(
        &self,
        platform: Option<PlatformIds>,
        now: i64,
    ) -> (String, Work<Result<Joined, NoPlace>>) {
        let token = random_token();
        let work = self.joining_among(&token, platform, None, now);
        (token, work)
    }

    /// The same with a token that was made before, so that a form that is sent twice gives one place,
    /// for somebody who comes from an address from which others came.
    pub(crate) fn joining_among(
        &self,
        token: &str,
        platform: Option<PlatformIds>,
        neighbours: Option<store::Neighbours>,
        now: i64,
    ) -> Work<Result<Joined, NoPlace>> {
        let mut who = self.person_joining(token, platform, now);
        who.neighbours = neighbours;
        Box::new(move |db| store::join(db, &who))
    }

    /// A ticket for the consent form: a new token with a seal, so that nobody can choose their own.
    pub fn ticket(&self) -> String {
        let token = random_token();
        let seal = store::step_key(&self.study, 0, &token);
        format!("{token}.{seal}")
    }

    pub fn ticket_token(&self, ticket: &str) -> Option<String> {
        let (token, seal) = ticket.split_once('.')?;
        let own = store::step_key(&self.study, 0, token);
        let same = blake3::hash(own.as_bytes()) == blake3::hash(seal.as_bytes());
        same.then(|| token.to_owned())
    }

    /// Gives a certain place, for a sheet of paper; nothing where it is taken.
    pub fn seat(&self, place: usize) -> Result<Option<String>> {
        let token = random_token();
        let who = self.person_joining(&token, None, now());
        let given = self.store.wait(move |db| store::seat(db, &who, place))?;
        Ok(given.then_some(token))
    }

    fn person_joining(
        &self,
        token: &str,
        platform: Option<PlatformIds>,
        now: i64,
    ) -> store::Joining {
        let settings = &self.study.settings;
        store::Joining {
            now,
            patience: i64::from(settings.minutes) * 60_000,
            token: token_hash(token),
            pseudonym: format!("p-{}", random_token().get(..8).unwrap_or_default()),
            consent_version: settings.consent.version,
            consent_hash: settings.consent_hash(),
            platform,
            neighbours: None,
        }
    }

    pub fn looking(&self, token: &str, now: i64) -> Work<Option<View>> {
        let (study, token) = (Arc::clone(&self.study), token_hash(token));
        Box::new(move |db| {
            let Some(person) = store::known(db, &token, now)? else {
                return Ok(None);
            };
            let step = store::current(db, &study, &person)?;
            let id = step.id();
            store::begin_view(db, person.id, &id)?;
            let key = store::step_key(&study, person.id, &id);
            Ok(Some(View { person, step, key }))
        })
    }

    /// The step of the holder of a token, without counting it as seen.
    pub fn peeking(&self, token: &str, now: i64) -> Work<Option<Step>> {
        let (study, token) = (Arc::clone(&self.study), token_hash(token));
        Box::new(move |db| match store::known(db, &token, now)? {
            Some(person) => store::current(db, &study, &person).map(Some),
            None => Ok(None),
        })
    }

    pub fn submitting(
        &self,
        token: &str,
        sent: Submission,
        now: i64,
    ) -> Work<Result<Submitted, Refusal>> {
        let (study, token) = (Arc::clone(&self.study), token_hash(token));
        Box::new(move |db| store::submit(db, &study, &token, &sent, now))
    }

    /// Deletes the holder of a token; their pseudonym, where there was one. What is left of them in journals
    /// and copies is noted, not erased yet.
    pub fn leaving(&self, token: &str, now: i64) -> Work<Option<String>> {
        let token = token_hash(token);
        let export = self.study.path.join(EXPORT);
        Box::new(move |db| {
            let Some(person) = store::known(db, &token, now)? else {
                return Ok(None);
            };
            know_export(db, &export)?;
            let gone = store::withdraw(db, &person.pseudonym)?;
            Ok(gone.then_some(person.pseudonym))
        })
    }

    pub fn gathering(&self) -> Work<Vec<Participation>> {
        let attention = self.study.attention_checks();
        Box::new(move |db| {
            store::all(db)?
                .into_iter()
                .map(|person| {
                    Ok(Participation {
                        answers: store::answers_of(db, person.id)?,
                        failures: store::failures(db, person.id, &attention)?,
                        person,
                    })
                })
                .collect()
        })
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Participation {
    pub person: Person,
    pub answers: Vec<store::StoredAnswer>,
    pub failures: u32,
}

impl Study {
    pub fn attention_checks(&self) -> Vec<usize> {
        let checks = self.settings.checks.iter().enumerate();
        checks
            .filter(|(_, c)| c.kind == crate::settings::CheckKind::Attention)
            .map(|(number, _)| number)
            .collect()
    }
}
