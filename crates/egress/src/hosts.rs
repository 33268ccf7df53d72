//! Which hosts a tool may talk to: `allowedDomains`, and names that are never public.

use std::fmt;

use url::{Host, Url};

/// A list of hosts, each with the port it was listed with.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hosts(Vec<Entry>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    pattern: Pattern,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Pattern {
    /// `*`: every host there is.
    Any,
    /// `*.weather.com`: at least one more label to the left.
    Below(String),
    Exactly(Host<String>),
}

/// An entry of `allowedDomains` that names no host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a host")]
pub struct BadHost(String);

impl Hosts {
    /// Reads entries such as `api.weather.com`, `*.weather.com`, `api.weather.com:8443` or `*`.
    pub fn parse<'a>(entries: impl IntoIterator<Item = &'a str>) -> Result<Self, (usize, BadHost)> {
        let numbered = entries.into_iter().enumerate();
        numbered
            .map(|(at, entry)| Entry::parse(entry).map_err(|bad| (at, bad)))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// The host of one URL, and nothing else.
    pub fn only(url: &Url) -> Self {
        let entry = |host: Host<&str>| Entry { pattern: Pattern::Exactly(canonical(host)), port: url.port() };
        Self(url.host().map(entry).into_iter().collect())
    }

    /// Whether the host of a URL is in the list.
    pub fn cover(&self, url: &Url) -> bool {
        url.host().is_some_and(|host| self.allow(&canonical(host)))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The places of entries that leave nearly every host open: `*`, and all below a public suffix as in `*.co.uk`.
    pub fn too_wide(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().filter(|(_, entry)| entry.pattern.is_too_wide()).map(|(at, _)| at)
    }

    pub(crate) fn allow(&self, host: &Host<String>) -> bool {
        self.0.iter().any(|entry| entry.pattern.matches(host))
    }

    /// Whether a port stands in the list, with its host.
    pub(crate) fn allow_port(&self, host: &Host<String>, port: u16) -> bool {
        self.0.iter().any(|entry| entry.port == Some(port) && entry.pattern.matches(host))
    }
}

impl Entry {
    fn parse(written: &str) -> Result<Self, BadHost> {
        let bad = || BadHost(written.to_owned());
        let text = written.trim();
        let (text, port) = match text.rsplit_once(':') {
            // The colons of an IPv6 address are no port.
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

/// A host as it is compared: case folded, in punycode, without the dot at its end.
fn host(text: &str) -> Option<Host<String>> {
    if text.is_empty() || text.contains(['*', '@', '/', '?', '#', '\\', '%']) {
        return None;
    }
    // An IPv6 address may be listed with or without its brackets.
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

/// One trailing dot less; an IPv4 address is the same in its IPv6 form.
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

/// Names that lead into this machine or its cloud's inner services, whatever a resolver says of them.
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

/// And whatever ends so.
const NEVER_PUBLIC_BELOW: [&str; 2] = [".localhost", ".internal"];

/// Whether a name may only lead into networks that the operator opened.
pub(crate) fn is_inner_name(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    NEVER_PUBLIC.contains(&name.as_str()) || NEVER_PUBLIC_BELOW.iter().any(|end| name.ends_with(end))
}

/// Whether a name means this very machine.
pub(crate) fn is_localhost(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}
