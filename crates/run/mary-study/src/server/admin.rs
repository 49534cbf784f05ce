//! The page of whoever runs the study.

use std::time::Instant;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse as _, Response};
use base64::Engine as _;

use super::{Shared, render};
use crate::store;

/// How the study stands, for who has its admin token: as the password of HTTP's basic authentication.
pub(super) async fn page(State(server): Shared, headers: HeaderMap) -> Response {
    let given = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("Basic "))
        .and_then(|coded| base64::engine::general_purpose::STANDARD.decode(coded).ok())
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .and_then(|pair| {
            pair.split_once(':')
                .map(|(_, password)| password.to_owned())
        });
    let own = &server.session.study.secrets.admin;
    let fits = given.is_some_and(|g| blake3::hash(g.as_bytes()) == blake3::hash(own.as_bytes()));
    if !fits {
        if !server.limits.stranger(Instant::now()) {
            return server.busy();
        }
        let ask = [(
            header::WWW_AUTHENTICATE,
            "Basic realm=\"study\", charset=\"UTF-8\"",
        )];
        return (StatusCode::UNAUTHORIZED, ask, "the admin token is needed\n").into_response();
    }
    let gather = server.session.gathering();
    let work = |db: &_| Ok((gather(db)?, store::admission(db)?));
    match server.session.store.call(work).await {
        Ok((people, admission)) => {
            let rows = crate::status::rows(&server.session.study, &people, admission);
            let link = format!("/s/{}", server.session.study.secrets.entry);
            Html(render::admin(&server.session.study, &rows, &link)).into_response()
        }
        Err(error) => server.fault(&error),
    }
}
