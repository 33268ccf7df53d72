//! The options of curl: whether they take a value, and whether a tool can support them.

/// How the importer handles an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OptionKind {
    /// Part of the request, with a value.
    Value,
    /// Part of the request, without a value.
    Flag,
    /// Without effect on a tool, such as output options.
    Ignored,
    IgnoredValue,
    /// Ignored with a note: it concerns the connection, which a tool cannot configure.
    Noted,
    NotedValue,
    /// Not supported by tools.
    Refused,
    RefusedValue,
}

/// Looks up an option by its long name.
pub(super) fn option_kind(option: &str) -> Option<OptionKind> {
    let lists = [
        (VALUES, OptionKind::Value),
        (FLAGS, OptionKind::Flag),
        (IGNORED, OptionKind::Ignored),
        (IGNORED_VALUES, OptionKind::IgnoredValue),
        (NOTED, OptionKind::Noted),
        (NOTED_VALUES, OptionKind::NotedValue),
        (REFUSED, OptionKind::Refused),
        (REFUSED_VALUES, OptionKind::RefusedValue),
    ];
    let positive = option.strip_prefix("no-").filter(|name| IGNORED.contains(name) || NOTED.contains(name));
    let found = lists.iter().find(|(names, _)| names.contains(&option)).map(|(_, known)| *known);
    found.or(positive.map(|_| OptionKind::Ignored))
}

/// The long name of a short option.
pub(super) fn long(short: char) -> Option<&'static str> {
    SHORT.iter().find(|(letter, _)| *letter == short).map(|(_, long)| *long)
}

const SHORT: &[(char, &str)] = &[
    ('#', "progress-bar"),
    ('0', "http1.0"),
    ('1', "tlsv1"),
    ('2', "sslv2"),
    ('3', "sslv3"),
    ('4', "ipv4"),
    ('6', "ipv6"),
    (':', "next"),
    ('A', "user-agent"),
    ('C', "continue-at"),
    ('D', "dump-header"),
    ('E', "cert"),
    ('F', "form"),
    ('G', "get"),
    ('H', "header"),
    ('I', "head"),
    ('J', "remote-header-name"),
    ('K', "config"),
    ('L', "location"),
    ('N', "no-buffer"),
    ('O', "remote-name"),
    ('R', "remote-time"),
    ('S', "show-error"),
    ('T', "upload-file"),
    ('U', "proxy-user"),
    ('X', "request"),
    ('Y', "speed-limit"),
    ('Z', "parallel"),
    ('a', "append"),
    ('b', "cookie"),
    ('c', "cookie-jar"),
    ('d', "data"),
    ('e', "referer"),
    ('f', "fail"),
    ('g', "globoff"),
    ('i', "include"),
    ('j', "junk-session-cookies"),
    ('k', "insecure"),
    ('m', "max-time"),
    ('n', "netrc"),
    ('o', "output"),
    ('q', "disable"),
    ('r', "range"),
    ('s', "silent"),
    ('u', "user"),
    ('v', "verbose"),
    ('w', "write-out"),
    ('x', "proxy"),
    ('y', "speed-time"),
];

const VALUES: &[&str] = &[
    "cookie",
    "data",
    "data-ascii",
    "data-binary",
    "data-raw",
    "data-urlencode",
    "form",
    "form-string",
    "header",
    "json",
    "max-time",
    "oauth2-bearer",
    "range",
    "referer",
    "request",
    "retry",
    "url",
    "upload-file",
    "url-query",
    "user",
    "user-agent",
];

const FLAGS: &[&str] = &["get", "globoff", "head"];

const IGNORED: &[&str] = &[
    "anyauth",
    "basic",
    "compressed",
    "create-dirs",
    "disable",
    "fail",
    "fail-early",
    "fail-with-body",
    "form-escape",
    "http0.9",
    "http1.0",
    "http1.1",
    "http2",
    "http2-prior-knowledge",
    "http3",
    "include",
    "ipv4",
    "ipv6",
    "junk-session-cookies",
    "keepalive",
    "location",
    "location-trusted",
    "no-buffer",
    "no-progress-meter",
    "parallel",
    "path-as-is",
    "post301",
    "post302",
    "post303",
    "progress-bar",
    "progress-meter",
    "remote-header-name",
    "remote-name",
    "remote-time",
    "retry-all-errors",
    "retry-connrefused",
    "show-error",
    "show-headers",
    "silent",
    "ssl-no-revoke",
    "styled-output",
    "tcp-nodelay",
    "tlsv1",
    "tlsv1.2",
    "tlsv1.3",
    "verbose",
];

const IGNORED_VALUES: &[&str] = &[
    "ciphers",
    "connect-timeout",
    "cookie-jar",
    "dns-servers",
    "dump-header",
    "expect100-timeout",
    "keepalive-time",
    "limit-rate",
    "max-filesize",
    "max-redirs",
    "noproxy",
    "output",
    "output-dir",
    "proto",
    "proto-default",
    "proto-redir",
    "retry-delay",
    "retry-max-time",
    "speed-limit",
    "speed-time",
    "stderr",
    "tls-max",
    "trace",
    "trace-ascii",
    "write-out",
];

const NOTED: &[&str] = &["insecure"];

const NOTED_VALUES: &[&str] = &["cacert", "capath", "continue-at", "interface", "proxy", "proxy-user"];

const REFUSED: &[&str] = &["append", "digest", "negotiate", "netrc", "next", "ntlm", "sslv2", "sslv3"];

const REFUSED_VALUES: &[&str] = &[
    "abstract-unix-socket",
    "aws-sigv4",
    "cert",
    "config",
    "connect-to",
    "key",
    "request-target",
    "resolve",
    "unix-socket",
];
