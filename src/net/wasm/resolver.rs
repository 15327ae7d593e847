//! Host names, by the host's resolver.

use super::{failed, wire};
use crate::component::Reactor;
use crate::component::source::Source;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::panic::Location;
use std::vec;
use wasip2::sockets::instance_network::instance_network;
use wasip2::sockets::ip_name_lookup::resolve_addresses;

/// Panics outside a runtime.
pub(super) fn require_runtime(made_at: &'static Location<'static>) {
    assert!(
        Reactor::try_current().is_some(),
        "a host name is looked up by a runtime: await the look-up made at {made_at} inside \
         liten::wasi::block_on"
    );
}

/// Resolves a host name and a port in one text.
pub(super) async fn look_up_text(text: String) -> io::Result<vec::IntoIter<SocketAddr>> {
    let split = text.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
    match split {
        Some((host, port)) => look_up(host.to_owned(), port).await,
        None => Err(io::Error::new(
            ErrorKind::InvalidInput,
            format!("could not resolve {text:?}: it is not of the form host:port"),
        )),
    }
}

/// Resolves `host`.
pub(super) async fn look_up(host: String, port: u16) -> io::Result<vec::IntoIter<SocketAddr>> {
    resolve(&host, port).await.map_err(|error| {
        io::Error::new(error.kind(), format!("could not resolve {host:?}: {error}"))
    })
}

async fn resolve(host: &str, port: u16) -> io::Result<vec::IntoIter<SocketAddr>> {
    let operation = "look a host name up";
    let answers = resolve_addresses(&instance_network(), host).map_err(failed(operation))?;
    let answers = &answers;
    // Gone before the answers, its parent, whether or not the future is polled to its end.
    let source = Source::new();
    let mut addresses = Vec::new();
    let next = || answers.resolve_next_address().map_err(failed(operation));
    while let Some(ip) = source.io(|| answers.subscribe(), next).await? {
        addresses.push(SocketAddr::new(wire::ip_from_host(ip), port));
    }
    Ok(addresses.into_iter())
}
