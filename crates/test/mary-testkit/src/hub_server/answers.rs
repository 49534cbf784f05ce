//! What the hub and its storage answer.

use serde_json::{Value, json};

use super::repository::Content;
use super::{HubFault, HubRepository, Outgoing, State};
use crate::raw_server::Heard;

fn outgoing(status: u16, headers: Vec<(String, String)>, body: Vec<u8>) -> Outgoing {
    Outgoing {
        status,
        headers,
        body,
    }
}

fn error(status: u16, code: &str, message: &str) -> Outgoing {
    let headers = vec![
        ("x-error-code".into(), code.into()),
        ("x-error-message".into(), message.into()),
    ];
    let body = json!({"error": message}).to_string();
    outgoing(status, headers, body.into_bytes())
}

fn page(value: &Value) -> Outgoing {
    let headers = vec![("content-type".into(), "application/json".into())];
    outgoing(200, headers, value.to_string().into_bytes())
}

/// `%2F` and the like turned back.
fn plain(text: &str) -> String {
    let mut pieces = text.split('%');
    let mut bytes = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        let code = piece.get(..2).map(|two| u8::from_str_radix(two, 16));
        let (first, rest) = match code {
            Some(Ok(code)) => (code, piece.get(2..).unwrap_or_default()),
            _ => (b'%', piece),
        };
        bytes.push(first);
        bytes.extend(rest.bytes());
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

impl State {
    pub(super) fn answer(
        &mut self,
        incoming: &Heard,
        storage: bool,
        fault: Option<HubFault>,
    ) -> Outgoing {
        match fault {
            Some(HubFault::TooMany(seconds)) => {
                let mut answer = error(429, "", "Too Many Requests");
                answer
                    .headers
                    .push(("retry-after".into(), seconds.to_string()));
                return answer;
            }
            Some(HubFault::Unavailable) => return error(503, "", "Service Unavailable"),
            Some(HubFault::Expired) if storage => return error(403, "", "Request has expired"),
            _ => {}
        }
        if storage {
            return self.stored(incoming, fault);
        }
        let path = incoming.path.split('?').next().unwrap_or_default();
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        match &parts[..] {
            ["api", "models", owner, name, rest @ ..] => {
                self.interface(&format!("{owner}/{name}"), rest, incoming)
            }
            [
                "api",
                "resolve-cache",
                "models",
                owner,
                name,
                commit,
                file @ ..,
            ] => {
                let (id, file) = (format!("{owner}/{name}"), plain(&file.join("/")));
                match self.find(&id, commit, &file, incoming) {
                    Ok((commit, content)) => {
                        let headers = vec![
                            ("etag".into(), format!("\"{}\"", content.etag)),
                            ("x-repo-commit".into(), commit),
                        ];
                        sized(content.bytes.to_vec(), headers, incoming, fault)
                    }
                    Err(refusal) => refusal,
                }
            }
            [owner, name, "resolve", revision, file @ ..] => {
                let id = format!("{owner}/{name}");
                self.resolve(&id, &plain(revision), &plain(&file.join("/")), incoming)
            }
            _ => error(404, "", "Not Found"),
        }
    }

    fn repository(&self, id: &str, incoming: &Heard) -> Result<&HubRepository, Outgoing> {
        self.repositories.get(id).ok_or_else(|| {
            // Strangers are not told what exists.
            if incoming.token().is_some() {
                error(404, "RepoNotFound", "Repository not found")
            } else {
                error(401, "RepoNotFound", "Invalid username or password.")
            }
        })
    }

    fn interface(&self, id: &str, rest: &[&str], incoming: &Heard) -> Outgoing {
        let repository = match self.repository(id, incoming) {
            Ok(repository) => repository,
            Err(refusal) => return refusal,
        };
        let revision = match rest {
            ["refs"] => {
                let list = |names: &std::collections::BTreeMap<String, String>, kind: &str| {
                    let entry = |(name, commit): (&String, &String)| {
                        json!({"name": name, "ref": format!("refs/{kind}/{name}"),
                               "targetCommit": commit})
                    };
                    names.iter().map(entry).collect::<Vec<_>>()
                };
                return page(&json!({
                    "branches": list(&repository.branches, "heads"),
                    "tags": list(&repository.tags, "tags"),
                    "converts": [],
                }));
            }
            [] => "main".to_owned(),
            ["revision", revision] => plain(revision),
            _ => return error(404, "", "Not Found"),
        };
        let Some((commit, files)) = repository.files_at(&revision) else {
            return error(404, "RevisionNotFound", "Invalid rev id");
        };
        let siblings: Vec<Value> = files
            .iter()
            .map(|(path, content)| {
                let mut file = json!({"rfilename": path, "size": content.bytes.len()});
                if content.stored {
                    file["lfs"] = json!({"sha256": content.etag, "size": content.bytes.len()});
                } else {
                    file["blobId"] = content.etag.as_str().into();
                }
                file
            })
            .collect();
        page(
            &json!({"id": id, "modelId": id, "sha": commit, "siblings": siblings,
                     "gated": repository.gate.is_some()}),
        )
    }

    /// Commit and content, cloned so that the state can be changed.
    fn find(
        &self,
        id: &str,
        revision: &str,
        file: &str,
        incoming: &Heard,
    ) -> Result<(String, Content), Outgoing> {
        let repository = self.repository(id, incoming)?;
        if let Some(gate) = &repository.gate {
            let message = "Access to this model is restricted.";
            match incoming.token() {
                None => return Err(error(401, "GatedRepo", message)),
                Some(token) if token != gate => return Err(error(403, "GatedRepo", message)),
                Some(_) => {}
            }
        }
        let Some((commit, files)) = repository.files_at(revision) else {
            return Err(error(404, "RevisionNotFound", "Invalid rev id"));
        };
        match files.get(file) {
            Some(content) => Ok((commit.to_owned(), content.clone())),
            None => Err(error(404, "EntryNotFound", "Entry not found")),
        }
    }

    fn resolve(&mut self, id: &str, revision: &str, file: &str, incoming: &Heard) -> Outgoing {
        let (commit, content) = match self.find(id, revision, file, incoming) {
            Ok(found) => found,
            Err(refusal) => return refusal,
        };
        if !content.stored {
            // As the hub does today: a redirect within itself.
            let link = format!("/api/resolve-cache/models/{id}/{commit}/{file}?etag=x");
            let headers = vec![("location".into(), link), ("x-repo-commit".into(), commit)];
            return outgoing(307, headers, Vec::new());
        }
        self.signed += 1;
        let link = format!(
            "{}/store/{}?X-Amz-Signature={}",
            self.storage, content.etag, self.signed
        );
        let headers = vec![
            ("location".into(), link),
            ("x-repo-commit".into(), commit),
            ("x-linked-etag".into(), format!("\"{}\"", content.etag)),
            ("x-linked-size".into(), content.bytes.len().to_string()),
            // Of the redirect itself, not of the content.
            ("etag".into(), "\"redirect\"".into()),
        ];
        outgoing(302, headers, Vec::new())
    }

    /// A content by its hash, for whoever has a signed link and shows no token.
    fn stored(&self, incoming: &Heard, fault: Option<HubFault>) -> Outgoing {
        if incoming.token().is_some() {
            return error(400, "", "Only one auth mechanism allowed");
        }
        let hash = incoming
            .path
            .strip_prefix("/store/")
            .and_then(|rest| rest.split_once("?X-Amz-Signature="));
        let Some((hash, _)) = hash else {
            return error(403, "", "SignatureDoesNotMatch");
        };
        let found = self
            .repositories
            .values()
            .flat_map(|r| r.commits.values())
            .flat_map(|files| files.values())
            .find(|content| content.etag == hash);
        match found {
            Some(content) => sized(content.bytes.to_vec(), Vec::new(), incoming, fault),
            None => error(404, "", "NoSuchKey"),
        }
    }
}

/// A content, or the part of it that was asked for.
fn sized(
    mut bytes: Vec<u8>,
    mut headers: Vec<(String, String)>,
    incoming: &Heard,
    fault: Option<HubFault>,
) -> Outgoing {
    let all = bytes.len();
    if let (Some(HubFault::WrongByte), Some(last)) = (fault, bytes.last_mut()) {
        *last ^= 1;
    }
    if let Some(HubFault::Longer(more)) = fault {
        bytes.resize(all + more, 0);
    }
    headers.push(("accept-ranges".into(), "bytes".into()));
    let from = incoming
        .range()
        .filter(|_| fault != Some(HubFault::WholeInstead))
        .and_then(|from| usize::try_from(from).ok());
    match from {
        Some(from) if from >= all => {
            let headers = vec![("content-range".into(), format!("bytes */{all}"))];
            outgoing(416, headers, Vec::new())
        }
        Some(from) => {
            let range = format!("bytes {from}-{}/{all}", all - 1);
            headers.push(("content-range".into(), range));
            outgoing(206, headers, bytes.split_off(from))
        }
        None => outgoing(200, headers, bytes),
    }
}
