"""The address of a caller: trusted proxies, what callers forge, what is malformed."""

from __future__ import annotations

import ipaddress

import pytest

from keystead.server.bounds import PROXIES_MAX
from keystead.server.http.caller_address import CallerAddresses
from keystead.server.http.messages import Header
from keystead.server.settings.settings import ForwardedHeader

TRUSTED = tuple(map(ipaddress.ip_network, ("10.0.0.0/8", "2001:db8:ffff::/48")))
PROXY = "10.0.0.1"
UNKNOWN = None

FORWARDED_FOR: dict[str, tuple[list[str], str | None]] = {
    "one caller": (["192.0.2.7"], "192.0.2.7"),
    "what the caller forged stands to the left": (["198.51.100.1, 192.0.2.7"], "192.0.2.7"),
    "a forged trusted proxy": (["10.9.9.9, 192.0.2.7"], "192.0.2.7"),
    "forged nonsense": (['";,=[, 192.0.2.7'], "192.0.2.7"),
    "two trusted proxies": (["192.0.2.7, 10.0.0.2"], "192.0.2.7"),
    "two headers are one list": (["198.51.100.1", "192.0.2.7, 10.0.0.2"], "192.0.2.7"),
    "a caller that is itself in the trusted networks": (["10.3.3.3, 10.0.0.2"], "10.3.3.3"),
    "with a port": (["192.0.2.7:4711"], "192.0.2.7"),
    "IPv6": (["2001:db8::7"], "2001:db8::7"),
    "IPv6 in another spelling": (["2001:DB8:0:0::0007"], "2001:db8::7"),
    "IPv6 with a port": (["[2001:db8::7]:4711"], "2001:db8::7"),
    "a trusted proxy with IPv6": (["192.0.2.7, 2001:db8:ffff::1"], "192.0.2.7"),
    "IPv4 written as IPv6": (["::ffff:192.0.2.7"], "192.0.2.7"),
    "a trusted proxy written as IPv6": (["192.0.2.7, ::ffff:10.0.0.2"], "192.0.2.7"),
    "white space": (["  192.0.2.7\t"], "192.0.2.7"),
    "no header": ([], UNKNOWN),
    "an empty header": ([""], UNKNOWN),
    "an empty entry": (["192.0.2.7, "], UNKNOWN),
    "unknown": (["192.0.2.7, unknown"], UNKNOWN),
    "a name": (["localhost"], UNKNOWN),
    "a number": (["3221225991"], UNKNOWN),
    "octal": (["0300.0.2.7"], UNKNOWN),
    "a network": (["192.0.2.0/24"], UNKNOWN),
    "with a scope": (["fe80::1%eth0"], UNKNOWN),
    "a port that is not a number": (["192.0.2.7:http"], UNKNOWN),
    "digits of another script": (["١٩٢.0.2.7"], UNKNOWN),
    "malformed before a trusted proxy": (["x, 10.0.0.2"], UNKNOWN),
    "too many trusted proxies": ([", ".join(["192.0.2.7"] + ["10.0.0.2"] * (PROXIES_MAX + 1))], UNKNOWN),
    "as many as may be": ([", ".join(["192.0.2.7"] + ["10.0.0.2"] * (PROXIES_MAX - 1))], "192.0.2.7"),
}

FORWARDED: dict[str, tuple[list[str], str | None]] = {
    "one caller": (["for=192.0.2.7"], "192.0.2.7"),
    "all parameters": (["For=192.0.2.7;proto=https;by=10.0.0.1;host=wallets.example"], "192.0.2.7"),
    "forged to the left": (["for=198.51.100.1, for=192.0.2.7"], "192.0.2.7"),
    "IPv6 is quoted": (['for="[2001:db8::7]:4711"'], "2001:db8::7"),
    "two trusted proxies": (["for=192.0.2.7,for=10.0.0.2;proto=http"], "192.0.2.7"),
    "a comma between quotes": (['for=192.0.2.7;host="a, for=198.51.100.1"'], "192.0.2.7"),
    "two headers": (["for=198.51.100.1", "for=192.0.2.7"], "192.0.2.7"),
    "no header": ([], UNKNOWN),
    "no for": (["proto=https"], UNKNOWN),
    "the last element has no for": (["for=192.0.2.7, proto=https"], UNKNOWN),
    "for twice": (["for=198.51.100.1;for=192.0.2.7"], UNKNOWN),
    "hidden": (["for=_hidden"], UNKNOWN),
    "unknown": (["for=unknown"], UNKNOWN),
    "an open quote of the caller's": (['for="198.51.100.1, for=192.0.2.7'], UNKNOWN),
    "a quote that a proxy did not escape": (['for=192.0.2.7;host="a,for=198.51.100.1;host=""'], UNKNOWN),
    "a comma at the end": (["for=192.0.2.7,"], UNKNOWN),
    "the form of the other header": (["192.0.2.7"], UNKNOWN),
}

CASES: list[tuple[str, ForwardedHeader, list[str], str | None]] = [
    *((f"x-forwarded-for: {name}", "x-forwarded-for", *case) for name, case in FORWARDED_FOR.items()),
    *((f"forwarded: {name}", "forwarded", *case) for name, case in FORWARDED.items()),
]


@pytest.mark.parametrize(("name", "header", "values", "expected"), CASES, ids=[name for name, *_ in CASES])
def test_of_a_trusted_proxy(name: str, header: ForwardedHeader, values: list[str], expected: str | None) -> None:
    addresses = CallerAddresses(trusted=TRUSTED, header=header)
    peer = addresses.of_peer(PROXY)
    assert addresses.is_trusted(peer)
    client = addresses.forwarded(peer, headers(header, *values))
    assert (client.address and str(client.address)) == expected
    assert client.text == (expected or PROXY), "the log names the proxy where the caller is not known"


def headers(name: str, *values: str) -> list[Header]:
    return [(b"host", b"localhost"), *((name.encode(), value.encode()) for value in values)]


@pytest.mark.parametrize("header", ["x-forwarded-for", "forwarded"])
def test_the_other_header_is_not_read(header: ForwardedHeader) -> None:
    addresses = CallerAddresses(trusted=TRUSTED, header=header)
    both = {"x-forwarded-for": "192.0.2.7", "forwarded": "for=192.0.2.7"}
    (other,) = both.keys() - {header}
    assert addresses.forwarded(addresses.of_peer(PROXY), headers(other, both[other])).address is None


PEERS: dict[str, tuple[str, bool]] = {
    "a proxy": ("10.0.0.1", True),
    "a proxy over a socket of both families": ("::ffff:10.0.0.1", True),
    "a proxy with IPv6": ("2001:db8:ffff::1", True),
    "anybody": ("192.0.2.1", False),
    "a neighbour": ("11.0.0.1", False),
    "no address": ("", False),
}


@pytest.mark.parametrize(("peer", "trusted"), PEERS.values(), ids=PEERS)
def test_which_peers_are_believed(peer: str, trusted: bool) -> None:
    addresses = CallerAddresses(trusted=TRUSTED)
    assert addresses.is_trusted(addresses.of_peer(peer)) is trusted


def test_nobody_is_believed_by_default() -> None:
    addresses = CallerAddresses()
    assert not addresses.is_trusted(addresses.of_peer("127.0.0.1"))


LIMIT_KEYS: dict[str, str] = {
    "192.0.2.1": "192.0.2.1",
    "10.1.2.3": "",
    "127.0.0.1": "",
    "::ffff:192.0.2.1": "192.0.2.1",
    "::ffff:127.0.0.1": "",
    "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64",
    "2001:db8:1:2:ffff::1": "2001:db8:1:2::/64",
    "fe80::1%eth0": "fe80::/64",
    "": "",
}


@pytest.mark.parametrize(("address", "key"), LIMIT_KEYS.items())
def test_what_limits_of_connections_count_by(address: str, key: str) -> None:
    shared = (ipaddress.ip_network("127.0.0.0/8"),)
    assert CallerAddresses(trusted=TRUSTED, shared=shared).of_peer(address).limit_key == key


FORWARDED_KEYS: dict[str, str] = {
    "192.0.2.7": "192.0.2.7",
    "127.0.0.9": "127.0.0.9",  # a proxy's word on one caller, in a network that otherwise stands for many
    "2001:db8:1:2:3::": "2001:db8:1:2::/64",
    "10.3.3.3": "",
    "unknown": "",
}


@pytest.mark.parametrize(("address", "key"), FORWARDED_KEYS.items())
def test_what_limits_of_forwarded_requests_count_by(address: str, key: str) -> None:
    addresses = CallerAddresses(trusted=TRUSTED, shared=(ipaddress.ip_network("127.0.0.0/8"),))
    assert addresses.forwarded(addresses.of_peer(PROXY), headers("x-forwarded-for", address)).limit_key == key
