//! Which addresses may be dialled: global unicast, and what the operator opened.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use ipnet::IpNet;

/// Networks that an operator opened, beyond the public internet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Networks(Vec<IpNet>);

/// A list of networks that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a network; write addresses such as 10.0.0.0/8 or ::1/128, separated by commas")]
pub struct BadNetworks(String);

impl Networks {
    pub fn contain(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromStr for Networks {
    type Err = BadNetworks;

    /// Networks separated by commas; an address alone is a network of one.
    fn from_str(text: &str) -> Result<Self, BadNetworks> {
        let network = |part: &str| {
            let address = |part: &str| part.parse::<IpAddr>().map(IpNet::from);
            part.parse::<IpNet>().or_else(|_| address(part)).map_err(|_| BadNetworks(part.to_owned()))
        };
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        parts.map(network).collect::<Result<_, _>>().map(Self)
    }
}

/// What is not global unicast, with the first address of each range and its length.
const DENIED_V4: [(Ipv4Addr, u8); 15] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// Within 2000::/3, what is for documentation, benchmarks and experiments only.
const DENIED_V6: [(Ipv6Addr, u8); 4] = [
    (Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 0), 48),
    (Ipv6Addr::new(0x2001, 0x10, 0, 0, 0, 0, 0, 0), 27),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// Whether an address belongs to the public internet. What embeds IPv4 addresses is judged by them.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match embedded(address) {
            Some(inner) => inner.into_iter().all(is_public_v4),
            None => is_public_v6(address),
        },
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let within = |(first, length): &(Ipv4Addr, u8)| {
        let mask = u32::MAX << (32 - u32::from(*length));
        u32::from(address) & mask == u32::from(*first)
    };
    !DENIED_V4.iter().any(within)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let within = |first: Ipv6Addr, length: u8| {
        let mask = u128::MAX << (128 - u32::from(length));
        u128::from(address) & mask == u128::from(first)
    };
    within(Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3)
        && !DENIED_V6.iter().any(|(first, length)| within(*first, *length))
}

/// The IPv4 addresses that an IPv6 address leads to: mapped, compatible, translated, NAT64, 6to4, Teredo, ISATAP.
fn embedded(address: Ipv6Addr) -> Option<[Ipv4Addr; 2]> {
    let join = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    let (first, second) = match address.segments() {
        // ::1 and :: embed nothing; they are not global by themselves.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => return None,
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        // Of the prefix for local use only the usual form, with the address at the end.
        | [0x64, 0xff9b, 1, 0, 0, 0, high, low]
        | [0x2002, high, low, _, _, _, _, _]
        | [_, _, _, _, 0 | 0x200, 0x5efe, high, low] => (join(high, low), None),
        // A Teredo server, and its client with every bit turned over.
        [0x2001, 0, server_high, server_low, _, _, high, low] => {
            (join(!high, !low), Some(join(server_high, server_low)))
        }
        _ => return None,
    };
    Some([first, second.unwrap_or(first)])
}
