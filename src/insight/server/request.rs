//! The head of a request: when it is complete, and what it says. Pure.

use super::answer::Status;
use httparse::EMPTY_HEADER;

/// The most bytes of a head. Browsers send one or two thousand.
pub(super) const LARGEST_HEAD: usize = 16 * 1024;

/// The most headers. Browsers send some twenty.
const MOST_HEADERS: usize = 64;

/// What the page looks at.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request<'a> {
    pub(super) method: &'a str,
    /// Without the query.
    pub(super) path: &'a str,
    pub(super) query: Option<&'a str>,
    /// For which the request was meant: that of the target, if it has one, or that of the header.
    pub(super) host: &'a str,
    pub(super) origin: Option<&'a str>,
    pub(super) authorization: Option<&'a str>,
}

/// Whether `head` has all of its lines. Of these, what stands before `from` has been looked at before.
pub(super) fn is_complete(head: &[u8], from: usize) -> bool {
    // The empty line may have begun before.
    let new = &head[from.saturating_sub(3)..];
    new.windows(3).any(|three| three == b"\n\r\n") || new.windows(2).any(|two| two == b"\n\n")
}

impl<'a> Request<'a> {
    pub(super) fn parse(head: &'a [u8]) -> Result<Self, Status> {
        let mut headers = [EMPTY_HEADER; MOST_HEADERS];
        let mut parsed = httparse::Request::new(&mut headers);
        match parsed.parse(head) {
            Ok(httparse::Status::Complete(_)) => {}
            Err(httparse::Error::TooManyHeaders) => return Err(Status::HeadTooLarge),
            Ok(httparse::Status::Partial) | Err(_) => return Err(Status::BadRequest),
        }
        let (Some(method), Some(target)) = (parsed.method, parsed.path) else {
            return Err(Status::BadRequest);
        };
        let header = |name| only(parsed.headers, name);
        let host = header("host")?.ok_or(Status::BadRequest)?;
        let (host, target) = whole_address(target).unwrap_or((host, target));
        let (path, query) = match target.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (target, None),
        };
        let path = if path.is_empty() { "/" } else { path };
        Ok(Self {
            method,
            path,
            query,
            host,
            origin: header("origin")?,
            authorization: header("authorization")?,
        })
    }
}

/// The host, and what stands behind it, of a target that is a whole address (RFC 9112, 3.2.2), as clients
/// send it to a proxy. That host counts instead of the header, and is held against the same rule: a client
/// that writes what it likes into both gains nothing, and a browser sends no such target for a script.
fn whole_address(target: &str) -> Option<(&str, &str)> {
    const SCHEME: &str = "http://";
    let scheme = target.get(..SCHEME.len())?;
    let rest = &target[SCHEME.len()..];
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    scheme.eq_ignore_ascii_case(SCHEME).then(|| rest.split_at(end))
}

/// The value of a header that must not be there twice: of two values, each reader could believe another one.
fn only<'a>(headers: &[httparse::Header<'a>], name: &str) -> Result<Option<&'a str>, Status> {
    let mut values = headers.iter().filter(|header| header.name.eq_ignore_ascii_case(name));
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(one), None) => {
            std::str::from_utf8(one.value).map(Some).map_err(|_| Status::BadRequest)
        }
        (Some(_), Some(_)) => Err(Status::BadRequest),
    }
}

#[cfg(test)]
mod tests {
    use super::{Request, is_complete};
    use crate::engine::rng::Rng;
    use crate::insight::server::answer::Status;

    #[test]
    fn the_head_of_a_request_is_read() {
        let head = b"GET /text?x=1 HTTP/1.1\r\nhost: 127.0.0.1:9900\r\nOrigin: null\r\n\r\nmore";
        let request = Request {
            method: "GET",
            path: "/text",
            query: Some("x=1"),
            host: "127.0.0.1:9900",
            origin: Some("null"),
            authorization: None,
        };
        assert_eq!(Request::parse(head), Ok(request));
    }

    #[test]
    fn the_host_of_a_whole_address_counts_and_not_the_header() {
        for (target, host, path, query) in [
            ("/text?x", "header:1", "/text", Some("x")),
            ("http://a:2/text?x", "a:2", "/text", Some("x")),
            ("HTTP://a:2/text", "a:2", "/text", None),
            ("http://a:2", "a:2", "/", None),
            ("http://a:2?x", "a:2", "/", Some("x")),
            ("http://a@b:2/", "a@b:2", "/", None),
            ("http:///text", "", "/text", None),
            ("http://", "", "/", None),
            ("https://a:2/text", "header:1", "https://a:2/text", None),
            ("http:/a:2/text", "header:1", "http:/a:2/text", None),
            ("//a:2/text", "header:1", "//a:2/text", None),
            ("*", "header:1", "*", None),
        ] {
            let head = format!("GET {target} HTTP/1.1\r\nHost: header:1\r\n\r\n");
            let request = Request::parse(head.as_bytes()).unwrap();
            assert_eq!(
                (request.host, request.path, request.query),
                (host, path, query),
                "{target}"
            );
        }
        let head = b"GET http://a:2/text HTTP/1.1\r\n\r\n";
        assert_eq!(Request::parse(head), Err(Status::BadRequest), "without a header");
    }

    #[test]
    fn what_is_no_request_is_refused() {
        for head in [
            "GET / HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nOrigin: a\r\norigin: b\r\n\r\n",
            "GET / HTTP/2.0\r\nHost: a\r\n\r\n",
            "GET /\r\n\r\n",
            "\x16\x03\x01\n\n",
            "\n\n",
            "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\n",
        ] {
            assert_eq!(Request::parse(head.as_bytes()), Err(Status::BadRequest), "{head:?}");
        }
        let many = "a: b\r\n".repeat(65);
        let head = format!("GET / HTTP/1.1\r\nHost: a\r\n{many}\r\n");
        assert_eq!(Request::parse(head.as_bytes()), Err(Status::HeadTooLarge));
    }

    #[test]
    fn the_end_is_found_wherever_the_parts_are_cut() {
        for head in ["GET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\nHost: a\n\n"] {
            let head = head.as_bytes();
            for cut in 0..head.len() {
                assert!(!is_complete(&head[..cut], 0), "{cut}");
                assert!(is_complete(head, cut), "{cut}");
            }
        }
    }

    #[test]
    fn nothing_that_is_sent_makes_it_panic() {
        let mut rng = Rng::new(7);
        let whole = b"GET http://a/text HTTP/1.1\r\nHost: 127.0.0.1:1\r\nOrigin: \xffa\r\n\r\n";
        for _ in 0..100_000 {
            let mut head = whole[..rng.below(whole.len() + 1)].to_vec();
            for _ in 0..rng.below(4) {
                let at = rng.below(head.len());
                head.splice(at..at, [b" :\r\n\0\xffG"[rng.below(7)]]);
            }
            _ = Request::parse(&head);
            _ = is_complete(&head, rng.below(head.len() + 1));
        }
    }
}
