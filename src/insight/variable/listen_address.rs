//! Where the page is to listen, as the variable says it. Pure.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

/// What a value may be.
pub(super) const ALLOWED: &str = "it must be a port, or an address of this machine and a port, such as 9900, \
     127.0.0.1:9900, [::1]:9900, localhost:9900";

/// Returns the addresses of which the first that is free is to be taken. `None`: the value is no address.
///
/// No name is looked up, because that may last, and the program waits for it: `localhost` is the two numbers
/// that it has to stand for, and other names are not known.
pub(super) fn listen_addresses(value: &str) -> Option<Vec<SocketAddr>> {
    if let Ok(address) = value.parse() {
        return Some(vec![address]);
    }
    let (name, port) = value.rsplit_once(':').unwrap_or(("", value));
    let port = port_number(port)?;
    let v4 = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    match name {
        "" => Some(vec![v4]),
        name if name.eq_ignore_ascii_case("localhost") => {
            Some(vec![v4, (Ipv6Addr::LOCALHOST, port).into()])
        }
        _ => None,
    }
}

/// Not what else is parsed as a number, such as one with a sign.
fn port_number(text: &str) -> Option<u16> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::listen_addresses;

    #[test]
    fn a_port_may_stand_alone_or_behind_an_address_or_localhost() {
        for (value, addresses) in [
            ("9900", &["127.0.0.1:9900"][..]),
            (":9900", &["127.0.0.1:9900"]),
            ("0", &["127.0.0.1:0"]),
            ("65535", &["127.0.0.1:65535"]),
            ("localhost:80", &["127.0.0.1:80", "[::1]:80"]),
            ("LOCALHOST:80", &["127.0.0.1:80", "[::1]:80"]),
            ("127.0.0.1:9900", &["127.0.0.1:9900"]),
            ("127.9.9.9:9900", &["127.9.9.9:9900"]),
            ("[::1]:9900", &["[::1]:9900"]),
            // Other machines' addresses are refused where the page is opened.
            ("0.0.0.0:9900", &["0.0.0.0:9900"]),
        ] {
            let addresses = addresses.iter().map(|address| address.parse().unwrap()).collect();
            assert_eq!(listen_addresses(value), Some(addresses), "{value}");
        }
    }

    #[test]
    fn what_has_no_port_or_another_name_is_no_address() {
        for value in [
            "",
            ":",
            "::",
            "::1",
            "[::1]",
            "[::1]9900",
            "127.0.0.1",
            "127.0.0.1:",
            "localhost",
            "65536",
            "-1",
            "+1",
            ":+1",
            "1.5",
            "0x1",
            "9900:",
            "9900:9900",
            "example.org:80",
            "localhost.:80",
            "80 80",
            "ä",
            "http://127.0.0.1:80",
            "127.0.0.1:80/",
            "127.0.0.1:080000",
        ] {
            assert_eq!(listen_addresses(value), None, "{value}");
        }
    }
}
