//! Withdrawing: asked once more, deleted, and said as it is.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::render::{Buttons, Message};
use super::{Pairs, Shared};
use crate::store::{self, Step};

/// Asks once more before everything is deleted.
pub(super) async fn ask(State(server): Shared, Path(token): Path<String>) -> Response {
    let view = match server.view(&token).await {
        Ok(view) => view,
        Err(response) => return *response,
    };
    let w = server.words();
    let key = store::step_key(&server.session.study, view.person.id, "withdraw");
    let (sure, stay) = match view.step {
        Step::Instructions | Step::Check { .. } | Step::Trial { .. } => (w.withdraw_sure, w.stay),
        // There is nothing left to stop or to go on with.
        Step::Finished | Step::ScreenedOut | Step::TimedOut | Step::Closed { .. } => {
            (w.withdraw_after, w.keep)
        }
    };
    let said = Message {
        heading: w.withdraw.into(),
        text: sure.into(),
        link: Some((format!("/p/{token}"), stay.into())),
        form: Some(Buttons {
            action: format!("/p/{token}/withdraw"),
            fields: vec![("key".into(), key)],
            buttons: vec![("sure".into(), "yes".into(), w.withdraw_do.into())],
        }),
        ..Message::default()
    };
    server.say(StatusCode::OK, &said)
}

/// Only what was erased is called deleted.
pub(super) async fn withdraw(
    State(server): Shared,
    Path(token): Path<String>,
    body: axum::Form<Pairs>,
) -> Response {
    let view = match server.view(&token).await {
        Ok(view) => view,
        Err(response) => return *response,
    };
    let key = store::step_key(&server.session.study, view.person.id, "withdraw");
    let sent = body
        .0
        .iter()
        .any(|(name, value)| name == "key" && *value == key);
    if !sent {
        return server.not_found();
    }
    let leaving = server.session.leaving(&token, server.session.now());
    let gone = match server.session.store.call(leaving).await {
        Ok(gone) => gone,
        Err(error) => return server.fault(&error),
    };
    let session = server.session.clone();
    let erase = move || match gone {
        Some(pseudonym) => session.forget(&pseudonym, None),
        None => session.finish_deletions(None),
    };
    let w = server.words();
    let text = match tokio::task::spawn_blocking(erase).await {
        Ok(Ok(deletion)) => {
            for line in deletion.waiting.iter().chain(&deletion.notes) {
                mary_platform::notice(&format!("study: somebody withdrew; {line}"));
            }
            if deletion.complete() {
                w.withdrawn
            } else {
                w.withdrawn_later
            }
        }
        Ok(Err(error)) => {
            mary_platform::notice(&format!("study: somebody withdrew; {error}"));
            w.withdrawn_later
        }
        Err(_) => w.withdrawn_later,
    };
    server.plain(StatusCode::OK, text)
}
