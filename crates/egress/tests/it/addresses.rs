//! Addresses, ports and schemes that a tool may reach: every spelling, opened networks, and never this
//! server.

use std::io;
use std::net::{IpAddr, SocketAddr};

use haft_core::ErrorKind;
use haft_egress::{Egress, Request, RequestPolicy};
use haft_testkit::{Upstream, http_response};
use http::Method;

use crate::support::{
    Lookup, Outcome, Trap, described, error, failed, get, get_as, limits, networks, open_loopback, private,
    send, url,
};

async fn server() -> Upstream {
    Upstream::start(|_| http_response(200, &[], "reached")).await
}

/// Sends a request to a host and port, and asserts that its address is rejected without a connection.
async fn assert_refused(egress: &Egress, host: &str, port: u16) {
    let target = format!("http://{host}:{port}/");
    let shown = url(&target).host_str().expect("a host").to_owned();
    let refused = error(get(egress, &target).await);
    assert_eq!(described(&refused), private(&shown), "{host}");
    assert!(refused.did_nothing(), "{host}");
}

#[tokio::test]
async fn a_refusal_names_the_network_of_the_address() {
    let lookup = Lookup::by(|name, _| {
        let found: &[&str] = match name {
            "localhost" => &["::1", "127.0.0.1"],
            "mixed.test" => &["8.8.8.8", "fd12::1"],
            _ => &["192.168.1.20"],
        };
        Ok(found.iter().map(|address| address.parse().expect("an address")).collect())
    });
    let egress = Egress::builder().resolver(lookup).build();
    for (host, network, foreseen) in [
        ("127.0.0.1", "127.0.0.0/8", Some("127.0.0.0/8")),
        ("192.168.1.20", "192.168.0.0/16", Some("192.168.0.0/16")),
        ("172.16.5.4", "172.16.0.0/12", Some("172.16.0.0/12")),
        ("0.0.0.0", "0.0.0.0/32", Some("0.0.0.0/32")),
        ("[::1]", "::1/128", Some("::1/128")),
        ("localhost", "127.0.0.0/8", Some("127.0.0.0/8")),
        ("mixed.test", "fc00::/7", None),
        ("files.test", "192.168.0.0/16", None),
        ("db.internal", "192.168.0.0/16", Some("10.0.0.0/8")),
    ] {
        let target = format!("http://{host}/");
        let hint = |network: &str| format!(" such as HAFT_ALLOW_PRIVATE_NETWORKS={network}");
        let words = error(get(&egress, &target).await).message().to_string();
        assert!(words.ends_with(&hint(network)), "{host}: {words}");
        let warned = egress.preflight_refusal(&url(&target)).map(|message| message.to_string());
        assert_eq!(warned.is_some(), foreseen.is_some(), "{host}: {warned:?}");
        if let (Some(words), Some(network)) = (warned, foreseen) {
            assert!(words.ends_with(&hint(network)), "{host}: {words}");
        }
    }
}

#[tokio::test]
async fn loopback_is_rejected_in_every_spelling() {
    let server = server().await;
    let lookup = Lookup::always(&["127.0.0.1"]);
    let egress = Egress::builder().resolver(lookup.clone()).build();
    for host in [
        "127.0.0.1",
        "127.0.0.1.",
        "127.1",
        "127.0.1",
        "2130706433",
        "017700000001",
        "0x7f000001",
        "0X7F000001",
        "0x7f.1",
        "0x7f.0x0.0x0.0x1",
        "0177.0.0.1",
        "0177.0.0.01",
        "１２７.0.0.1",
        "１２７．０．０．１",
        "127。0。0。1",
        "①②⑦.⓪.⓪.①",
        "%31%32%37.0.0.1",
        "127.0.0.\u{ad}1",
    ] {
        let target = url(&format!("http://{host}/"));
        assert_eq!(target.host_str(), Some("127.0.0.1"), "{host} is a spelling of loopback");
        assert_refused(&egress, host, server.address.port()).await;
    }
    assert_eq!(lookup.count(), 0, "an address is not looked up");
    get(&open_loopback(), &server.url("/")).await.expect("the server works");
    assert_eq!(server.connections(), 1, "only the last one came through");
}

#[tokio::test]
async fn non_global_addresses_are_rejected() {
    let trap = Trap::listen("127.0.0.1", 0);
    let lookup = Lookup::always(&["127.0.0.1"]);
    let egress = Egress::builder().resolver(lookup.clone()).build();
    for host in [
        "0",
        "0.0.0.0",
        "0x0",
        "10.0.0.1",
        "10.1",
        "012.0.0.1",
        "100.64.0.1",
        "100.100.100.200",
        "169.254.169.254",
        "169.254.169.254.",
        "2852039166",
        "0xa9fea9fe",
        "172.16.0.1",
        "192.0.0.192",
        "192.0.2.1",
        "192.168.1.1",
        "192.168.257",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "[::]",
        "[::1]",
        "[0:0:0:0:0:0:0:1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::FFFF:7F00:0001]",
        "[::127.0.0.1]",
        "[::ffff:0:127.0.0.1]",
        "[::ffff:169.254.169.254]",
        "[64:ff9b::7f00:1]",
        "[64:ff9b::127.0.0.1]",
        "[64:ff9b:1::a00:1]",
        "[64:ff9b:1:ffff::8.8.8.8]",
        "[2002:7f00:1::]",
        "[2002:a9fe:a9fe::1]",
        // Teredo: a client of 127.0.0.1, and a server of 10.0.0.1.
        "[2001:0:4136:e378:8000:63bf:80ff:fffe]",
        "[2001:0:a00:1:8000:63bf:f7f7:f7f7]",
        // ISATAP of 10.0.0.1.
        "[2001:470::5efe:a00:1]",
        "[fe80::1]",
        "[fc00::1]",
        "[fd00:ec2::254]",
        "[fec0::1]",
        "[ff02::1]",
        "[100::1]",
        "[2001:db8::1]",
        "[3fff::1]",
        "[4000::1]",
    ] {
        assert_refused(&egress, host, trap.port()).await;
    }
    assert_eq!(lookup.count(), 0, "an address is not looked up");
    assert!(!trap.was_called());
}

#[tokio::test]
async fn internal_names_are_rejected_whatever_they_resolve_to() {
    let trap = Trap::listen("127.0.0.1", 0);
    for resolved in ["127.0.0.1", "8.8.8.8"] {
        let egress = Egress::builder().resolver(Lookup::always(&[resolved])).build();
        for host in [
            "localhost",
            "LOCALHOST",
            "localhost.",
            "LOCALHOST.",
            "ｌｏｃａｌｈｏｓｔ",
            "foo.localhost",
            "a.b.localhost.",
            "localhost.localdomain",
            "ip6-localhost",
            "ip6-loopback",
            "metadata",
            "metadata.goog",
            "metadata.google.internal",
            "METADATA.google.internal.",
            "metadata.azure.internal",
            "instance-data",
            "host.docker.internal",
        ] {
            assert_refused(&egress, host, trap.port()).await;
        }
    }
    assert!(!trap.was_called());
}

#[tokio::test]
async fn a_name_is_judged_by_the_address_it_resolves_to() {
    let trap = Trap::listen("127.0.0.1", 0);
    for resolved in ["127.0.0.1", "10.0.0.1", "0.0.0.0", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1"] {
        let egress = Egress::builder().resolver(Lookup::always(&[resolved])).build();
        for host in ["inner.test", "inner.test.", "INNER.test"] {
            assert_refused(&egress, host, trap.port()).await;
        }
    }
    assert!(!trap.was_called());
}

#[tokio::test]
async fn an_opened_network_is_reached_by_address_and_by_name_on_any_port() {
    let server = server().await;
    let port = server.address.port();
    let lookup = Lookup::by(|name, _| {
        let is_local = name.trim_end_matches('.').ends_with("localhost");
        let found: &[&str] = if is_local { &["::1", "127.0.0.1"] } else { &["127.0.0.1"] };
        Ok(found.iter().map(|address| address.parse().expect("an address")).collect())
    });
    let egress = Egress::builder().open(networks("10.0.0.0/8, 127.0.0.0/8")).resolver(lookup.clone()).build();
    let elsewhere = Egress::builder().open(networks("10.0.0.0/8")).resolver(lookup).build();
    for host in ["127.0.0.1", "0x7f.1", "localhost", "LOCALHOST.", "foo.localhost", "inner.test"] {
        let (own, target) = (format!("http://{host}/"), format!("http://{host}:{port}/"));
        let answer = get_as(&egress, &own, &[], &target).await.expect(host);
        assert_eq!(answer.body, "reached", "{host}");
        let shown = url(&target).host_str().expect("a host").to_owned();
        assert_eq!(failed(get_as(&elsewhere, &own, &[], &target).await), private(&shown), "{host}");
        assert_eq!(failed(get(&elsewhere, &target).await), private(&shown), "{host}, with its own port");
    }
}

#[tokio::test]
async fn an_opened_network_opens_no_other_port_elsewhere() {
    let egress =
        Egress::builder().open(networks("127.0.0.0/8")).resolver(Lookup::always(&["8.8.8.8"])).build();
    for target in ["http://public.test:22/", "http://8.8.8.8:22/", "http://public.test:6379/"] {
        let refused = error(send_plain(&egress, target).await);
        assert_eq!(refused.kind(), ErrorKind::Permission, "{target}");
        assert!(refused.did_nothing(), "{target}");
    }
}

/// Sends a request of a tool whose own URL has the same host and no port.
async fn send_plain(egress: &Egress, target: &str) -> Outcome {
    let mut own = url(target);
    own.set_port(None).expect("a host");
    get_as(egress, own.as_str(), &[], target).await
}

#[tokio::test]
async fn the_own_listener_is_never_called_by_a_tool() {
    let (own, neighbour) = (server().await, server().await);
    // The listening address, a host, and whether the host is the listener.
    let cases = [
        ("127.0.0.1", "127.0.0.1", true),
        ("127.0.0.1", "2130706433", true),
        ("127.0.0.1", "localhost", true),
        ("127.0.0.1", "inner.test", true),
        ("127.0.0.1", "[::ffff:127.0.0.1]", true),
        ("127.0.0.1", "127.0.0.2", false),
        ("::ffff:127.0.0.1", "127.0.0.1", true),
        ("0.0.0.0", "127.0.0.1", true),
        ("0.0.0.0", "127.0.0.2", true),
        ("0.0.0.0", "localhost", true),
        ("0.0.0.0", "inner.test", true),
        ("::", "127.0.0.1", true),
        ("::", "inner.test", true),
        ("192.168.77.1", "127.0.0.1", false),
    ];
    for (listens, host, is_own) in cases {
        let egress = open_loopback();
        let address: IpAddr = listens.parse().expect("an address");
        egress.never_dial(SocketAddr::new(address, own.address.port()));
        let outcome = get(&egress, &format!("http://{host}:{}/", own.address.port())).await;
        let message = outcome.err().map(|error| (error.kind(), error.message().to_string()));
        let shown = url(&format!("http://{host}/")).host_str().expect("a host").to_owned();
        let refusal = (ErrorKind::Permission, format!("Address not allowed: {shown} is this server itself"));
        assert_eq!(message == Some(refusal), is_own, "{host} with a listener at {listens}: {message:?}");
        let beside = get(&egress, &neighbour.url("/")).await.expect("the port beside it is not ours");
        assert_eq!(beside.body, "reached", "beside {listens}");
    }
    // The only case with a listener at the requested address that is not this server.
    assert_eq!(own.connections(), 1);
}

#[tokio::test]
async fn an_unspecified_address_is_this_machine() {
    let own = server().await;
    let egress = Egress::builder().open(networks("0.0.0.0/0, ::/0")).build();
    egress.never_dial(own.address);
    for host in ["0", "0.0.0.0", "[::]"] {
        let (kind, words) = failed(get(&egress, &format!("http://{host}:{}/", own.address.port())).await);
        assert_eq!(kind, ErrorKind::Permission, "{host}");
        assert!(words.ends_with(" is this server itself"), "{host}: {words}");
    }
    assert_eq!(own.connections(), 0);
}

#[tokio::test]
async fn only_http_and_https_are_spoken() {
    let egress = open_loopback();
    for (target, scheme) in [
        ("file:///etc/passwd", "file"),
        ("ftp://127.0.0.1/", "ftp"),
        ("gopher://127.0.0.1:70/_x", "gopher"),
        ("data:text/plain,x", "data"),
        ("ws://127.0.0.1/", "ws"),
        ("unix:/run/docker.sock", "unix"),
        ("javascript:alert(1)", "javascript"),
    ] {
        let expected = (ErrorKind::Permission, format!("Scheme not allowed: {scheme}. Allowed: http, https"));
        assert_eq!(failed(get(&egress, target).await), expected, "{target}");
    }
}

#[tokio::test]
async fn a_url_with_credentials_is_rejected_without_quoting_them() {
    let server = server().await;
    let egress = open_loopback();
    let message = "A URL with a user name or password is not allowed; use auth instead (host 127.0.0.1)";
    for userinfo in ["ada", "ada:s3cret", ":s3cret", "127.0.0.1:80%40evil.test"] {
        let target = format!("http://{userinfo}@{}/", server.address);
        let expected = (ErrorKind::Permission, message.to_owned());
        assert_eq!(failed(get(&egress, &target).await), expected, "{userinfo}");
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn only_the_usual_ports_the_tools_own_and_listed_ones_are_called() {
    // Every name resolves to a private address, so a request that passes the port check is rejected for its
    // address.
    let egress = Egress::builder().resolver(Lookup::always(&["10.0.0.1"])).build();
    let cases: &[(&str, &[&str], &str, bool)] = &[
        ("http://a.test/", &[], "http://a.test/", true),
        ("http://a.test/", &[], "https://a.test/", true),
        ("http://a.test/", &[], "http://a.test:443/", true),
        ("http://a.test/", &[], "https://a.test:80/", true),
        ("http://a.test:8080/", &[], "http://a.test:8080/x", true),
        ("http://a.test:8080/", &[], "https://a.test:8080/", true),
        ("http://a.test:8080/", &[], "http://a.test/", true),
        ("http://a.test/", &["a.test:8443"], "http://a.test:8443/", true),
        ("http://a.test/", &["*.b.test:8443"], "http://x.b.test:8443/", true),
        ("http://a.test/", &["*:9000"], "http://z.test:9000/", true),
        ("http://a.test:8080/", &["b.test", "a.test"], "http://a.test:8080/", true),
        ("http://a.test/", &[], "http://a.test:22/", false),
        ("http://a.test/", &[], "http://a.test:6379/", false),
        ("http://a.test/", &[], "http://a.test:8080/", false),
        ("http://a.test:8080/", &[], "http://a.test:8081/", false),
        ("http://a.test:8080/", &["a.test", "b.test"], "http://b.test:8080/", false),
        ("http://a.test/", &["a.test:8443", "b.test"], "http://b.test:8443/", false),
        ("http://a.test/", &["*.b.test:8443", "b.test"], "http://b.test:8443/", false),
    ];
    for (own, allowed, target, is_allowed) in cases {
        let case = format!("{target} for a tool at {own} with {allowed:?}");
        let refused = error(get_as(&egress, own, allowed, target).await);
        assert_eq!(refused.kind(), ErrorKind::Permission, "{case}");
        assert!(refused.did_nothing(), "{case}");
        let target = url(target);
        let host = target.host_str().expect("a host");
        let expected = if *is_allowed {
            private(host).1
        } else {
            let port = target.port().expect("a port");
            format!(
                "Port not allowed: {port} of {host}. Allowed: 80, 443, the port in the tool's own URL, \
                 or one listed with its host in allowedDomains"
            )
        };
        assert_eq!(described(&refused).1, expected, "{case}");
    }
}

#[tokio::test]
async fn the_operator_may_use_any_address_and_port() {
    let server = server().await;
    let unresolved = Lookup::by(|_, _| Err(io::Error::other("must not be resolved")));
    let egress = Egress::builder().resolver(unresolved).build();
    egress.never_dial(server.address);
    let request = Request::new(Method::GET, &url(&server.url("/"))).expect("a request");
    let by_tool = send(&egress, &[], request.clone()).await;
    assert_eq!(failed(by_tool), private("127.0.0.1"));
    let by_operator = egress.send(RequestPolicy::Operator, request, limits()).await.expect("an answer");
    assert_eq!(by_operator.body, "reached");
}
