//! Whether a request may see what the page shows. Pure but for making the token.
//!
//! | header | must be | against |
//! |---|---|---|
//! | Host, or the target's | this machine's, with our port | sites whose name was made to mean 127.0.0.1 |
//! | Origin, if there | `http://` and the Host | scripts of other sites, and of other ports |
//! | Authorization | `Bearer` and the token | other users of this machine, and other programs |
//!
//! The first two alone protect nothing from a program, which sends what it likes; the third alone protects
//! all as long as the token is secret. Browsers are why there are three: a page of another site can make one
//! send requests.

use std::hint::black_box;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// 128 bits of the system's randomness, as hexadecimal digits.
#[derive(Clone)]
pub(super) struct Token(Arc<str>);

impl Token {
    pub(super) fn random() -> io::Result<Self> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Takes as long whatever is wrong, so that the time tells nothing of the token but its length.
    fn is(&self, other: &str) -> bool {
        let (ours, theirs) = (self.0.as_bytes(), other.as_bytes());
        let differ = ours.iter().zip(theirs).fold(0, |seen, (a, b)| black_box(seen | (a ^ b)));
        ours.len() == theirs.len() && differ == 0
    }
}

/// What the headers of a request must be.
pub(super) struct Access {
    port: u16,
    is_remote_allowed: bool,
    token: Token,
}

impl Access {
    pub(super) fn new(port: u16, is_remote_allowed: bool, token: Token) -> Self {
        Self { port, is_remote_allowed, token }
    }

    /// Whether a request for that host was meant for us.
    ///
    /// A name other than `localhost` can be made to mean any address by its owner, a number cannot.
    pub(super) fn is_our_host(&self, host: &str) -> bool {
        let (name, port) = match host.rsplit_once(':') {
            // The last colon of a number in brackets may be its own.
            Some((name, port)) if !port.ends_with(']') => (name, port.parse().ok()),
            _ => (host, Some(80)),
        };
        if port != Some(self.port) {
            return false;
        }
        let v6 = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
        if let Some(v6) = v6 {
            let number = v6.parse::<Ipv6Addr>();
            return number.is_ok_and(|number| self.is_remote_allowed || number.is_loopback());
        }
        let number = name.parse::<Ipv4Addr>();
        name.eq_ignore_ascii_case("localhost")
            || number.is_ok_and(|number| self.is_remote_allowed || number.is_loopback())
    }

    /// Whether `origin` is the page that was fetched from `host`.
    pub(super) fn is_same_origin(origin: &str, host: &str) -> bool {
        origin.strip_prefix("http://").is_some_and(|origin| origin.eq_ignore_ascii_case(host))
    }

    pub(super) fn is_authorized(&self, authorization: Option<&str>) -> bool {
        let token = authorization.and_then(|value| value.split_once(' '));
        token.is_some_and(|(scheme, token)| {
            scheme.eq_ignore_ascii_case("bearer") && self.token.is(token.trim())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Access, Token};

    fn access(port: u16, is_remote_allowed: bool) -> Access {
        Access::new(port, is_remote_allowed, Token("0123456789abcdef".into()))
    }

    #[test]
    fn names_and_numbers_of_this_machine_with_our_port_are_ours() {
        let access = access(9900, false);
        for host in
            ["127.0.0.1:9900", "127.9.9.9:9900", "localhost:9900", "LocalHost:9900", "[::1]:9900"]
        {
            assert!(access.is_our_host(host), "{host}");
        }
        for host in [
            "",
            ":",
            ":9900",
            "127.0.0.1",
            "127.0.0.1:",
            "127.0.0.1:80",
            "127.0.0.1:99000",
            "127.0.0.1:9900:9900",
            "127.0.0.1.:9900",
            "localhost",
            "localhost.:9900",
            "localhost6:9900",
            "localhost.example.org:9900",
            "example.org:9900",
            "127.0.0.1.example.org:9900",
            "user@127.0.0.1:9900",
            "192.168.0.1:9900",
            "0.0.0.0:9900",
            "[::1]",
            "[::1",
            "::1:9900",
            "[::ffff:192.168.0.1]:9900",
            "[::2]:9900",
        ] {
            assert!(!access.is_our_host(host), "{host}");
        }
    }

    #[test]
    fn the_usual_port_may_be_left_out() {
        let access = access(80, false);
        for host in ["127.0.0.1", "127.0.0.1:80", "localhost", "[::1]", "[::1]:80"] {
            assert!(access.is_our_host(host), "{host}");
        }
    }

    #[test]
    fn of_another_machine_numbers_only() {
        let access = access(9900, true);
        for host in ["192.168.0.1:9900", "[fe80::1]:9900", "localhost:9900"] {
            assert!(access.is_our_host(host), "{host}");
        }
        for host in ["server:9900", "example.org:9900", "192.168.0.1"] {
            assert!(!access.is_our_host(host), "{host}");
        }
    }

    #[test]
    fn another_origin_is_another_scheme_name_or_port() {
        assert!(Access::is_same_origin("http://127.0.0.1:9900", "127.0.0.1:9900"));
        for origin in
            ["null", "", "https://127.0.0.1:9900", "http://localhost:9900", "http://127.0.0.1:8080"]
        {
            assert!(!Access::is_same_origin(origin, "127.0.0.1:9900"), "{origin}");
        }
    }

    #[test]
    fn the_token_is_compared_to_its_end() {
        let access = access(1, false);
        assert!(access.is_authorized(Some("Bearer 0123456789abcdef")));
        assert!(access.is_authorized(Some("bearer  0123456789abcdef ")));
        for wrong in [
            "",
            "Bearer",
            "Bearer ",
            "0123456789abcdef",
            "Basic 0123456789abcdef",
            "Bearer 0123456789abcdeg",
            "Bearer 1123456789abcdef",
            "Bearer 0123456789abcde",
            "Bearer 0123456789abcdeff",
        ] {
            assert!(!access.is_authorized(Some(wrong)), "{wrong}");
        }
        assert!(!access.is_authorized(None));
    }

    #[test]
    fn each_token_is_another_one_of_128_bits() {
        let [one, two] = [(); 2].map(|()| Token::random().unwrap());
        assert_ne!(one.as_str(), two.as_str());
        assert_eq!(one.as_str().len(), 32);
        assert!(one.as_str().bytes().all(|byte| byte.is_ascii_hexdigit()));
    }
}
