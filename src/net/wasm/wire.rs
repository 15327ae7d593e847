//! Addresses as the host writes them, and back.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use wasip2::sockets::network::{
    IpAddress, IpAddressFamily, IpSocketAddress, Ipv4Address, Ipv4SocketAddress, Ipv6Address,
    Ipv6SocketAddress,
};

pub(super) fn family(address: SocketAddr) -> IpAddressFamily {
    match address {
        SocketAddr::V4(_) => IpAddressFamily::Ipv4,
        SocketAddr::V6(_) => IpAddressFamily::Ipv6,
    }
}

pub(super) fn to_host(address: SocketAddr) -> IpSocketAddress {
    match address {
        SocketAddr::V4(address) => IpSocketAddress::Ipv4(Ipv4SocketAddress {
            port: address.port(),
            address: address.ip().octets().into(),
        }),
        SocketAddr::V6(address) => IpSocketAddress::Ipv6(Ipv6SocketAddress {
            port: address.port(),
            flow_info: address.flowinfo(),
            address: address.ip().segments().into(),
            scope_id: address.scope_id(),
        }),
    }
}

pub(super) fn from_host(address: IpSocketAddress) -> SocketAddr {
    match address {
        IpSocketAddress::Ipv4(address) => {
            SocketAddrV4::new(v4(address.address), address.port).into()
        }
        IpSocketAddress::Ipv6(address) => SocketAddrV6::new(
            v6(address.address),
            address.port,
            address.flow_info,
            address.scope_id,
        )
        .into(),
    }
}

pub(super) fn ip_from_host(address: IpAddress) -> IpAddr {
    match address {
        IpAddress::Ipv4(address) => v4(address).into(),
        IpAddress::Ipv6(address) => v6(address).into(),
    }
}

fn v4(address: Ipv4Address) -> Ipv4Addr {
    <[u8; 4]>::from(address).into()
}

fn v6(address: Ipv6Address) -> Ipv6Addr {
    <[u16; 8]>::from(address).into()
}

/// A number of routers to be passed, in the host's type.
pub(super) fn hops(ttl: u32) -> io::Result<u8> {
    u8::try_from(ttl).map_err(|_| {
        io::Error::new(ErrorKind::InvalidInput, format!("a hop limit is 1 to 255, not {ttl}"))
    })
}
