"""Which addresses webhooks may be sent to: URLs at registration, and addresses before a connection."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from keystead.api.errors import InvalidRequest
from keystead.organizations.webhooks.addresses import check_url, may_connect_to, read_networks

PUBLIC = ["1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "2a00:1450:4001:812::200e", "::ffff:1.1.1.1"]

NOT_PUBLIC = {
    "this network": "0.0.0.0",
    "loopback": "127.0.0.1",
    "loopback, far": "127.255.255.254",
    "private 10": "10.0.0.1",
    "private 172": "172.31.255.255",
    "private 192": "192.168.0.1",
    "link-local": "169.254.1.1",
    "metadata of clouds": "169.254.169.254",
    "carriers": "100.64.0.1",
    "documentation": "192.0.2.1",
    "benchmarks": "198.18.0.1",
    "multicast": "224.0.0.1",
    "multicast that counts as global": "239.1.1.1",
    "reserved": "240.0.0.1",
    "broadcast": "255.255.255.255",
    "IPv6 unspecified": "::",
    "IPv6 loopback": "::1",
    "IPv6 unique local": "fd00::1",
    "IPv6 metadata of clouds": "fd00:ec2::254",
    "IPv6 link-local": "fe80::1",
    "IPv6 link-local with a zone": "fe80::1%eth0",
    "IPv6 global with a zone": "2606:4700:4700::1111%eth0",
    "IPv6 site-local": "fec0::1",
    "IPv6 multicast": "ff02::1",
    "IPv6 documentation": "2001:db8::1",
    "IPv4 in IPv6": "::ffff:10.0.0.1",
    "IPv4 loopback in IPv6": "::ffff:127.0.0.1",
    "IPv4 metadata in IPv6": "::ffff:a9fe:a9fe",
    "IPv4-compatible": "::7f00:1",
    "NAT64": "64:ff9b::7f00:1",
    "local NAT64": "64:ff9b:1::7f00:1",
    "6to4": "2002:7f00:1::1",
    "Teredo": "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "discard": "100::1",
}


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_may_connect_to(address: str) -> None:
    assert may_connect_to(ip_address(address), ())


@pytest.mark.parametrize("address", NOT_PUBLIC.values(), ids=NOT_PUBLIC)
def test_other_addresses_may_not(address: str) -> None:
    assert not may_connect_to(ip_address(address), ())


@pytest.mark.parametrize(
    ("address", "allowed", "expected"),
    [
        ("10.1.2.3", "10.0.0.0/8", True),
        ("::ffff:10.1.2.3", "10.0.0.0/8", True),
        ("10.1.2.3", "10.2.0.0/16", False),
        ("10.1.2.3", "fd00::/8, 10.1.0.0/16", True),
        ("fd00::1", "fd00::/8", True),
        ("::1", "127.0.0.0/8", False),
        ("::ffff:127.0.0.1", "127.0.0.0/8", True),
    ],
)
def test_what_the_operator_allows(address: str, allowed: str, expected: bool) -> None:
    assert may_connect_to(ip_address(address), read_networks(allowed)) is expected


@pytest.mark.parametrize("text", ["10.0.0.1/8", "x", "10.0.0.0/33", "10.0.0.0/8;"])
def test_malformed_networks(text: str) -> None:
    with pytest.raises(ValueError):
        read_networks(text)


GOOD = [
    "https://example.com",
    "https://example.com/hooks?key=1&x=%20",
    "https://example.com:8443/x",
    "https://xn--bcher-kva.example/",
    "https://1.1.1.1/x",
    "https://[2606:4700:4700::1111]:1/",
    "HTTPS://EXAMPLE.COM/",
]


@pytest.mark.parametrize("url", GOOD)
def test_urls_that_may_be_registered(url: str) -> None:
    check_url(url, (), "parameters.url")


BAD = {
    "plain http": "http://example.com/",
    "no scheme": "example.com/x",
    "another scheme": "ftp://example.com/",
    "a file": "file:///etc/passwd",
    "no host": "https:///x",
    "no host, port": "https://:443/x",
    "empty": "",
    "a user": "https://user@example.com/",
    "a user and password": "https://user:secret@example.com/",
    "an empty user": "https://@example.com/",
    "a user that looks like the host": "https://example.com@10.0.0.1/",
    "a backslash": "https://example.com\\@10.0.0.1/",
    "white space": "https://example.com/a b",
    "a line break": "https://example.com/\r\nX-Header: 1",
    "a tab": "https://exa\tmple.com/",
    "not ASCII": "https://bücher.example/",
    "too long": "https://example.com/" + "x" * 2_048,
    "port 0": "https://example.com:0/",
    "port 65536": "https://example.com:65536/",
    "a port of letters": "https://example.com:https/",
    "a negative port": "https://example.com:-1/",
    "a broken IPv6 address": "https://[::1/",
    "localhost": "https://localhost/",
    "localhost with a port": "https://localhost:8443/",
    "below localhost": "https://api.localhost/",
    "localhost as a full name": "https://localhost./",
    **{f"an address: {name}": f"https://{host}/" for name, host in NOT_PUBLIC.items() if ":" not in host},
    **{
        f"an address: {name}": f"https://[{host}]/"
        for name, host in NOT_PUBLIC.items()
        if ":" in host and "%" not in host
    },
}


@pytest.mark.parametrize("url", BAD.values(), ids=BAD)
def test_urls_that_may_not(url: str) -> None:
    with pytest.raises(InvalidRequest, match=r"invalid webhook url: field `parameters\.url`"):
        check_url(url, (), "parameters.url")


LOOPBACK = read_networks("127.0.0.0/8, ::1/128")


@pytest.mark.parametrize(
    "url", ["http://localhost:3000/x", "http://127.0.0.1/", "http://[::1]:3000/", "https://localhost/"]
)
def test_loopback_where_it_is_allowed(url: str) -> None:
    check_url(url, LOOPBACK, "url")


@pytest.mark.parametrize("url", ["http://example.com/", "http://10.0.0.1/", "https://10.0.0.1/"])
def test_no_more_than_loopback(url: str) -> None:
    with pytest.raises(InvalidRequest):
        check_url(url, LOOPBACK, "url")


def test_a_private_network_does_not_allow_plain_http() -> None:
    private = read_networks("10.0.0.0/8")
    check_url("https://10.0.0.1/", private, "url")
    with pytest.raises(InvalidRequest, match="https"):
        check_url("http://10.0.0.1/", private, "url")
