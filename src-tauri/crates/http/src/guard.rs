//! Without authentication only programs of this machine and the engine's own pages may speak to it (H-6, Q-39): no other web page
//! can, neither by a name that resolves to loopback nor by a plain request. That the page too comes from this machine, from another
//! port, makes it none of ours: whatever serves there would act as operator.

use axum::extract::Request;
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use holdpoint_app::error::Failure;
use holdpoint_core::rejection::Code;

use crate::error::Refused;

pub(crate) async fn local_only(request: Request, next: Next) -> Response {
    // HTTP/2 has the host in its own place.
    let authority = request.uri().authority().map(|authority| authority.as_str().to_owned());
    match foreign(request.headers(), authority.as_deref()) {
        None => next.run(request).await,
        Some(what) => {
            Refused(Failure::refuse(Code::AccessDenied, format!("{what}: without authentication the engine answers this machine only")))
                .into_response()
        }
    }
}

fn foreign(headers: &HeaderMap, authority: Option<&str>) -> Option<&'static str> {
    let text = |name: header::HeaderName| headers.get_all(name).iter().map(|value| value.to_str().unwrap_or("?"));
    let hosts: Vec<&str> = text(header::HOST).chain(authority).collect();
    if hosts.is_empty() || !hosts.iter().all(|host| is_loopback(host_of(host))) {
        return Some("foreign Host");
    }
    // A page of this very address: its origin is what the request asks for, port included.
    let own = |origin: &str| origin.strip_prefix("http://").is_some_and(|page| hosts.iter().all(|host| host.eq_ignore_ascii_case(page)));
    if text(header::ORIGIN).all(own) { None } else { Some("foreign Origin") }
}

/// Without the port. What is no host with a port is no host at all: `127.0.0.1:80.evil.example` is not of this machine.
fn host_of(authority: &str) -> &str {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map_or(("?", ""), |(host, port)| (host, port.strip_prefix(':').unwrap_or(port))),
        None => authority.rsplit_once(':').unwrap_or((authority, "")),
    };
    if port.bytes().all(|digit| digit.is_ascii_digit()) { host } else { "?" }
}

pub(crate) fn is_loopback(host: &str) -> bool {
    if host.eq_ignore_ascii_case("localhost") {
        return true;
    }
    host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn verdict(host: Option<&'static str>, origin: Option<&'static str>) -> Option<&'static str> {
        let mut headers = HeaderMap::new();
        if let Some(host) = host {
            headers.insert(header::HOST, HeaderValue::from_static(host));
        }
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, HeaderValue::from_static(origin));
        }
        foreign(&headers, None)
    }

    #[test]
    fn only_this_machine_passes_without_authentication_h6_q39() {
        for host in ["127.0.0.1:8080", "localhost:8080", "LOCALHOST", "[::1]:8080", "127.0.0.2"] {
            assert_eq!(verdict(Some(host), None), None, "{host}");
        }
        for host in [
            "evil.example",
            "127.0.0.1.evil.example:8080",
            "localhost.evil.example",
            "10.0.0.1:8080",
            "",
            "[::1",
            "0.0.0.0:8080",
            "127.0.0.1:8080.evil.example",
            "[::1].evil.example",
            "127.0.0.1:8080@evil.example",
        ] {
            assert_eq!(verdict(Some(host), None), Some("foreign Host"), "{host}");
        }
        assert_eq!(verdict(None, None), Some("foreign Host"), "no Host at all");
        for (host, origin) in [
            ("127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("localhost:8080", "http://localhost:8080"),
            ("[::1]:8080", "http://[::1]:8080"),
            ("localhost", "http://localhost"),
        ] {
            assert_eq!(verdict(Some(host), Some(origin)), None, "{origin} asks {host}");
        }
        for origin in [
            "http://127.0.0.1:8081",
            "http://127.0.0.1",
            "http://localhost:5173",
            "http://localhost:8080",
            "http://[::1]:8080",
            "https://127.0.0.1:8080",
            "tauri://localhost",
            "",
            "http://evil.example",
            "null",
            "https://localhost.evil.example",
            "file://",
            "http://localhost:8080.evil.example",
            "http://[::1]@evil.example",
        ] {
            assert_eq!(verdict(Some("127.0.0.1:8080"), Some(origin)), Some("foreign Origin"), "{origin}");
        }
    }
}
