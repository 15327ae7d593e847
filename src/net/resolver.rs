//! Host names, by the operating system's resolver: a blocking call, so it is made on the pool for those.

use crate::runtime::context;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::panic::Location;
use std::vec;

/// Panics outside a runtime.
pub(super) fn require_runtime(made_at: &'static Location<'static>) {
    context::with_driver_for(made_at, |_, _| ());
}

/// Resolves a host name and a port in one text.
pub(super) async fn look_up_text(text: String) -> io::Result<vec::IntoIter<SocketAddr>> {
    call(text, ToSocketAddrs::to_socket_addrs).await
}

/// Resolves `host`.
pub(super) async fn look_up(host: String, port: u16) -> io::Result<vec::IntoIter<SocketAddr>> {
    call(host, move |host| ToSocketAddrs::to_socket_addrs(&(host, port))).await
}

/// Runs the blocking `call` with `name` on the pool for such calls.
async fn call(
    name: String,
    call: impl FnOnce(&str) -> io::Result<vec::IntoIter<SocketAddr>> + Send + 'static,
) -> io::Result<vec::IntoIter<SocketAddr>> {
    let looked_up =
        context::spawn_blocking(move || call(&name).map_err(|error| name_it(error, &name)));
    match looked_up.await {
        Ok(addresses) => addresses,
        Err(error) => Err(io::Error::other(format!("name resolution did not finish: {error}"))),
    }
}

/// Adds the name to an error that does not say it; an error with an OS code stays as it is, so that the
/// code stays readable.
fn name_it(error: io::Error, name: &str) -> io::Error {
    if error.raw_os_error().is_some() {
        return error;
    }
    io::Error::new(error.kind(), format!("could not resolve {name:?}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::name_it;
    use std::io::{self, ErrorKind};

    #[test]
    fn an_error_names_the_host_and_keeps_an_os_code() {
        let named = name_it(io::Error::new(ErrorKind::InvalidInput, "invalid port"), "nowhere");
        assert_eq!(named.kind(), ErrorKind::InvalidInput);
        assert_eq!(named.to_string(), "could not resolve \"nowhere\": invalid port");
        assert_eq!(name_it(io::Error::from_raw_os_error(5), "nowhere").raw_os_error(), Some(5));
    }
}
