//! Only local names are answered, and no page may load anything from elsewhere.

use std::net::{IpAddr, SocketAddr};

use axum::{
    extract::{Request, State},
    http::{HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src data:; \
connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// What a report may do: draw itself with its own scripts and save what it drew. `sandbox` without
/// `allow-same-origin` gives it an origin of its own, and nothing may be fetched.
pub(super) const REPORT_POLICY: &str = "sandbox allow-scripts allow-downloads; default-src 'none'; \
style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:; form-action 'none'; \
base-uri 'none'; frame-ancestors 'none'";

/// Checks the host, refuses everything but reading, and adds the headers.
pub(super) async fn guard(
    State(bound): State<SocketAddr>,
    request: Request,
    next: Next,
) -> Response {
    let host = request
        .headers()
        .get(header::HOST)
        .and_then(|h| h.to_str().ok())
        .unwrap_or_default();
    if !allowed(host, bound.ip()) {
        let said = "This viewer answers only to local names (127.0.0.1, localhost) or the address it was bound to.\n";
        return (StatusCode::FORBIDDEN, said).into_response();
    }
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    // The page of a report brings a policy of its own.
    headers
        .entry(header::CONTENT_SECURITY_POLICY)
        .or_insert(HeaderValue::from_static(POLICY));
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert(
        "cross-origin-resource-policy",
        HeaderValue::from_static("same-origin"),
    );
    response
}

/// A name that can only mean this machine, or the address itself where the user bound another.
fn allowed(host: &str, bound: IpAddr) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map_or("", |(inside, _)| inside),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    if name.eq_ignore_ascii_case("localhost") {
        return true;
    }
    match name.parse::<IpAddr>() {
        // An address cannot be rebound; a wildcard bind is reached by any of the machine's.
        Ok(ip) => ip.is_loopback() || ip == bound || bound.is_unspecified(),
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_local_names_are_answered() {
        let local: IpAddr = "127.0.0.1".parse().unwrap();
        for host in ["127.0.0.1:8080", "localhost", "LOCALHOST:1", "[::1]:8080"] {
            assert!(allowed(host, local), "{host}");
        }
        for host in [
            "",
            "evil.example:8080",
            "localhost.evil.example",
            "192.168.1.5:8080",
            "[bad",
        ] {
            assert!(!allowed(host, local), "{host}");
        }
        let lan: IpAddr = "192.168.1.5".parse().unwrap();
        assert!(allowed("192.168.1.5:8080", lan));
        assert!(!allowed("lab.example:8080", lan));
    }
}
