//! `Address`: where the page is, and the token that it wants.

/// Taken apart from what the program has printed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// With the port.
    pub(crate) host: String,
    pub(crate) token: String,
}

impl Address {
    /// # Errors
    ///
    /// A sentence that says what is missing.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        // The whole line may have been copied.
        let text = text.trim().trim_start_matches("insight on ").trim();
        let rest = text.strip_prefix("http://").unwrap_or(text);
        let Some((host, token)) = rest.split_once('#') else {
            return Err("the address has no token: it is what follows the #".to_owned());
        };
        let host = host.trim_end_matches('/');
        let is_plain = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_graphic());
        if !is_plain(host) || host.contains('/') || !is_plain(token) {
            return Err("the address is not of the form http://127.0.0.1:9900/#TOKEN".to_owned());
        }
        let host = if host.rsplit(']').next().is_some_and(|end| end.contains(':')) {
            host.to_owned()
        } else {
            format!("{host}:80")
        };
        Ok(Self { host, token: token.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::Address;

    #[test]
    fn what_the_program_prints_is_taken_apart() {
        for (text, host) in [
            ("http://127.0.0.1:9900/#ab12", "127.0.0.1:9900"),
            ("insight on http://127.0.0.1:9900/#ab12\n", "127.0.0.1:9900"),
            ("127.0.0.1:9900/#ab12", "127.0.0.1:9900"),
            ("http://[::1]:9900/#ab12", "[::1]:9900"),
            ("http://[::1]/#ab12", "[::1]:80"),
            ("http://localhost#ab12", "localhost:80"),
        ] {
            let address = Address { host: host.to_owned(), token: "ab12".to_owned() };
            assert_eq!(Address::parse(text), Ok(address), "{text}");
        }
    }

    #[test]
    fn what_is_none_is_refused_with_a_reason() {
        for text in
            ["", "http://127.0.0.1:9900/", "http://#", "#ab", "http://a/b#c", "http://a#b c"]
        {
            assert!(Address::parse(text).is_err(), "{text}");
        }
    }
}
