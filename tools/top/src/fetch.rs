//! One request to the page of a program.

use crate::address::Address;
use crate::screen::clean;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// A program that is stuck answers all the same; one that is stopped does not.
const PATIENCE: Duration = Duration::from_secs(10);
/// More than the page ever sends: it bounds each of its lists.
const MOST_BYTES: u64 = 64 << 20;

/// Returns what the program says of itself, without a table of single tasks.
///
/// # Errors
///
/// A sentence that says why there is no answer.
pub(crate) fn json(address: &Address) -> Result<Value, String> {
    let answer = answer(address).map_err(|error| {
        format!("no answer from {}: {error}; does the program still run?", address.host)
    })?;
    let text = String::from_utf8_lossy(&answer);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return Err(format!("{} does not speak HTTP", address.host));
    };
    let status = head.split(' ').nth(1).unwrap_or_default();
    if status != "200" {
        return Err(format!("{} answers {status}: {}", address.host, clean(body.trim())));
    }
    serde_json::from_str(body)
        .map_err(|error| format!("{} is no page of liten's: {error}", address.host))
}

fn answer(address: &Address) -> std::io::Result<Vec<u8>> {
    let Address { host, token } = address;
    let mut stream = connect(host)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let request = format!(
        "GET /json?rows=0 HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\
         Connection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.take(MOST_BYTES).read_to_end(&mut answer)?;
    Ok(answer)
}

fn connect(host: &str) -> std::io::Result<TcpStream> {
    let mut refused = std::io::Error::other("the name has no address");
    for address in host.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => return Ok(stream),
            Err(error) => refused = error,
        }
    }
    Err(refused)
}
