"""The address of a request's caller: the other end of its connection, or what a trusted proxy says.

Pure. Here: X-Forwarded-For and Forwarded (RFC 7239), read from right to left, and the key of limits per address.
Not here: IP allow-lists (`organizations.ip_allowlists`), the limits.

The header is used only if a proxy in `trusted` sent it. Every proxy appends the address from which it got the
request. So the trusted proxy wrote the last entry, and the address in each entry wrote the entry to its left. The
caller is the last entry that is not a trusted proxy. A caller can write only entries to the left of its own, and
these are never read.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable

import msgspec

from keystead.primitives.ip_addresses import IpAddress, IpNetwork
from keystead.server.bounds import PROXIES_MAX
from keystead.server.http.messages import CallerAddress, Header
from keystead.server.settings.settings import ForwardedHeader

_NODE = re.compile(
    r"(?:\[(?P<in_brackets>[0-9A-Fa-f:.]+)\]|(?P<v4>[0-9]+(?:\.[0-9]+){3}))(?::[0-9]{1,5})?\Z"
    r"|(?P<v6>[0-9A-Fa-f:.]+)\Z"
)
_PLAIN_VALUE = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_QUOTED = r'"(?P<quoted>(?:[^"\\]|\\.)*)"'
_PAIR = re.compile(rf"\s*(?P<name>{_PLAIN_VALUE})=(?:(?P<word>{_PLAIN_VALUE})|{_QUOTED})\s*(?P<end>[;,]|\Z)")


class CallerAddresses(msgspec.Struct, frozen=True, kw_only=True):
    """How the callers of this server are told apart.

    `trusted`: networks of proxies whose `header` is used. `shared`: networks whose addresses stand for many
    callers each.
    """

    trusted: tuple[IpNetwork, ...] = ()
    header: ForwardedHeader = "x-forwarded-for"
    shared: tuple[IpNetwork, ...] = ()

    def of_peer(self, text: str) -> CallerAddress:
        """The other end of a connection. `text`: its address as the system gives it."""
        address = _address(text.partition("%")[0])
        key = "" if address is None or _is_in(address, self.shared + self.trusted) else _limit_key(address)
        return CallerAddress(text, address, key)

    def is_trusted(self, peer: CallerAddress) -> bool:
        return peer.address is not None and _is_in(peer.address, self.trusted)

    def forwarded(self, peer: CallerAddress, headers: Iterable[Header]) -> CallerAddress:
        """The caller of a request that this trusted peer forwards with these headers."""
        name = self.header.encode()
        texts = [value.decode("latin-1") for header, value in headers if header == name]
        entries = _forwarded_entries(texts) if self.header == "forwarded" else _x_forwarded_for_entries(texts)
        address = None
        for hops, entry in enumerate(entries):
            address = _node_address(entry)
            if address is None or hops == PROXIES_MAX:
                return CallerAddress(peer.text, None, "")
            if not _is_in(address, self.trusted):
                return CallerAddress(str(address), address, _limit_key(address))
        # Every entry is a trusted proxy, so the first one made the request. Without entries, nothing is known.
        return CallerAddress(peer.text if address is None else str(address), address, "")


def _x_forwarded_for_entries(texts: list[str]) -> Iterable[str]:
    """The entries of X-Forwarded-For, the last one first."""
    return reversed([entry.strip(" \t") for entry in ",".join(texts).split(",")]) if texts else ()


def _forwarded_entries(texts: list[str]) -> Iterable[str]:
    """The value of `for` in each element of Forwarded, the last element first. An element without `for` has "". The
    only entry is "" if any part of the header is malformed."""
    text, position = ",".join(texts), 0
    nodes: list[str] = []
    node = ""
    while position < len(text):
        pair = _PAIR.match(text, position)
        if pair is None:
            return ("",)
        if pair["name"].lower() == "for":
            if node:
                return ("",)
            node = pair["word"] if pair["quoted"] is None else pair["quoted"]
        if pair["end"] != ";":
            nodes.append(node)
            node = ""
        position = pair.end()
        if pair["end"] and position == len(text):
            return ("",)
    return reversed(nodes)


def _node_address(text: str) -> IpAddress | None:
    """The address of an entry, which may have a port. None for anything else, such as `unknown`."""
    match = _NODE.match(text)
    return None if match is None else _address(match["in_brackets"] or match["v4"] or match["v6"])


def _address(text: str) -> IpAddress | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return address.ipv4_mapped or address if address.version == 6 else address


def _is_in(address: IpAddress, networks: tuple[IpNetwork, ...]) -> bool:
    return any(address in network for network in networks)


def _limit_key(address: IpAddress) -> str:
    return str(address) if address.version == 4 else str(ipaddress.ip_network((address, 64), strict=False))
