//! Options of a `UdpSocket`: broadcast, time to live, type of service, multicast.

use super::UdpSocket;
use std::net::{Ipv4Addr, Ipv6Addr};

impl UdpSocket {
    type_of_service!();
}

impl UdpSocket {
    options! {
        |this| this.io.get_ref();
        /// Returns whether datagrams may be sent to a broadcast address (`SO_BROADCAST`).
        broadcast() -> bool: broadcast;
        /// Allows or forbids datagrams to a broadcast address (`SO_BROADCAST`).
        set_broadcast(on: bool) -> (): set_broadcast;
        /// Returns how many routers an outgoing datagram may pass (`IP_TTL`).
        ttl() -> u32: ttl;
        /// Sets how many routers an outgoing datagram may pass (`IP_TTL`).
        set_ttl(ttl: u32) -> (): set_ttl;
        /// Returns whether IPv4 multicast datagrams sent from here come back to this machine
        /// (`IP_MULTICAST_LOOP`).
        multicast_loop_v4() -> bool: multicast_loop_v4;
        /// Sets whether IPv4 multicast datagrams sent from here come back to this machine
        /// (`IP_MULTICAST_LOOP`).
        set_multicast_loop_v4(on: bool) -> (): set_multicast_loop_v4;
        /// Returns how many routers an outgoing IPv4 multicast datagram may pass (`IP_MULTICAST_TTL`).
        multicast_ttl_v4() -> u32: multicast_ttl_v4;
        /// Sets how many routers an outgoing IPv4 multicast datagram may pass (`IP_MULTICAST_TTL`).
        set_multicast_ttl_v4(ttl: u32) -> (): set_multicast_ttl_v4;
        /// Returns whether IPv6 multicast datagrams sent from here come back to this machine
        /// (`IPV6_MULTICAST_LOOP`).
        multicast_loop_v6() -> bool: multicast_loop_v6;
        /// Sets whether IPv6 multicast datagrams sent from here come back to this machine
        /// (`IPV6_MULTICAST_LOOP`).
        set_multicast_loop_v6(on: bool) -> (): set_multicast_loop_v6;
        /// Receives what is sent to the IPv4 multicast group `group`, on the interface that has the address
        /// `interface`; [`Ipv4Addr::UNSPECIFIED`] lets the operating system choose one.
        join_multicast_v4(group: &Ipv4Addr, interface: &Ipv4Addr) -> (): join_multicast_v4;
        /// Undoes [`join_multicast_v4`](Self::join_multicast_v4).
        leave_multicast_v4(group: &Ipv4Addr, interface: &Ipv4Addr) -> (): leave_multicast_v4;
        /// Receives what is sent to the IPv6 multicast group `group`, on the interface with the index
        /// `interface`; 0 lets the operating system choose one.
        join_multicast_v6(group: &Ipv6Addr, interface: u32) -> (): join_multicast_v6;
        /// Undoes [`join_multicast_v6`](Self::join_multicast_v6).
        leave_multicast_v6(group: &Ipv6Addr, interface: u32) -> (): leave_multicast_v6;
    }
}
