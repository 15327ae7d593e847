//! What a request may ask for: a path alone, or with the page's address before it, as a client sends that
//! takes the page for a proxy.

use super::super::requests::{Answer, send};
use super::page_of;
use crate::support::guard::{guarded, workers};
use liten::insight::Server;

/// Sends a request with the token.
fn ask(page: &Server, line: &str, headers: &[(&str, &str)]) -> Answer {
    let token = format!("Bearer {}", page.token());
    let headers: Vec<_> = headers.iter().copied().chain([("Authorization", &*token)]).collect();
    send(page.local_addr(), line, &headers)
}

/// "nothing is wrong", or "no finding" beside what a worker did that the system did not let run.
const NO_FINDING: &str = "no";

#[test]
fn a_whole_address_is_served_as_its_path_is() {
    guarded(|| {
        let runtime = workers(1);
        let page = page_of(&runtime);
        let (host, port) = (page.local_addr().to_string(), page.local_addr().port());
        for (line, body) in [
            (format!("GET http://{host}/text"), NO_FINDING),
            (format!("GET HTTP://{host}/text"), NO_FINDING),
            (format!("GET http://localhost:{port}/text"), NO_FINDING),
            (format!("GET http://[::1]:{port}/text"), NO_FINDING),
            (format!("GET http://{host}/json?rows=1"), "{"),
            (format!("GET http://{host}/metrics"), "# HELP"),
            (format!("GET http://{host}/"), "<!"),
            (format!("GET http://{host}"), "<!"),
            (format!("GET http://{host}?x=1"), "<!"),
        ] {
            let answer = ask(&page, &line, &[("Host", &host)]);
            assert_eq!(answer.status, 200, "{line}");
            assert!(answer.body.starts_with(body), "{line}: {}", answer.body);
            // It counts instead of the header, which must be there all the same.
            assert_eq!(ask(&page, &line, &[("Host", "example.org")]).status, 200, "{line}");
            assert_eq!(ask(&page, &line, &[("Host", "")]).status, 200, "{line}");
            assert_eq!(ask(&page, &line, &[]).status, 400, "{line}");
            assert_eq!(
                ask(&page, &line, &[("Host", &host), ("Host", &host)]).status,
                400,
                "{line}"
            );
        }
        let whole = format!("HEAD http://{host}/text");
        assert_eq!(ask(&page, &whole, &[("Host", &host)]).status, 200);
        assert_eq!(
            ask(&page, &format!("GET http://{host}/nothing"), &[("Host", &host)]).status,
            404
        );
        let secret = format!("GET http://{host}/text");
        assert_eq!(send(page.local_addr(), &secret, &[("Host", &host)]).status, 401);
        let post = format!("POST http://{host}/text");
        assert_eq!(ask(&page, &post, &[("Host", &host)]).status, 405);
    });
}

#[test]
fn a_whole_address_that_is_not_the_pages_is_refused_whatever_the_header_says() {
    guarded(|| {
        let runtime = workers(1);
        let page = page_of(&runtime);
        let (host, port) = (page.local_addr().to_string(), page.local_addr().port());
        for address in [
            format!("http://example.org:{port}/text"),
            format!("http://127.0.0.1.example.org:{port}/text"),
            format!("http://10.0.0.1:{port}/text"),
            format!("http://127.0.0.1:{}/text", port.wrapping_add(1)),
            "http://127.0.0.1/text".to_owned(),
            format!("http://{host}@example.org/text"),
            format!("http://example.org@{host}/text"),
            format!("http://example.org\\@{host}/text"),
            format!("http://example.org?@{host}/text"),
            "http:///text".to_owned(),
            "http://".to_owned(),
            "http://?".to_owned(),
            "http://:/text".to_owned(),
            format!("http://:{port}/text"),
        ] {
            for method in ["GET", "HEAD", "POST"] {
                let answer = ask(&page, &format!("{method} {address}"), &[("Host", &host)]);
                assert_eq!(answer.status, 403, "{method} {address}");
            }
        }
        for address in [
            format!("https://{host}/text"),
            format!("ftp://{host}/text"),
            format!("http:/{host}/text"),
            format!("//{host}/text"),
            format!("{host}/text"),
            "text".to_owned(),
            "*".to_owned(),
        ] {
            let answer = ask(&page, &format!("GET {address}"), &[("Host", &host)]);
            assert_eq!(answer.status, 404, "{address}");
        }
    });
}

/// A script's origin is compared with the address that counts.
#[test]
fn the_origin_must_be_that_of_the_whole_address() {
    guarded(|| {
        let runtime = workers(1);
        let page = page_of(&runtime);
        let host = page.local_addr().to_string();
        let line = format!("GET http://{host}/text");
        let own = format!("http://{host}");
        for (origin, of_header, status) in [
            (&*own, &*host, 200),
            (&*own, "example.org", 200),
            ("http://example.org", &*host, 403),
            ("http://example.org", "example.org", 403),
            ("null", &*host, 403),
        ] {
            let headers = [("Host", of_header), ("Origin", origin)];
            assert_eq!(ask(&page, &line, &headers).status, status, "{origin} {of_header}");
        }
    });
}
