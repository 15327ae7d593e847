//! Options of a `UdpSocket`: broadcast, time to live, type of service, multicast.

use super::UdpSocket;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

/// A getter and its setter, or a pair of actions, that only pass on to the socket. Each line of
/// documentation says what the option does; that an error comes from the operating system is said once,
/// here.
macro_rules! options {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        impl UdpSocket {$(
            $(#[$doc])*
            ///
            /// # Errors
            ///
            /// Returns the error of the operating system.
            pub fn $name(&self $(, $argument: $type)*) -> io::Result<$result> {
                self.io.get_ref().$name($($argument),*)
            }
        )*}
    };
}

impl UdpSocket {
    type_of_service!();
}

options! {
    /// Returns whether datagrams may be sent to a broadcast address (`SO_BROADCAST`).
    broadcast() -> bool;
    /// Allows or forbids datagrams to a broadcast address (`SO_BROADCAST`).
    set_broadcast(on: bool) -> ();
    /// Returns how many routers an outgoing datagram may pass (`IP_TTL`).
    ttl() -> u32;
    /// Sets how many routers an outgoing datagram may pass (`IP_TTL`).
    set_ttl(ttl: u32) -> ();
    /// Returns whether IPv4 multicast datagrams sent from here come back to this machine
    /// (`IP_MULTICAST_LOOP`).
    multicast_loop_v4() -> bool;
    /// Sets whether IPv4 multicast datagrams sent from here come back to this machine
    /// (`IP_MULTICAST_LOOP`).
    set_multicast_loop_v4(on: bool) -> ();
    /// Returns how many routers an outgoing IPv4 multicast datagram may pass (`IP_MULTICAST_TTL`).
    multicast_ttl_v4() -> u32;
    /// Sets how many routers an outgoing IPv4 multicast datagram may pass (`IP_MULTICAST_TTL`).
    set_multicast_ttl_v4(ttl: u32) -> ();
    /// Returns whether IPv6 multicast datagrams sent from here come back to this machine
    /// (`IPV6_MULTICAST_LOOP`).
    multicast_loop_v6() -> bool;
    /// Sets whether IPv6 multicast datagrams sent from here come back to this machine
    /// (`IPV6_MULTICAST_LOOP`).
    set_multicast_loop_v6(on: bool) -> ();
    /// Receives what is sent to the IPv4 multicast group `group`, on the interface that has the address
    /// `interface`; [`Ipv4Addr::UNSPECIFIED`] lets the operating system choose one.
    join_multicast_v4(group: &Ipv4Addr, interface: &Ipv4Addr) -> ();
    /// Undoes [`join_multicast_v4`](Self::join_multicast_v4).
    leave_multicast_v4(group: &Ipv4Addr, interface: &Ipv4Addr) -> ();
    /// Receives what is sent to the IPv6 multicast group `group`, on the interface with the index
    /// `interface`; 0 lets the operating system choose one.
    join_multicast_v6(group: &Ipv6Addr, interface: u32) -> ();
    /// Undoes [`join_multicast_v6`](Self::join_multicast_v6).
    leave_multicast_v6(group: &Ipv6Addr, interface: u32) -> ();
}
