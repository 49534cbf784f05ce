//! The Hugging Face hub, with the environment read as its own library reads it. Nothing is asked
//! when the cache has the answer; what is fetched is continued where it broke off, checked against
//! the hash that the hub gives, and put in place whole.

mod cache;
mod environment;
mod fault;
mod fetch;
mod wire;

use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use serde::Deserialize;

pub use cache::Cache;
pub use fault::HubError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// `owner/name`, or a bare name of the hub's early days.
    pub id: String,
    /// Branch, tag or commit; `main` where none is given.
    pub revision: Option<String>,
}

impl Repository {
    pub(crate) fn revision(&self) -> &str {
        self.revision.as_deref().unwrap_or("main")
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Entry {
    #[serde(rename = "rfilename")]
    pub path: String,
    #[serde(rename = "size")]
    pub bytes: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Listing {
    #[serde(rename = "sha", default)]
    pub commit: String,
    #[serde(rename = "siblings", default)]
    pub files: Vec<Entry>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    pub branches: Vec<String>,
    pub tags: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress<'a> {
    pub id: &'a str,
    pub file: &'a str,
    /// Bytes on this machine.
    pub done: u64,
    /// Bytes in all, where the hub says.
    pub total: Option<u64>,
}

type Watcher = Box<dyn Fn(Progress<'_>) + Send + Sync>;

static WATCHER: OnceLock<Mutex<Option<Watcher>>> = OnceLock::new();

/// Lets somebody watch all downloads of this process; the last one to ask watches.
pub fn watch(watcher: impl Fn(Progress<'_>) + Send + Sync + 'static) {
    let slot = WATCHER.get_or_init(Mutex::default);
    *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(watcher));
}

fn tell(progress: Progress<'_>) {
    let Some(slot) = WATCHER.get() else {
        return;
    };
    if let Some(watcher) = &*slot.lock().unwrap_or_else(PoisonError::into_inner) {
        watcher(progress);
    }
}

/// How long somebody waits for a hub that is busy or breaks off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Attempts in a row that brought nothing.
    pub attempts: u32,
    /// The first wait; each further one is twice as long.
    pub first: Duration,
    /// The longest wait of our own choice.
    pub longest: Duration,
    /// The longest wait that a hub may ask for; it is not waited for if it asks for more.
    pub asked: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            attempts: 5,
            first: Duration::from_millis(500),
            longest: Duration::from_secs(60),
            asked: Duration::from_secs(600),
        }
    }
}

pub struct Hub {
    endpoint: String,
    token: Option<String>,
    /// Nothing is fetched.
    pub offline: bool,
    pub cache: Cache,
    patience: Patience,
    client: OnceLock<reqwest::blocking::Client>,
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub")
            .field("endpoint", &self.endpoint)
            .field("offline", &self.offline)
            .field("cache", &self.cache)
            .finish_non_exhaustive()
    }
}

impl Hub {
    pub fn from_env() -> Result<Self, HubError> {
        environment::read()
    }

    /// A hub at an address with a cache in a folder, whatever the environment says.
    pub fn at(endpoint: &str, cache: PathBuf) -> Self {
        Self {
            endpoint: endpoint.trim_end_matches('/').to_owned(),
            token: None,
            offline: false,
            cache: Cache::new(cache),
            patience: Patience::default(),
            client: OnceLock::new(),
        }
    }

    pub fn with_token(mut self, token: &str) -> Self {
        self.token = Some(token.to_owned());
        self
    }

    pub fn with_patience(mut self, patience: Patience) -> Self {
        self.patience = patience;
        self
    }

    /// Never asking the hub.
    pub fn offline(mut self) -> Self {
        self.offline = true;
        self
    }

    pub fn list(&self, repository: &Repository) -> Result<Listing, HubError> {
        let path = format!(
            "/api/models/{}/revision/{}?blobs=true",
            wire::escaped(&repository.id, true),
            wire::escaped(repository.revision(), false)
        );
        let listing: Listing = self.ask(repository, &path)?;
        if !cache::is_name(&listing.commit) {
            let commit = &listing.commit;
            let what = format!("expected the commit of a revision, found `{commit}`");
            return Err(self.strange(repository, what));
        }
        Ok(listing)
    }

    pub fn names(&self, id: &str) -> Result<Names, HubError> {
        #[derive(Deserialize)]
        struct Refs {
            #[serde(default)]
            branches: Vec<Named>,
            #[serde(default)]
            tags: Vec<Named>,
        }
        #[derive(Deserialize)]
        struct Named {
            name: String,
        }
        let repository = Repository {
            id: id.to_owned(),
            revision: None,
        };
        let path = format!("/api/models/{}/refs", wire::escaped(id, true));
        let refs: Refs = self.ask(&repository, &path)?;
        let names = |list: Vec<Named>| list.into_iter().map(|n| n.name).collect();
        Ok(Names {
            branches: names(refs.branches),
            tags: names(refs.tags),
        })
    }

    /// One file, from the cache or from the hub: its path in the cache.
    pub fn file(&self, repository: &Repository, path: &str) -> Result<PathBuf, HubError> {
        if let Some(found) = self.cache.file(repository, path) {
            return Ok(found);
        }
        self.online(repository)?;
        self.fetch(repository, repository.revision(), path)
    }

    /// The files of a revision that are wanted, from the hub: the snapshot's folder. The small ones
    /// come first and one by one, the large ones (`bytes` or more, or of unknown size) after them and
    /// several at a time, so that a folder with whole weights is a whole folder.
    pub fn snapshot(
        &self,
        repository: &Repository,
        listing: &Listing,
        wanted: &[&Entry],
    ) -> Result<PathBuf, HubError> {
        self.online(repository)?;
        fetch::all(self, repository, listing, wanted)?;
        self.cache.name(repository, &listing.commit)?;
        Ok(self.cache.snapshot(&repository.id, &listing.commit))
    }

    fn online(&self, repository: &Repository) -> Result<(), HubError> {
        if self.offline {
            return Err(HubError::Offline {
                id: repository.id.clone(),
                revision: repository.revision.clone(),
            });
        }
        Ok(())
    }
}
