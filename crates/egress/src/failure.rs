//! Errors of requests and responses, as callers see them.
//!
//! No message contains a path, query, header or body: only hosts and ports.

use std::error::Error as StdError;
use std::net::IpAddr;

use haft_core::{CallError, ErrorKind, Message};
use url::Url;

use crate::address::usual_network;
use crate::connect::ConnectError;
use crate::destination::Destination;
use crate::hosts::Hosts;

haft_core::templates! {
    BAD_SCHEME = "egress.scheme",
        "Scheme not allowed: {scheme}. Allowed: http, https",
        "不允许的协议: {scheme}。允许：http, https";
    BAD_URL = "egress.url",
        "The URL is too long or not valid (host {host})",
        "URL 过长或无效（主机 {host}）";
    USERINFO = "egress.userinfo",
        "A URL with a user name or password is not allowed; use auth instead (host {host})",
        "URL 中不允许包含用户名或密码；请改用 auth（主机 {host}）";
    BAD_PORT = "egress.port",
        "Port not allowed: {port} of {host}. Allowed: 80, 443, the port in the tool's own URL, or one listed with its host in allowedDomains",
        "不允许的端口: {host} 的 {port}。允许：80、443、工具自身 URL 中的端口，或 allowedDomains 中随主机列出的端口";
    BAD_DOMAIN = "egress.domain",
        "Domain not allowed: {host}. Allowed: {list}",
        "不允许访问的域名：{host}。允许：{list}";
    BAD_ADDRESS = "egress.address",
        "Address not allowed: {host} resolves to a private address. To allow it, start Haft with HAFT_ALLOW_PRIVATE_NETWORKS, such as HAFT_ALLOW_PRIVATE_NETWORKS={network}",
        "不允许的地址: {host} 解析到私有地址。如需允许，请在启动 Haft 时设置 HAFT_ALLOW_PRIVATE_NETWORKS，例如 HAFT_ALLOW_PRIVATE_NETWORKS={network}";
    OWN_ADDRESS = "egress.own",
        "Address not allowed: {host} is this server itself",
        "不允许的地址: {host} 是本服务自身";
    OUTSIDE = "egress.outside",
        "Not allowed: the request would leave {base}",
        "不允许：请求将离开 {base}";
    UNRESOLVED = "egress.unresolved",
        "{host} cannot be found: check the name",
        "找不到主机 {host}：请检查域名";
    UNREACHABLE = "egress.unreachable",
        "{host} cannot be reached",
        "无法连接到 {host}";
    BROKEN = "egress.broken",
        "The connection to {host} broke before the response was complete",
        "与 {host} 的连接在收到完整应答前中断";
    TOO_SLOW = "egress.tooSlow",
        "{host} did not respond in time",
        "{host} 未能及时应答";
    TOO_LARGE = "egress.tooLarge",
        "Response too large: limit {limit} bytes",
        "响应过大：上限为 {limit} 字节";
    HEADERS_TOO_LARGE = "egress.headersTooLarge",
        "Response headers too large or too many: limit {bytes} bytes and {count} headers",
        "应答头过大或过多: 最多 {bytes} 字节、{count} 个";
    UNKNOWN_CODING = "egress.unknownCoding",
        "The response is encoded as {coding}, which is not supported; gzip, deflate, br and zstd are",
        "应答的编码 {coding} 无法读取；支持 gzip、deflate、br 和 zstd";
    TOO_MANY_CODINGS = "egress.tooManyCodings",
        "The response has more than {limit} nested encodings, which is not supported",
        "应答被编码了超过 {limit} 层，无法读取";
    UNDECODABLE = "egress.undecodable",
        "The response cannot be decoded: its compressed data is corrupt",
        "应答无法解码：压缩数据已损坏";
}

/// Approximate maximum size of a response head in bytes, and the maximum number of headers that hyper parses.
pub(crate) const HEAD_BYTES: usize = 64 << 10;
pub(crate) const HEADERS: usize = 100;

fn refused(message: Message) -> CallError {
    CallError::new(ErrorKind::Permission, message).that_did_nothing()
}

/// Returns the host of a URL in readable form.
fn host(url: &Url) -> &str {
    url.host_str().unwrap_or_default()
}

pub(crate) fn scheme(url: &Url) -> CallError {
    refused(Message::new(&BAD_SCHEME).with("scheme", url.scheme()))
}

pub(crate) fn url(url: &Url) -> CallError {
    CallError::new(ErrorKind::Validation, Message::new(&BAD_URL).with("host", host(url)))
}

pub(crate) fn userinfo(url: &Url) -> CallError {
    refused(Message::new(&USERINFO).with("host", host(url)))
}

pub(crate) fn port(to: &Destination) -> CallError {
    refused(Message::new(&BAD_PORT).with("port", to.port()).with("host", to.host_str()))
}

pub(crate) fn domain(to: &Destination, allowed: &Hosts) -> CallError {
    refused(Message::new(&BAD_DOMAIN).with("host", to.host_str()).with("list", allowed))
}

pub(crate) fn outside(base: &Url) -> CallError {
    refused(Message::new(&OUTSIDE).with("base", base))
}

/// Returns the reason for which a host in a private network is rejected.
pub(crate) fn private(url: &Url, address: IpAddr) -> Message {
    private_address(host(url), address)
}

fn private_address(host: &str, address: IpAddr) -> Message {
    Message::new(&BAD_ADDRESS).with("host", host).with("network", usual_network(address))
}

pub(crate) fn too_slow(to: &Destination) -> CallError {
    CallError::new(ErrorKind::Timeout, Message::new(&TOO_SLOW).with("host", to.host_str()))
}

pub(crate) fn too_many_codings(limit: usize) -> CallError {
    CallError::new(ErrorKind::Execution, Message::new(&TOO_MANY_CODINGS).with("limit", limit))
}

pub(crate) fn too_large(limit: usize) -> CallError {
    CallError::new(ErrorKind::ResponseTooLarge, Message::new(&TOO_LARGE).with("limit", limit))
}

pub(crate) fn unknown_coding(coding: &str) -> CallError {
    // Not truncated: the first half of a secret is secret too, and masks could not find it.
    let shown = if coding.len() <= 64 { coding } else { "…" };
    CallError::new(ErrorKind::Execution, Message::new(&UNKNOWN_CODING).with("coding", shown))
}

pub(crate) fn undecodable(error: &std::io::Error) -> CallError {
    CallError::new(ErrorKind::Network, Message::new(&UNDECODABLE)).caused_by(error.to_string())
}

/// Maps an error before the response began.
pub(crate) fn of_request(to: &Destination, error: &hyper_util::client::legacy::Error) -> CallError {
    if let Some(connect) = find::<ConnectError>(error) {
        return of_connect(to, connect);
    }
    if let Some(error) = find::<hyper::Error>(error).filter(|_| !error.is_connect()) {
        return of_transfer(to, error);
    }
    let message = if error.is_connect() { &UNREACHABLE } else { &BROKEN };
    let failed = CallError::new(ErrorKind::Network, Message::new(message).with("host", to.host_str()));
    let failed = failed.caused_by(deepest(error));
    if error.is_connect() { failed.that_did_nothing().that_could_not_connect() } else { failed }
}

/// Maps an error while the request or response was transferred.
pub(crate) fn of_transfer(to: &Destination, error: &hyper::Error) -> CallError {
    if error.is_parse_too_large() {
        let message = Message::new(&HEADERS_TOO_LARGE).with("bytes", HEAD_BYTES).with("count", HEADERS);
        return CallError::new(ErrorKind::ResponseTooLarge, message);
    }
    let broken = CallError::new(ErrorKind::Network, Message::new(&BROKEN).with("host", to.host_str()));
    broken.caused_by(deepest(error))
}

fn of_connect(to: &Destination, error: &ConnectError) -> CallError {
    let host = to.host_str();
    let (kind, template) = match error {
        ConnectError::Private(_, address) => return refused(private_address(host, *address)),
        ConnectError::Port(_) => return port(to),
        ConnectError::Own(_) => (ErrorKind::Permission, &OWN_ADDRESS),
        ConnectError::Unresolved(..) => (ErrorKind::Network, &UNRESOLVED),
        ConnectError::Failed(_) | ConnectError::TooSlow => (ErrorKind::Network, &UNREACHABLE),
    };
    let failed = CallError::new(kind, Message::new(template).with("host", host)).that_did_nothing();
    match error {
        ConnectError::Private(..) | ConnectError::Port(_) | ConnectError::Own(_) => failed,
        ConnectError::Unresolved(_, reason) => failed.caused_by(reason.to_string()).that_could_not_connect(),
        ConnectError::Failed(_) | ConnectError::TooSlow => {
            failed.caused_by(error.to_string()).that_could_not_connect()
        }
    }
}

fn find<'a, E: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<E>() {
            return Some(found);
        }
        next = error.source();
    }
    None
}

/// Returns the root cause of an error; the layers above only repeat where it was noticed.
fn deepest(error: &dyn StdError) -> String {
    let mut deepest = error;
    while let Some(inner) = deepest.source() {
        deepest = inner;
    }
    deepest.to_string()
}
