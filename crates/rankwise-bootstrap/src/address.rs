//! Where the ranks meet.

use std::fmt;
use std::str::FromStr;

/// A host name or IP address, and a port.
///
/// ```
/// use rankwise_bootstrap::Address;
///
/// let address: Address = "[fe80::1]:29500".parse()?;
/// assert_eq!((address.host(), address.port()), ("fe80::1", 29500));
/// assert_eq!(address.to_string(), "[fe80::1]:29500");
/// assert!("node1".parse::<Address>().is_err()); // no port
/// # Ok::<(), rankwise_bootstrap::AddressError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    host: String,
    port: u16,
}

/// A text that is no [`Address`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressError {
    /// The text.
    pub text: String,
}

impl Address {
    /// That port of that host, which is a name or an IP address without brackets.
    pub fn new(host: &str, port: u16) -> Result<Self, AddressError> {
        let letter = |c: char| !(c.is_whitespace() || c.is_control() || "[]/".contains(c));
        if host.is_empty() || !host.chars().all(letter) {
            return Err(AddressError { text: host.to_owned() });
        }
        Ok(Self { host: host.to_owned(), port })
    }

    /// The host.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    pub const fn port(&self) -> u16 {
        self.port
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let wrong = || AddressError { text: text.to_owned() };
        let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let bracketed = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let host = match bracketed {
            Some(host) => host,
            // Without brackets nothing says where an IPv6 address ends.
            None if host.contains(':') => return Err(wrong()),
            None => host,
        };
        Self::new(host, port.parse().map_err(|_| wrong())?).map_err(|_| wrong())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is no address, which is written host:port or [IPv6]:port",
            self.text.escape_debug()
        )
    }
}

impl std::error::Error for AddressError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_host_and_port_is_refused() {
        for bad in ["", ":1", "a", "a:", "a:x", "a:65536", "::1:80", "[::1]", "[::1]80", "a b:1"] {
            assert_eq!(bad.parse::<Address>(), Err(AddressError { text: bad.to_owned() }), "{bad}");
        }
        assert_eq!(Address::new("::1", 80).unwrap(), "[::1]:80".parse().unwrap());
    }
}
