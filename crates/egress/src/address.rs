//! The addresses that may be dialed: global unicast, and networks opened by the operator.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use ipnet::IpNet;

/// Networks opened by an operator, in addition to the public internet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Networks(Vec<IpNet>);

/// A malformed list of networks.
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

    /// Parses networks separated by commas; a single address is a network of one.
    fn from_str(text: &str) -> Result<Self, BadNetworks> {
        let network = |part: &str| {
            let address = |part: &str| part.parse::<IpAddr>().map(IpNet::from);
            part.parse::<IpNet>().or_else(|_| address(part)).map_err(|_| BadNetworks(part.to_owned()))
        };
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        parts.map(network).collect::<Result<_, _>>().map(Self)
    }
}

/// Ranges that are not global unicast: the first address of each, and the length of its prefix.
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

/// Ranges within 2000::/3 that are reserved for documentation, benchmarks and experiments.
const DENIED_V6: [(Ipv6Addr, u8); 5] = [
    (Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 0), 48),
    (Ipv6Addr::new(0x2001, 0x10, 0, 0, 0, 0, 0, 0), 28),
    (Ipv6Addr::new(0x2001, 0x20, 0, 0, 0, 0, 0, 0), 28),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// Private networks that operators usually open as a whole.
const USUAL: [&str; 7] = [
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "fc00::/7",
];

/// Returns the network to open for an address: the usual one that contains it, or the address alone.
pub(crate) fn usual_network(address: IpAddr) -> IpNet {
    let address = address.to_canonical();
    let mut usual = USUAL.iter().filter_map(|network| network.parse::<IpNet>().ok());
    usual.find(|network| network.contains(&address)).unwrap_or_else(|| IpNet::from(address))
}

/// Returns true if an address belongs to the public internet. An address that embeds IPv4 addresses is judged
/// by them.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match embedded(address) {
            Some(inner) => inner.into_iter().all(is_public_v4),
            None => is_public_v6(address) && isatap(address).is_none_or(is_public_v4),
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

/// Returns the IPv4 address embedded in an ISATAP interface identifier, with any prefix.
fn isatap(address: Ipv6Addr) -> Option<Ipv4Addr> {
    match address.segments() {
        [_, _, _, _, 0 | 0x200, 0x5efe, high, low] => Some(join(high, low)),
        _ => None,
    }
}

fn join(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from((u32::from(high) << 16) | u32::from(low))
}

/// Returns the IPv4 addresses that an IPv6 address leads to: mapped, compatible, translated, NAT64, 6to4,
/// Teredo.
fn embedded(address: Ipv6Addr) -> Option<[Ipv4Addr; 2]> {
    let (first, second) = match address.segments() {
        // ::1 and :: embed no address; they are not global.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => return None,
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        // Of the prefix for local use, only the common form with the address at the end.
        | [0x64, 0xff9b, 1, 0, 0, 0, high, low]
        | [0x2002, high, low, _, _, _, _, _] => (join(high, low), None),
        // A Teredo server, and its client with inverted bits.
        [0x2001, 0, server_high, server_low, _, _, high, low] => {
            (join(!high, !low), Some(join(server_high, server_low)))
        }
        _ => return None,
    };
    Some([first, second.unwrap_or(first)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_public(address: &str, expected: bool) {
        let address: IpAddr = address.parse().expect("an address");
        assert_eq!(is_public(address), expected, "{address}");
    }

    #[test]
    fn each_denied_range_of_ipv4_ends_where_it_should() {
        // A range, with the public addresses right before and right after it.
        let ranges: &[(Option<&str>, &str, &str, Option<&str>)] = &[
            (None, "0.0.0.0", "0.255.255.255", Some("1.0.0.0")),
            (Some("9.255.255.255"), "10.0.0.0", "10.255.255.255", Some("11.0.0.0")),
            (Some("100.63.255.255"), "100.64.0.0", "100.127.255.255", Some("100.128.0.0")),
            (Some("126.255.255.255"), "127.0.0.0", "127.255.255.255", Some("128.0.0.0")),
            (Some("169.253.255.255"), "169.254.0.0", "169.254.255.255", Some("169.255.0.0")),
            (Some("172.15.255.255"), "172.16.0.0", "172.31.255.255", Some("172.32.0.0")),
            (Some("191.255.255.255"), "192.0.0.0", "192.0.0.255", Some("192.0.1.0")),
            (Some("192.0.1.255"), "192.0.2.0", "192.0.2.255", Some("192.0.3.0")),
            (Some("192.88.98.255"), "192.88.99.0", "192.88.99.255", Some("192.88.100.0")),
            (Some("192.167.255.255"), "192.168.0.0", "192.168.255.255", Some("192.169.0.0")),
            (Some("198.17.255.255"), "198.18.0.0", "198.19.255.255", Some("198.20.0.0")),
            (Some("198.51.99.255"), "198.51.100.0", "198.51.100.255", Some("198.51.101.0")),
            (Some("203.0.112.255"), "203.0.113.0", "203.0.113.255", Some("203.0.114.0")),
            (Some("223.255.255.255"), "224.0.0.0", "239.255.255.255", None),
            (None, "240.0.0.0", "255.255.255.255", None),
        ];
        for (before, first, last, after) in ranges {
            assert_public(first, false);
            assert_public(last, false);
            for public in before.iter().chain(after) {
                assert_public(public, true);
            }
        }
        for public in ["1.1.1.1", "8.8.8.8", "93.184.216.34", "100.0.0.1", "172.217.0.1", "192.30.255.112"] {
            assert_public(public, true);
        }
    }

    #[test]
    fn only_global_unicast_ipv6_is_public() {
        let cases: &[(&str, bool)] = &[
            ("::", false),
            ("::1", false),
            ("100::1", false),
            ("1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", false),
            ("2000::", true),
            ("2606:4700:4700::1111", true),
            ("2a00:1450:4001:81b::200e", true),
            ("3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", true),
            ("4000::", false),
            ("5f00::1", false),
            ("fbff:ffff::1", false),
            ("fc00::", false),
            ("fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", false),
            ("fe80::1", false),
            ("febf:ffff::1", false),
            ("fec0::1", false),
            ("ff00::", false),
            ("ff02::1", false),
            ("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", false),
            // Benchmarks.
            ("2001:1:ffff:ffff:ffff:ffff:ffff:ffff", true),
            ("2001:2::", false),
            ("2001:2:0:ffff:ffff:ffff:ffff:ffff", false),
            ("2001:2:1::", true),
            // Identifiers that resemble addresses.
            ("2001:f:ffff:ffff:ffff:ffff:ffff:ffff", true),
            ("2001:10::", false),
            ("2001:20::", false),
            ("2001:2f:ffff:ffff:ffff:ffff:ffff:ffff", false),
            ("2001:30::", true),
            // Documentation.
            ("2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", true),
            ("2001:db8::", false),
            ("2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", false),
            ("2001:db9::", true),
            ("3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", true),
            ("3fff::", false),
            ("3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", false),
            ("3fff:1000::", true),
        ];
        for (address, expected) in cases {
            assert_public(address, *expected);
        }
    }

    #[test]
    fn an_address_is_judged_by_the_address_that_it_embeds() {
        type Form = fn(u16, u16) -> [u16; 8];
        let forms: &[(&str, Form)] = &[
            ("mapped", |high, low| [0, 0, 0, 0, 0, 0xffff, high, low]),
            ("compatible", |high, low| [0, 0, 0, 0, 0, 0, high, low]),
            ("translated", |high, low| [0, 0, 0, 0, 0xffff, 0, high, low]),
            ("NAT64", |high, low| [0x64, 0xff9b, 0, 0, 0, 0, high, low]),
            ("NAT64 for local use", |high, low| [0x64, 0xff9b, 1, 0, 0, 0, high, low]),
            ("6to4", |high, low| [0x2002, high, low, 0, 0, 0, 0, 1]),
            ("a Teredo client", |high, low| [0x2001, 0, 0x4136, 0xe378, 0x8000, 0x63bf, !high, !low]),
            ("a Teredo server", |high, low| [0x2001, 0, high, low, 0x8000, 0x63bf, 0xf7f7, 0xf7f7]),
            ("ISATAP", |high, low| [0x2001, 0x470, 0, 0, 0, 0x5efe, high, low]),
            ("global ISATAP", |high, low| [0x2001, 0x470, 0, 0, 0x200, 0x5efe, high, low]),
        ];
        for (inner, expected) in [
            ("8.8.8.8", true),
            ("1.0.0.0", true),
            ("223.255.255.255", true),
            ("0.1.2.3", false),
            ("10.0.0.1", false),
            ("100.64.0.1", false),
            ("127.0.0.1", false),
            ("169.254.169.254", false),
            ("172.31.255.255", false),
            ("192.168.1.1", false),
            ("224.0.0.1", false),
            ("255.255.255.255", false),
        ] {
            let bits = u32::from(inner.parse::<Ipv4Addr>().expect("an address"));
            for (form, embed) in forms {
                let address = Ipv6Addr::from(embed((bits >> 16) as u16, bits as u16));
                assert_eq!(is_public(address.into()), expected, "{inner} as {form}: {address}");
            }
        }
    }

    #[test]
    fn an_embedded_address_does_not_hide_the_outer_one() {
        for (why, address) in [
            ("a prefix for local NAT64 in another form", "64:ff9b:1:ffff::808:808"),
            ("a prefix next to NAT64", "64:ff9b:2::808:808"),
            ("link-local ISATAP", "fe80::5efe:808:808"),
            ("link-local ISATAP, global inside", "fe80::200:5efe:808:808"),
            ("unique local ISATAP", "fc00::5efe:808:808"),
            ("unique local ISATAP, global inside", "fd12:3456:789a:1:200:5efe:808:808"),
            ("ISATAP in a range for documentation", "2001:db8::5efe:808:808"),
            ("multicast that looks like ISATAP", "ff02::5efe:808:808"),
            // Read as Teredo, the client is 127.0.0.1; as ISATAP, it would be 128.255.255.254.
            ("Teredo that looks like ISATAP", "2001:0:808:808:0:5efe:80ff:fffe"),
            ("Teredo that looks like ISATAP, with a private server", "2001:0:a00:1:200:5efe:f7f7:f7f7"),
        ] {
            let parsed: IpAddr = address.parse().expect("an address");
            assert!(!is_public(parsed), "{why}: {address}");
        }
    }

    #[test]
    fn each_private_address_belongs_to_its_usual_network_or_to_none() {
        for (address, network) in [
            ("127.0.0.1", "127.0.0.0/8"),
            ("10.1.2.3", "10.0.0.0/8"),
            ("172.31.0.1", "172.16.0.0/12"),
            ("172.32.0.1", "172.32.0.1/32"),
            ("192.168.1.20", "192.168.0.0/16"),
            ("100.64.0.1", "100.64.0.0/10"),
            ("169.254.169.254", "169.254.0.0/16"),
            ("0.0.0.0", "0.0.0.0/32"),
            ("224.0.0.1", "224.0.0.1/32"),
            ("::1", "::1/128"),
            ("fd12::1", "fc00::/7"),
            ("fe80::1", "fe80::1/128"),
            ("::ffff:192.168.1.20", "192.168.0.0/16"),
        ] {
            let address: IpAddr = address.parse().expect("an address");
            let found = usual_network(address).to_string();
            assert_eq!(found, network, "{address}");
            let opened: Networks = found.parse().expect("networks");
            assert!(opened.contain(address), "{address} can be reached once {found} is open");
        }
    }

    #[test]
    fn networks_are_read_from_a_list() {
        let networks: Networks = " 10.0.0.0/8, 127.0.0.1,,fd00::/8 ,::1/128".parse().expect("networks");
        for (address, expected) in [
            ("10.0.0.0", true),
            ("10.255.255.255", true),
            ("11.0.0.0", false),
            ("127.0.0.1", true),
            ("127.0.0.2", false),
            ("::ffff:10.1.2.3", true),
            ("::ffff:127.0.0.2", false),
            ("::1", true),
            ("::2", false),
            ("fd12::1", true),
            ("fc00::1", false),
            ("8.8.8.8", false),
        ] {
            assert_eq!(networks.contain(address.parse().expect("an address")), expected, "{address}");
        }
        for nothing in ["", " ", ",", " , ,"] {
            assert!(nothing.parse::<Networks>().expect("nothing").is_empty(), "{nothing:?}");
        }
        for bad in ["10.0.0.0/33", "10.0.0/8", "localhost", "::1/129", "10.0.0.0/8;::1", "0x7f.1", "*"] {
            let refused = format!("10.0.0.0/8, {bad}").parse::<Networks>().expect_err(bad);
            assert_eq!(refused, BadNetworks(bad.to_owned()));
        }
    }
}
