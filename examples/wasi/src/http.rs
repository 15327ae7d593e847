//! A small HTTP client over `wasi:http`: GET, with the whole answer in memory.
//!
//! It shows how anything of WASI is waited for: call it, `subscribe`, hand the pollable to
//! [`Reactor::wait_for`], call it again.

use liten::wasi::Reactor;
use std::fmt::Debug;
use std::io;
use wasip2::http::outgoing_handler;
use wasip2::http::types::{Fields, IncomingBody, IncomingResponse, OutgoingRequest, Scheme};
use wasip2::io::streams::StreamError;

/// The most that one read asks for.
const MOST: u64 = 64 * 1024;

/// What a server answered.
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The names of the header fields, in the order in which they came.
    pub header_names: Vec<String>,
    /// The body.
    pub body: Vec<u8>,
}

/// Fetches `url`, which begins with `http://` or `https://`.
///
/// # Cancel safety
///
/// Dropping the future gives the request up.
///
/// # Errors
///
/// Returns [`InvalidInput`](io::ErrorKind::InvalidInput) if `url` is not one, and the host's error if the
/// request cannot be made or breaks off.
pub async fn get(reactor: &Reactor, url: &str) -> io::Result<Answer> {
    let request = request(url)?;
    // A resource is dropped after what was made from it, as everything here is declared.
    let pending = outgoing_handler::handle(request, None).map_err(failed("send a request"))?;
    let response = loop {
        match pending.get() {
            None => reactor.wait_for(pending.subscribe()).await,
            Some(Ok(response)) => break response.map_err(failed("receive an answer"))?,
            Some(Err(())) => return Err(io::Error::other("the answer was taken before")),
        }
    };
    let status = response.status();
    let header_names =
        response.headers().entries().into_iter().map(|(name, _value)| name).collect();
    let body = read_to_end(reactor, &response).await?;
    Ok(Answer { status, header_names, body })
}

fn request(url: &str) -> io::Result<OutgoingRequest> {
    let invalid =
        || io::Error::new(io::ErrorKind::InvalidInput, format!("not an HTTP URL: {url:?}"));
    let (scheme, rest) = match url.split_once("://") {
        Some(("http", rest)) => (Scheme::Http, rest),
        Some(("https", rest)) => (Scheme::Https, rest),
        _ => return Err(invalid()),
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let path = if path.is_empty() { "/" } else { path };

    let request = OutgoingRequest::new(Fields::new());
    request.set_scheme(Some(&scheme)).map_err(|()| invalid())?;
    request.set_authority(Some(authority)).map_err(|()| invalid())?;
    request.set_path_with_query(Some(path)).map_err(|()| invalid())?;
    Ok(request)
}

async fn read_to_end(reactor: &Reactor, response: &IncomingResponse) -> io::Result<Vec<u8>> {
    let body: IncomingBody =
        response.consume().map_err(|()| io::Error::other("the body was taken before"))?;
    let stream =
        body.stream().map_err(|()| io::Error::other("the body's stream was taken before"))?;
    let mut bytes = Vec::new();
    loop {
        match stream.read(MOST) {
            Ok(some) if some.is_empty() => reactor.wait_for(stream.subscribe()).await,
            Ok(some) => bytes.extend_from_slice(&some),
            Err(StreamError::Closed) => return Ok(bytes),
            Err(error) => return Err(failed("read the body of an answer")(error)),
        }
    }
}

fn failed<E: Debug>(operation: &'static str) -> impl FnOnce(E) -> io::Error {
    move |error| io::Error::other(format!("{operation}: {error:?}"))
}
