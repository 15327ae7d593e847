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
        let (path, query) = match target.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (target, None),
        };
        Ok(Self {
            method,
            path,
            query,
            host: header("host")?.ok_or(Status::BadRequest)?,
            origin: header("origin")?,
            authorization: header("authorization")?,
        })
    }
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
        let whole = b"GET /text HTTP/1.1\r\nHost: 127.0.0.1:1\r\nOrigin: \xffa\r\n\r\n";
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
