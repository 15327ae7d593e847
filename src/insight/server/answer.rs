//! What is sent back: a status, headers that allow a browser as little as possible, and a body.

use super::place::Taken;
use std::borrow::Cow;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    Ok,
    BadRequest,
    Unauthorized,
    ForeignHost,
    ForeignOrigin,
    NotFound,
    MethodNotAllowed,
    Timeout,
    /// There is nothing to record.
    NoTrace,
    /// The tree of another task is being made.
    OtherTree,
    /// Another trace is being recorded, made or sent.
    OtherTrace,
    HeadTooLarge,
    /// The thread that was to make the answer has panicked.
    NotMade,
}

impl Status {
    fn line(self) -> &'static str {
        match self {
            Self::Ok => "200 OK",
            Self::BadRequest => "400 Bad Request",
            Self::Unauthorized => "401 Unauthorized",
            Self::ForeignHost | Self::ForeignOrigin => "403 Forbidden",
            Self::NotFound => "404 Not Found",
            Self::MethodNotAllowed => "405 Method Not Allowed",
            Self::Timeout => "408 Request Timeout",
            Self::NoTrace | Self::OtherTree | Self::OtherTrace => "409 Conflict",
            Self::HeadTooLarge => "431 Request Header Fields Too Large",
            Self::NotMade => "500 Internal Server Error",
        }
    }

    /// What the reader can do about it.
    fn advice(self) -> &'static str {
        match self {
            Self::Ok => "",
            Self::BadRequest => "this is no request that the page understands\n",
            Self::Unauthorized => {
                "the token is missing or wrong: send the header \"Authorization: Bearer TOKEN\" with the \
                 one that the program has written to its standard error\n"
            }
            Self::ForeignHost => {
                "the host of the request is not this page: use http://127.0.0.1 or another number of this \
                 machine, and the port that the program has written to its standard error, also through a \
                 tunnel\n"
            }
            Self::ForeignOrigin => "another site's script has sent this request\n",
            Self::NotFound => "there are /, /text, /json, /live, /metrics, /trace and /tree\n",
            Self::MethodNotAllowed => "the page can only be read: use GET or HEAD\n",
            Self::Timeout => "the request has not come in time\n",
            Self::NoTrace => "there is no runtime with workers that could be recorded\n",
            Self::OtherTree => "one await tree is made at a time: ask again\n",
            Self::OtherTrace => "one trace is recorded and sent at a time: ask again\n",
            Self::HeadTooLarge => "the head of the request is too large\n",
            Self::NotMade => {
                "the program has failed to make this answer: mostly its standard error says that a thread \
                 has panicked, and where\n"
            }
        }
    }

    /// A header that goes with this status alone.
    fn header(self) -> &'static str {
        match self {
            Self::Unauthorized => "WWW-Authenticate: Bearer\r\n",
            Self::MethodNotAllowed => "Allow: GET, HEAD\r\n",
            _ => "",
        }
    }
}

pub(super) const TEXT: &str = "text/plain; charset=utf-8";

/// On each answer. Scripts and styles come from here alone, and no text becomes either; no other site may
/// show the page inside of its own, fetch from it, or keep a reference to its window.
const HEADERS: &str = "Connection: close\r\n\
    Cache-Control: no-store\r\n\
    Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'\r\n\
    X-Content-Type-Options: nosniff\r\n\
    X-Frame-Options: DENY\r\n\
    Referrer-Policy: no-referrer\r\n\
    Cross-Origin-Resource-Policy: same-origin\r\n\
    Cross-Origin-Opener-Policy: same-origin\r\n";

#[derive(Debug)]
pub(super) struct Answer {
    status: Status,
    content_type: &'static str,
    body: Cow<'static, str>,
    /// Whether the body is sent; its length always is.
    has_body: bool,
    /// Whether the request has brought the token.
    pub(super) is_trusted: bool,
    /// Held until a trace has been sent. The body, which stands before it, is freed first.
    _place: Option<Taken>,
}

impl Answer {
    pub(super) fn ok(content_type: &'static str, body: impl Into<Cow<'static, str>>) -> Self {
        Self { content_type, body: body.into(), ..Self::refusal(Status::Ok) }
    }

    /// The answer to a request that is refused.
    pub(super) fn refusal(status: Status) -> Self {
        let body = status.advice().into();
        Self { status, content_type: TEXT, body, has_body: true, is_trusted: false, _place: None }
    }

    pub(super) fn trusted(self) -> Self {
        Self { is_trusted: true, ..self }
    }

    /// Has the place of a trace with it, until it is dropped.
    pub(super) fn keeping(self, place: Taken) -> Self {
        Self { _place: Some(place), ..self }
    }

    pub(super) fn without_body(self) -> Self {
        Self { has_body: false, ..self }
    }

    pub(super) fn head(&self) -> String {
        let Self { status, content_type, body, .. } = self;
        format!(
            "HTTP/1.1 {}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n{}{HEADERS}\r\n",
            status.line(),
            body.len(),
            status.header(),
        )
    }

    pub(super) fn body(&self) -> &[u8] {
        if self.has_body { self.body.as_bytes() } else { &[] }
    }
}
