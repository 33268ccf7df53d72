//! `allowedDomains`: hosts that a list allows, its display form, and malformed entries.

use haft_core::{ErrorKind, Locale};
use haft_egress::{Egress, Hosts};

use crate::support::{Lookup, error, failed, get_as, private, url};

/// A client for which every host is private: a host that the list allows is rejected in the next step.
fn guard() -> Egress {
    Egress::builder().resolver(Lookup::always(&["10.0.0.1"])).build()
}

/// Returns true if a list allows a URL. Its port is the tool's own.
async fn is_allowed(egress: &Egress, entries: &[&str], target: &str) -> bool {
    let (kind, words) = failed(get_as(egress, target, entries, target).await);
    let host = url(target).host_str().expect("a host").to_owned();
    assert_eq!(kind, ErrorKind::Permission, "{target} with {entries:?}");
    if words == private(&host).1 {
        return true;
    }
    let start = format!("Domain not allowed: {host}. Allowed: ");
    assert!(words.starts_with(&start), "{target} with {entries:?}: {words}");
    false
}

#[tokio::test]
async fn a_name_allows_itself_in_any_case_and_script() {
    let egress = guard();
    let cases: &[(&str, &[&str], &[&str])] = &[
        (
            "api.weather.com",
            &[
                "http://api.weather.com/",
                "https://api.weather.com/v1?q=1",
                "http://API.Weather.COM/",
                "http://api.weather.com./",
                "http://api.weather.com:8080/",
                "http://ａｐｉ.weather.com/",
            ],
            &[
                "http://weather.com/",
                "http://x.api.weather.com/",
                "http://apixweather.com/",
                "http://api.weather.com.evil.com/",
                "http://evilapi.weather.com/",
                "http://api.weather.org/",
                "http://10.0.0.1/",
            ],
        ),
        (
            "API.Weather.com.",
            &["http://api.weather.com/", "http://api.weather.com./"],
            &["http://weather.com/"],
        ),
        ("  api.weather.com ", &["http://api.weather.com/"], &["http://weather.com/"]),
        (
            "münchen.example",
            &["http://münchen.example/", "http://MÜNCHEN.example/", "http://xn--mnchen-3ya.example/"],
            &["http://munchen.example/", "http://xn--mnchen-3ya.evil/"],
        ),
        (
            "xn--mnchen-3ya.example",
            &["http://münchen.example/", "http://XN--MNCHEN-3YA.example/"],
            &["http://munchen.example/"],
        ),
        ("mu\u{308}nchen.example", &["http://münchen.example/"], &["http://munchen.example/"]),
        // A Cyrillic letter differs from the Latin letter that it resembles.
        ("apple.example", &["http://apple.example/"], &["http://аpple.example/"]),
    ];
    for (entry, allowed, refused) in cases {
        for target in *allowed {
            assert!(is_allowed(&egress, &[*entry], target).await, "{entry} allows {target}");
        }
        for target in *refused {
            assert!(!is_allowed(&egress, &[*entry], target).await, "{entry} does not allow {target}");
        }
    }
}

#[tokio::test]
async fn a_wildcard_matches_whole_labels() {
    let egress = guard();
    for (target, expected) in [
        ("http://api.weather.com/", true),
        ("http://a.b.weather.com/", true),
        ("http://API.WEATHER.COM./", true),
        ("http://xn--mnchen-3ya.weather.com/", true),
        ("http://weather.com/", false),
        ("http://weather.com./", false),
        ("http://evilweather.com/", false),
        ("http://evil-weather.com/", false),
        ("http://weather.com.evil.com/", false),
        ("http://api.weather.com.evil.com/", false),
        ("http://api.weather.comx/", false),
        ("http://weathercom/", false),
        ("http://10.0.0.1/", false),
        ("http://[fc00::1]/", false),
    ] {
        for entry in ["*.weather.com", "*.WEATHER.com", "*.weather.com.", "*.weather.com:8443"] {
            assert_eq!(is_allowed(&egress, &[entry], target).await, expected, "{target} with {entry}");
        }
        assert!(is_allowed(&egress, &["*"], target).await, "{target} with *");
    }
    assert!(is_allowed(&egress, &["*.münchen.example"], "http://a.xn--mnchen-3ya.example/").await);
    assert!(is_allowed(&egress, &["*.xn--mnchen-3ya.example"], "http://a.münchen.example/").await);
}

#[tokio::test]
async fn an_address_is_the_same_in_every_spelling() {
    let egress = guard();
    let cases: &[(&[&str], &[&str])] = &[
        (
            &[
                "127.0.0.1",
                "127.1",
                "0x7f.1",
                "2130706433",
                "0177.0.0.1",
                "１２７.0.0.1",
                "127.0.0.1.",
                "127.0.0.1:8080",
                "::ffff:127.0.0.1",
                "[::ffff:7f00:1]",
            ],
            &["http://127.0.0.1/", "http://0x7f000001/", "http://[::ffff:127.0.0.1]/", "http://127.1:99/"],
        ),
        (
            &["::1", "[::1]", "[0:0:0:0:0:0:0:1]", "0:0:0:0:0:0:0:1", "[::1]:8080"],
            &["http://[::1]/", "http://[0:0::1]/", "http://[::1]:99/"],
        ),
        (&["fc00::A", "[FC00::a]"], &["http://[fc00::a]/", "http://[fc00:0::000A]/"]),
    ];
    for (at, (entries, _)) in cases.iter().enumerate() {
        for entry in *entries {
            for (other, (_, targets)) in cases.iter().enumerate() {
                for target in *targets {
                    let outcome = is_allowed(&egress, &[*entry], target).await;
                    assert_eq!(outcome, other == at, "{target} with {entry}");
                }
            }
            assert!(!is_allowed(&egress, &[*entry], "http://127.0.0.2/").await, "{entry}");
            assert!(!is_allowed(&egress, &[*entry], "http://name.test/").await, "{entry}");
        }
    }
}

#[tokio::test]
async fn an_empty_list_means_the_host_of_the_tools_own_url() {
    let egress = guard();
    for (own, target, expected) in [
        ("http://api.test/", "http://api.test/other?x=1", true),
        ("http://api.test/", "https://API.test./", true),
        ("http://api.test./", "http://api.test/", true),
        ("http://api.test/", "http://other.test/", false),
        ("http://api.test/", "http://x.api.test/", false),
        ("http://127.0.0.1/", "http://0x7f.1/", true),
        ("http://127.0.0.1/", "http://127.0.0.2/", false),
        ("http://[::1]/", "http://[::1]/", true),
    ] {
        let (_, words) = failed(get_as(&egress, own, &[], target).await);
        let is_refused = words.starts_with("Domain not allowed: ");
        assert_eq!(!is_refused, expected, "{target} for a tool at {own}: {words}");
    }
    let listed = failed(get_as(&egress, "http://api.test/", &["other.test"], "http://api.test/").await);
    let words = "Domain not allowed: api.test. Allowed: other.test".to_owned();
    assert_eq!(listed, (ErrorKind::Permission, words), "a list replaces the tool's own host");
}

#[tokio::test]
async fn a_refusal_names_the_host_and_the_list_and_nothing_else() {
    let target = "http://evil.com/hidden?token=s3cret#part";
    let entries = ["api.weather.com", "*.example.org"];
    let refused = error(get_as(&guard(), "http://api.weather.com/", &entries, target).await);
    assert_eq!(refused.kind(), ErrorKind::Permission);
    for (locale, words) in [
        (Locale::En, "Domain not allowed: evil.com. Allowed: api.weather.com, *.example.org"),
        (Locale::Zh, "不允许访问的域名：evil.com。允许：api.weather.com, *.example.org"),
    ] {
        assert_eq!(refused.message().render(locale), words);
    }
    assert!(refused.did_nothing());
    assert!(refused.details(Locale::En).is_empty());
}

#[test]
fn malformed_entries_are_reported_with_their_index() {
    for bad in [
        "",
        " ",
        ".",
        "*weather.com",
        "*.",
        "**",
        "*.*",
        "*.*.com",
        "a.*.com",
        "api.*",
        "*.127.0.0.1",
        "*.[::1]",
        "http://x",
        "https://x:443",
        "a/b",
        "a?b",
        "a#b",
        "a\\b",
        "a b",
        "a%2eb",
        "user@host",
        "user:pw@host",
        "x:",
        "x:0",
        "x:99999",
        "x:-1",
        "x:http",
        ":80",
        "x:80:80",
        "[::1",
        "[::1]x",
        "[::1]:0",
        "[::1%25eth0]",
        "::g",
        "256.256.256.256",
        "1.2.3.4.5",
    ] {
        let (at, error) = Hosts::parse(["good.test", "*", bad, "x"]).expect_err(bad);
        assert_eq!((at, error.to_string()), (2, format!("{bad:?} is not a host")), "{bad:?}");
    }
}

#[test]
fn a_list_is_displayed_in_canonical_form() {
    for (entries, shown) in [
        (["API.Weather.com.", "*.Example.org"], "api.weather.com, *.example.org"),
        (["*", "api.test:8443"], "*, api.test:8443"),
        (["::1", "[::1]:8080"], "[::1], [::1]:8080"),
        (["0x7f.1", "[::ffff:127.0.0.1]:80"], "127.0.0.1, 127.0.0.1:80"),
        (["münchen.example", "*.münchen.example:9"], "xn--mnchen-3ya.example, *.xn--mnchen-3ya.example:9"),
    ] {
        assert_eq!(Hosts::parse(entries).expect("hosts").to_string(), shown);
    }
    assert!(Hosts::parse([]).expect("none").is_empty());
}

#[test]
fn lists_that_allow_nearly_every_host_are_detected() {
    let table: [(&[&str], &[usize]); 5] = [
        (
            &["api.weather.com", "*.weather.com", "*.example.co.uk", "*.me.github.io", "co.uk", "10.0.0.1"],
            &[],
        ),
        (&["*"], &[0]),
        (
            &["api.weather.com", "*:8443", "*.com", "*.co.uk", "*.COM.CN.", "*.github.io", "*.中国"],
            &[1, 2, 3, 4, 5, 6],
        ),
        (&["*.s3.amazonaws.com", "*.internal"], &[0, 1]),
        (&[], &[]),
    ];
    for (entries, expected) in table {
        let hosts = Hosts::parse(entries.iter().copied()).expect("hosts");
        assert_eq!(hosts.too_wide().collect::<Vec<_>>(), expected, "{entries:?}");
    }
}
