//! Turns what a caller gives as an address into socket addresses: at once where possible, otherwise by the
//! resolver of the system.
//!
//! Components (`wasi`) have the same addresses and another resolver: what differs is in
//! `resolver.rs`, here and there.

use self::sealed::{Addresses, Target};
use super::resolver;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::panic::Location;

/// Whatever names one or several socket addresses.
///
/// | type | example | resolved |
/// |---|---|---|
/// | [`SocketAddr`], [`SocketAddrV4`], [`SocketAddrV6`] | | at once |
/// | `(`[`IpAddr`], [`Ipv4Addr`] or [`Ipv6Addr`]`, u16)` | `(Ipv4Addr::LOCALHOST, 80)` | at once |
/// | `&[SocketAddr]` | `&[first, second][..]` | at once |
/// | `str`, `String` | `"localhost:80"`, `"[::1]:80"` | at once if it is an address |
/// | `(&str, u16)`, `(String, u16)` | `("localhost", 80)` | at once if it is an address |
///
/// What is no address is a host name: it is looked up by the operating system on the pool for blocking
/// calls, in a component by its host.
///
/// This trait is sealed: how an address is resolved is not part of the public interface.
pub trait ToSocketAddrs: sealed::Resolve {}

/// Resolves `host` to its socket addresses.
///
/// The order is that of the operating system, or of the component's host. Addresses that need no look-up
/// come back at once.
///
/// # Cancel safety
///
/// Cancel safe: dropping the future leaves a look-up that has begun to end by itself on its thread; in a
/// component it ends.
///
/// # Errors
///
/// Returns the error of the operating system if the name cannot be resolved, with its code, where it has one,
/// in the error's source; and [`InvalidInput`](ErrorKind::InvalidInput) if `host` is no name with a port.
///
/// # Panics
///
/// Panics if it is polled outside a runtime, also where no look-up is needed. It may be called there: the
/// runtime that polls it counts.
///
/// # Examples
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// # liten::block_on(async {
/// for address in liten::net::lookup_host("localhost:80").await? {
///     assert!(address.ip().is_loopback());
///     assert_eq!(address.port(), 80);
/// }
/// # Ok(())
/// # })
/// # }
/// ```
#[track_caller]
pub fn lookup_host<A: ToSocketAddrs>(
    host: A,
) -> impl Future<Output = io::Result<impl Iterator<Item = SocketAddr>>> {
    let made_at = Location::caller();
    let target = host.target();
    async move {
        // A program must not work or fail depending on what the text happens to be.
        resolver::require_runtime(made_at);
        target.resolve().await
    }
}

/// Tries `attempt` with each address of `target` in turn, until one succeeds; else returns the last error.
pub(super) async fn first_success<T, F>(
    target: Target,
    mut attempt: impl FnMut(SocketAddr) -> F,
) -> io::Result<T>
where
    F: Future<Output = io::Result<T>>,
{
    let mut last = None;
    for address in target.resolve().await? {
        match attempt(address).await {
            Ok(value) => return Ok(value),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(no_address))
}

fn no_address() -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, "could not resolve to any address")
}

impl Target {
    pub(super) async fn resolve(self) -> io::Result<Addresses> {
        match self {
            Self::Known(addresses) => Ok(addresses),
            Self::HostPort(text) => resolver::look_up_text(text).await.map(Addresses::Many),
            Self::Host(host, port) => resolver::look_up(host, port).await.map(Addresses::Many),
        }
    }

    /// Resolves and keeps the first address, for an operation that uses one only.
    pub(super) async fn resolve_first(self) -> io::Result<SocketAddr> {
        self.resolve().await?.next().ok_or_else(no_address)
    }

    fn one(address: impl Into<SocketAddr>) -> Self {
        Self::Known(Addresses::One(Some(address.into()).into_iter()))
    }
}

impl Iterator for Addresses {
    type Item = SocketAddr;

    fn next(&mut self) -> Option<SocketAddr> {
        match self {
            Self::One(address) => address.next(),
            Self::Many(addresses) => addresses.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            Self::One(address) => address.size_hint(),
            Self::Many(addresses) => addresses.size_hint(),
        }
    }
}

/// Public in form only: the trait above names these, code outside cannot.
pub(super) mod sealed {
    use std::net::SocketAddr;

    pub trait Resolve {
        fn target(&self) -> Target;
    }

    /// The addresses, or the host and port to be resolved, free of borrows.
    #[derive(Debug)]
    pub enum Target {
        Known(Addresses),
        /// A host name and a port in one text.
        HostPort(String),
        Host(String, u16),
    }

    /// One address is by far the commonest case and must not allocate: `send_to` comes through here.
    #[derive(Debug)]
    pub enum Addresses {
        One(std::option::IntoIter<SocketAddr>),
        Many(std::vec::IntoIter<SocketAddr>),
    }
}

/// Implements the trait for a type: how to make a [`Target`] of it.
macro_rules! target {
    ($($type:ty: |$this:ident| $target:expr;)*) => {$(
        impl ToSocketAddrs for $type {}

        impl sealed::Resolve for $type {
            fn target(&self) -> Target {
                let $this = self;
                $target
            }
        }
    )*};
}

target! {
    SocketAddr: |this| Target::one(*this);
    SocketAddrV4: |this| Target::one(*this);
    SocketAddrV6: |this| Target::one(*this);
    (IpAddr, u16): |this| Target::one(*this);
    (Ipv4Addr, u16): |this| Target::one(*this);
    (Ipv6Addr, u16): |this| Target::one(*this);
    [SocketAddr]: |this| Target::Known(Addresses::Many(Vec::from(this).into_iter()));
    str: |this| match this.parse::<SocketAddr>() {
        Ok(address) => Target::one(address),
        Err(_) => Target::HostPort(this.to_owned()),
    };
    String: |this| this.as_str().target();
    (&str, u16): |this| match this.0.parse::<IpAddr>() {
        Ok(ip) => Target::one((ip, this.1)),
        Err(_) => Target::Host(this.0.to_owned(), this.1),
    };
    (String, u16): |this| (this.0.as_str(), this.1).target();
}

impl<T: ToSocketAddrs + ?Sized> ToSocketAddrs for &T {}

impl<T: ToSocketAddrs + ?Sized> sealed::Resolve for &T {
    fn target(&self) -> Target {
        (**self).target()
    }
}

#[cfg(test)]
mod tests {
    use super::sealed::{Resolve, Target};
    use super::*;

    fn known(target: Target) -> Vec<SocketAddr> {
        match target {
            Target::Known(addresses) => addresses.collect(),
            other => panic!("{other:?} needs a look-up"),
        }
    }

    #[test]
    fn what_is_an_address_needs_no_look_up() {
        let v4: SocketAddr = "127.0.0.1:80".parse().unwrap();
        let v6: SocketAddr = "[::1]:80".parse().unwrap();
        assert_eq!(known(v4.target()), [v4]);
        assert_eq!(known("127.0.0.1:80".target()), [v4]);
        assert_eq!(known(String::from("[::1]:80").target()), [v6]);
        assert_eq!(known(("127.0.0.1", 80).target()), [v4]);
        assert_eq!(known((String::from("::1"), 80).target()), [v6]);
        assert_eq!(known((Ipv6Addr::LOCALHOST, 80).target()), [v6]);
        assert_eq!(known((&&(Ipv4Addr::LOCALHOST, 80)).target()), [v4]);
        assert_eq!(known([v4, v6][..].target()), [v4, v6]);
        assert_eq!(known([][..].target()), []);
    }

    #[test]
    fn what_is_a_name_keeps_its_text() {
        assert!(
            matches!("localhost:80".target(), Target::HostPort(text) if text == "localhost:80")
        );
        assert!(
            matches!(("localhost", 80).target(), Target::Host(host, 80) if host == "localhost")
        );
    }
}
