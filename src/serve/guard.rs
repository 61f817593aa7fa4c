//! Who may look: whoever knows the token, through a name of this machine, from a page of ours.
//!
//! GPU servers are shared, so a port on the loopback address is open to every user of the machine; and a browser
//! will connect to it for any web page. The token keeps out the first, the checks of `Host` and `Origin` the
//! second, names rebound to this address included.

use crate::error::{Error, Result};
use axum::http::{HeaderMap, HeaderValue, Uri, header};
use std::fmt::Write as _;
use std::net::IpAddr;
use subtle::ConstantTimeEq;

/// 128 random bits in hexadecimal.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// A new one, from the operating system.
    pub fn random() -> Result<Token> {
        let mut bits = [0; 16];
        getrandom::fill(&mut bits)
            .map_err(|e| Error::Device(format!("the operating system has no random numbers: {e}")))?;
        let mut text = String::new();
        for byte in bits {
            write!(text, "{byte:02x}").expect("to a string");
        }
        Ok(Token(text))
    }

    /// For the URL.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Whether it is this one; the time taken says nothing of where they differ.
    fn is(&self, other: &str) -> bool {
        self.0.as_bytes().ct_eq(other.as_bytes()).into()
    }
}

/// Decides about requests.
pub struct Guard {
    /// What a request must know.
    pub token: Token,
    /// Where the server listens.
    pub address: IpAddr,
    /// Names of this machine that browsers may use, beyond `localhost` and addresses.
    pub names: Vec<String>,
}

impl Guard {
    /// Why the request is refused, if it is.
    pub fn refusal(&self, uri: &Uri, headers: &HeaderMap) -> Option<&'static str> {
        let one = |name| {
            let mut values = headers.get_all(name).iter();
            values.next().filter(|_| values.next().is_none()).map(|v: &HeaderValue| v.to_str().unwrap_or(""))
        };
        let Some(host) = one(header::HOST) else { return Some("Host is missing") };
        if !self.is_ours(host) {
            return Some("Host is no name of this server; --name allows another");
        }
        if headers.contains_key(header::ORIGIN) {
            // Programs that are no browsers send none; browsers send it with every WebSocket.
            let origin = one(header::ORIGIN).unwrap_or("");
            let origin = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
            if !origin.is_some_and(|origin| origin.eq_ignore_ascii_case(host)) {
                return Some("Origin is another site");
            }
        }
        let mut tokens = uri.query().unwrap_or("").split('&').filter_map(|pair| pair.strip_prefix("token="));
        if !tokens.next().is_some_and(|token| self.token.is(token)) {
            return Some("the token is missing or wrong; open the URL that `rayq serve` printed last");
        }
        None
    }

    /// Whether a `Host` names this server. Any port will do: a tunnel's other end has its own.
    fn is_ours(&self, host: &str) -> bool {
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|c| c.is_ascii_digit()) => name,
            _ => host,
        };
        let bare = name.strip_prefix('[').and_then(|n| n.strip_suffix(']')).unwrap_or(name);
        match bare.parse::<IpAddr>() {
            // A name can be rebound to our address, an address cannot.
            Ok(ip) => ip.is_loopback() || ip == self.address || self.address.is_unspecified(),
            Err(_) => {
                let known = std::iter::once("localhost").chain(self.names.iter().map(String::as_str));
                known.into_iter().any(|known| known.eq_ignore_ascii_case(name))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(address: &str) -> Guard {
        let address = address.parse().expect("an address");
        Guard { token: Token("ab12".into()), address, names: vec!["gpu7".into()] }
    }

    fn ask(guard: &Guard, query: &str, headers: &[(&'static str, &str)]) -> Option<&'static str> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().expect("a header"));
        }
        guard.refusal(&format!("/live?{query}").parse().expect("a URI"), &map)
    }

    #[test]
    fn tokens_are_long_and_differ() {
        let (one, other) = (Token::random().expect("random"), Token::random().expect("random"));
        assert_eq!((one.0.len(), one.is(&one.0), one.is(&other.0)), (32, true, false));
        assert!(!one.is("") && !one.is(&one.0[1..]));
    }

    #[test]
    fn the_token_must_be_right() {
        let host = [("host", "localhost:1")];
        assert_eq!(ask(&guard("127.0.0.1"), "token=ab12", &host), None);
        assert_eq!(ask(&guard("127.0.0.1"), "a=b&token=ab12", &host), None);
        for wrong in ["", "token=", "token=ab1", "token=ab123", "token=AB12", "ab12", "xtoken=ab12"] {
            assert!(ask(&guard("127.0.0.1"), wrong, &host).expect("refused").contains("token"), "{wrong}");
        }
    }

    #[test]
    fn hosts() {
        for ours in ["localhost", "LOCALHOST:9", "127.0.0.1:8000", "[::1]:8000", "gpu7:80", "10.0.0.7:1"] {
            assert_eq!(ask(&guard("10.0.0.7"), "token=ab12", &[("host", ours)]), None, "{ours}");
        }
        for other in ["evil.example", "localhost.evil.example", "10.0.0.8", "", "127.0.0.1.evil.example:80"] {
            let refusal = ask(&guard("10.0.0.7"), "token=ab12", &[("host", other)]);
            assert!(refusal.expect("refused").contains("Host"), "{other}");
        }
        assert_eq!(ask(&guard("0.0.0.0"), "token=ab12", &[("host", "10.0.0.8:80")]), None);
        assert!(ask(&guard("0.0.0.0"), "token=ab12", &[("host", "evil.example")]).is_some());
        assert!(ask(&guard("0.0.0.0"), "token=ab12", &[]).is_some());
        let two = [("host", "localhost"), ("host", "localhost")];
        assert!(ask(&guard("0.0.0.0"), "token=ab12", &two).is_some());
    }

    #[test]
    fn origins() {
        let from = |origin| {
            ask(&guard("127.0.0.1"), "token=ab12", &[("host", "localhost:8000"), ("origin", origin)])
        };
        assert_eq!(from("http://localhost:8000"), None);
        for other in ["http://evil.example", "http://localhost:8001", "null", "", "file://localhost:8000"] {
            assert!(from(other).expect("refused").contains("Origin"), "{other}");
        }
    }
}
