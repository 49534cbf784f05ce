//! Before and after every request: forms from elsewhere are refused, and what browsers are told about a page.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; \
form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Whether a browser says that a form comes from somebody else's page: by `Sec-Fetch-Site`, and by `Origin`
/// where an older browser does not send that. What sends neither is no browser.
fn foreign(headers: &HeaderMap) -> bool {
    if let Some(site) = headers.get("sec-fetch-site") {
        return site != "same-origin" && site != "none";
    }
    let Some(origin) = headers.get(header::ORIGIN) else {
        return false;
    };
    // `null` has no host: sandboxed pages and local files send it, our own pages do not.
    let host = origin
        .to_str()
        .ok()
        .and_then(|origin| origin.split_once("://"))
        .map(|(_, host)| host.to_ascii_lowercase());
    let named = ["host", "x-forwarded-host"]
        .into_iter()
        .filter_map(|name| headers.get(name)?.to_str().ok())
        .map(str::to_ascii_lowercase);
    host.is_none_or(|host| !named.into_iter().any(|own| own == host))
}

pub(super) async fn headers(request: Request, next: Next) -> Response {
    let reads = [Method::GET, Method::HEAD].contains(request.method());
    let mut response = if !reads && foreign(request.headers()) {
        StatusCode::FORBIDDEN.into_response()
    } else {
        next.run(request).await
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // A token stands in the address: it must not travel to anybody else. Under `no-referrer` browsers would
        // also hide the origin of our own forms.
        (header::REFERRER_POLICY, "same-origin"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    for (name, value) in [
        ("cross-origin-resource-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
        (
            "permissions-policy",
            "camera=(), microphone=(), geolocation=()",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_from_elsewhere_is_known_by_either_header() {
        let from = |pairs: &[(&'static str, &'static str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.insert(*name, HeaderValue::from_static(value));
            }
            foreign(&headers)
        };
        let host = ("host", "study.example.org");
        assert!(!from(&[host]));
        assert!(!from(&[host, ("sec-fetch-site", "same-origin")]));
        assert!(from(&[host, ("sec-fetch-site", "same-site")]));
        assert!(!from(&[host, ("origin", "https://study.example.org")]));
        assert!(!from(&[host, ("origin", "https://STUDY.example.org")]));
        assert!(!from(&[
            ("host", "127.0.0.1:7676"),
            ("x-forwarded-host", "study.example.org"),
            ("origin", "https://study.example.org"),
        ]));
        for elsewhere in [
            "https://evil.example",
            "https://study.example.org.evil.example",
            "https://study.example.org:8443",
            "null",
            "",
        ] {
            assert!(from(&[host, ("origin", elsewhere)]), "{elsewhere}");
        }
    }
}
