//! The hosts that a tool may contact: `allowedDomains`, and names that are never public.

use std::fmt;

use url::{Host, Url};

/// A list of hosts, each with an optional port.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hosts(Vec<Entry>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    pattern: Pattern,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Pattern {
    /// `*`: every host.
    Any,
    /// `*.weather.com`: at least one more label to the left.
    Below(String),
    Exactly(Host<String>),
}

/// A malformed entry of `allowedDomains`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a host")]
pub struct BadHost(String);

impl Hosts {
    /// Parses entries such as `api.weather.com`, `*.weather.com`, `api.weather.com:8443` or `*`.
    pub fn parse<'a>(entries: impl IntoIterator<Item = &'a str>) -> Result<Self, (usize, BadHost)> {
        let numbered = entries.into_iter().enumerate();
        numbered
            .map(|(at, entry)| Entry::parse(entry).map_err(|bad| (at, bad)))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Creates a list of the host of one URL.
    pub fn of_url(url: &Url) -> Self {
        let entry = |host: Host<&str>| Entry { pattern: Pattern::Exactly(canonical(host)), port: url.port() };
        Self(url.host().map(entry).into_iter().collect())
    }

    /// Returns true if the host of a URL is in the list.
    pub fn cover(&self, url: &Url) -> bool {
        url.host().is_some_and(|host| self.allow(&canonical(host)))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the indexes of entries that allow nearly every host: `*`, and names below a public suffix such
    /// as `*.co.uk`.
    pub fn too_wide(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().filter(|(_, entry)| entry.pattern.is_too_wide()).map(|(at, _)| at)
    }

    pub(crate) fn allow(&self, host: &Host<String>) -> bool {
        self.0.iter().any(|entry| entry.pattern.matches(host))
    }

    /// Returns true if the host is listed with this port.
    pub(crate) fn allow_port(&self, host: &Host<String>, port: u16) -> bool {
        self.0.iter().any(|entry| entry.port == Some(port) && entry.pattern.matches(host))
    }
}

impl Entry {
    fn parse(written: &str) -> Result<Self, BadHost> {
        let bad = || BadHost(written.to_owned());
        let text = written.trim();
        let (text, port) = match text.rsplit_once(':') {
            // The colons of an IPv6 address do not separate a port.
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
                (host, Some(port.parse::<u16>().ok().filter(|port| *port > 0).ok_or_else(bad)?))
            }
            _ => (text, None),
        };
        let pattern = match text.strip_prefix('*') {
            Some("") => Pattern::Any,
            Some(below) => match host(below.strip_prefix('.').ok_or_else(bad)?).ok_or_else(bad)? {
                Host::Domain(domain) => Pattern::Below(domain),
                Host::Ipv4(_) | Host::Ipv6(_) => return Err(bad()),
            },
            None => Pattern::Exactly(host(text).ok_or_else(bad)?),
        };
        Ok(Self { pattern, port })
    }
}

impl Pattern {
    fn is_too_wide(&self) -> bool {
        match self {
            Self::Any => true,
            Self::Below(domain) => psl::suffix_str(domain) == Some(domain),
            Self::Exactly(_) => false,
        }
    }

    fn matches(&self, host: &Host<String>) -> bool {
        match (self, host) {
            (Self::Any, _) => true,
            (Self::Exactly(listed), host) => listed == host,
            (Self::Below(domain), Host::Domain(name)) => {
                name.strip_suffix(domain.as_str()).is_some_and(|left| left.len() > 1 && left.ends_with('.'))
            }
            (Self::Below(_), Host::Ipv4(_) | Host::Ipv6(_)) => false,
        }
    }
}

/// Parses a host in canonical form: lower case, punycode, without a trailing dot.
fn host(text: &str) -> Option<Host<String>> {
    if text.is_empty() || text.contains(['*', '@', '/', '?', '#', '\\', '%']) {
        return None;
    }
    // An IPv6 address may be listed with or without brackets.
    let bracketed =
        if text.contains(':') && !text.starts_with('[') { format!("[{text}]") } else { text.to_owned() };
    let host = Host::parse(&bracketed).ok()?;
    let canonical = canonical(borrowed(&host));
    (canonical != Host::Domain(String::new())).then_some(canonical)
}

fn borrowed(host: &Host<String>) -> Host<&str> {
    match host {
        Host::Domain(name) => Host::Domain(name),
        Host::Ipv4(address) => Host::Ipv4(*address),
        Host::Ipv6(address) => Host::Ipv6(*address),
    }
}

/// Removes a trailing dot, and converts IPv4-mapped IPv6 addresses to IPv4.
pub(crate) fn canonical(host: Host<&str>) -> Host<String> {
    match host {
        Host::Domain(name) => Host::Domain(name.strip_suffix('.').unwrap_or(name).to_owned()),
        Host::Ipv4(address) => Host::Ipv4(address),
        Host::Ipv6(address) => address.to_ipv4_mapped().map_or(Host::Ipv6(address), Host::Ipv4),
    }
}

impl fmt::Display for Hosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, Entry { pattern, port }) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str(", ")?;
            }
            match pattern {
                Pattern::Any => f.write_str("*")?,
                Pattern::Below(domain) => write!(f, "*.{domain}")?,
                Pattern::Exactly(host) => write!(f, "{host}")?,
            }
            if let Some(port) = port {
                write!(f, ":{port}")?;
            }
        }
        Ok(())
    }
}

/// Names of this machine or of internal cloud services, whatever DNS returns for them.
const NEVER_PUBLIC: [&str; 9] = [
    "localhost",
    "localhost.localdomain",
    "ip6-localhost",
    "ip6-loopback",
    "metadata",
    "metadata.goog",
    "metadata.google.internal",
    "metadata.azure.internal",
    "instance-data",
];

/// Suffixes of such names.
const NEVER_PUBLIC_BELOW: [&str; 2] = [".localhost", ".internal"];

/// Returns true if a name may only lead into networks opened by the operator.
pub(crate) fn is_inner_name(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    NEVER_PUBLIC.contains(&name.as_str()) || NEVER_PUBLIC_BELOW.iter().any(|end| name.ends_with(end))
}

/// Returns true if a name refers to this machine.
pub(crate) fn is_localhost(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}
