//! Host names, by the operating system's resolver: a blocking call, so it is made on the pool for those.

use crate::runtime::context;
use std::error::Error;
use std::fmt;
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
    let look_up = move || call(&name).map_err(|error| name_it(error, &name));
    match context::start_blocking("name resolution", false, look_up)?.await {
        Ok(addresses) => addresses,
        Err(error) => Err(io::Error::other(format!("name resolution did not finish: {error}"))),
    }
}

/// Adds the name to an error. On Windows each has a code: it stays readable in the error's source.
fn name_it(error: io::Error, name: &str) -> io::Error {
    io::Error::new(error.kind(), Unresolved { name: name.to_owned(), error })
}

#[derive(Debug)]
struct Unresolved {
    name: String,
    error: io::Error,
}

impl fmt::Display for Unresolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "could not resolve {:?}: {}", self.name, self.error)
    }
}

impl Error for Unresolved {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.error)
    }
}

#[cfg(test)]
mod tests {
    use super::name_it;
    use std::error::Error;
    use std::io::{self, ErrorKind};

    #[test]
    fn an_error_names_the_host_and_keeps_an_os_code() {
        let named = name_it(io::Error::new(ErrorKind::InvalidInput, "invalid port"), "nowhere");
        assert_eq!(named.kind(), ErrorKind::InvalidInput);
        assert_eq!(named.to_string(), "could not resolve \"nowhere\": invalid port");

        let named = name_it(io::Error::from_raw_os_error(5), "nowhere");
        assert!(named.to_string().starts_with("could not resolve \"nowhere\": "), "{named}");
        let source = named.get_ref().and_then(Error::source).unwrap();
        assert_eq!(source.downcast_ref::<io::Error>().unwrap().raw_os_error(), Some(5));
    }
}
