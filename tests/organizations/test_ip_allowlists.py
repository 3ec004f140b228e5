"""IP allow-lists: rules that are refused, and which list decides about which address."""

from __future__ import annotations

import ipaddress

import pytest
from msgspec.structs import replace

from keystead.api.enums import OnEvaluationError
from keystead.api.errors import InvalidRequest, PermissionDenied
from keystead.api.records import IpAllowlistRule
from keystead.organizations.ip_allowlists import EXEMPT, SourceAddress, check_source, networks_of_rules
from keystead.organizations.kinds.ip_allowlists import IpAllowlist, IpAllowlists
from keystead.organizations.organization import Organization, Put, Remove, apply
from tests.support.commit_samples import an_organization

KEY, OTHER_KEY = "02" + "ab" * 32, "02" + "cd" * 32
INSIDE, OUTSIDE = "192.0.2.7", "198.51.100.7"

ACCEPTED: dict[str, tuple[list[str], list[str]]] = {
    "nothing": ([], []),
    "both versions": (["192.0.2.0/24", "2001:db8::/48"], ["192.0.2.0/24", "2001:db8::/48"]),
    "one address": (["192.0.2.7/32", "::1/128"], ["192.0.2.7/32", "::1/128"]),
    "bits of the host are dropped": (["192.0.2.100/24", "2001:db8::7/64"], ["192.0.2.0/24", "2001:db8::/64"]),
    "a second one of the same": (["192.0.2.0/24", "192.0.2.9/24"], ["192.0.2.0/24"]),
    "the widest": (["10.0.0.0/20", "2001:db8::/48"], ["10.0.0.0/20", "2001:db8::/48"]),
    "ten of each": (
        [f"192.0.2.{n}/32" for n in range(10)] + [f"::{n}/128" for n in range(10)],
        [f"192.0.2.{n}/32" for n in range(10)] + ["::/128"] + [f"::{n}/128" for n in range(1, 10)],
    ),
}


@pytest.mark.parametrize(("cidrs", "expected"), ACCEPTED.values(), ids=ACCEPTED)
def test_accepted(cidrs: list[str], expected: list[str]) -> None:
    assert [str(network) for network in networks_of_rules(cidrs, "rules")] == expected


def test_the_first_of_two_equal_rules_counts() -> None:
    assert list(networks_of_rules(["192.0.2.0/24", "10.0.0.0/24", "192.0.2.1/24"], "rules").values()) == [0, 1]


REFUSED: dict[str, tuple[list[str], str]] = {
    "no prefix": (["192.0.2.7"], "`rules[0].cidr`: '192.0.2.7' is not a CIDR block"),
    "the second": (["192.0.2.7/32", "x"], "`rules[1].cidr`: 'x' is not a CIDR block"),
    "empty": ([""], "is not a CIDR block"),
    "a mask": (["192.0.2.0/255.255.255.0"], "is not a CIDR block"),
    "a long prefix": (["192.0.2.0/33"], "is not a CIDR block"),
    "a leading zero": (["192.0.02.0/24"], "is not a CIDR block"),
    "a scope": (["fe80::1%eth0/64"], "is not a CIDR block"),
    "a number": (["3221225984/24"], "is not a CIDR block"),
    "white space": (["192.0.2.0/24\n"], "is not a CIDR block"),
    "too wide": (["10.0.0.0/19"], "is too wide; the widest network of IPv4 is /20"),
    "everybody": (["0.0.0.0/0"], "is too wide"),
    "too wide, IPv6": (["2001:db8::/47"], "is too wide; the widest network of IPv6 is /48"),
    "IPv4 as IPv6": (["::ffff:192.0.2.0/120"], "write the IPv4 network"),
    "eleven": (
        [f"192.0.2.{n}/32" for n in range(11)],
        "11 networks of IPv4; an allow-list has at most 10",
    ),
}


@pytest.mark.parametrize(("cidrs", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(cidrs: list[str], message: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        networks_of_rules(cidrs, "rules")
    assert message in refused.value.message


def of_organization(*cidrs: str, enabled: bool = True, on_error: str = "DENY", public_key: str = "") -> IpAllowlist:
    return IpAllowlist(
        public_key=public_key,
        enabled=enabled,
        rules=tuple(IpAllowlistRule(cidr=cidr, label="", created_at="1") for cidr in cidrs),
        on_evaluation_error=OnEvaluationError(on_error),
    )


def of_key(*cidrs: str, on_error: str = "DENY") -> IpAllowlist:
    return of_organization(*cidrs, on_error=on_error, public_key=KEY)


def organization(*lists: IpAllowlist, parent_id: str | None = None) -> Organization:
    made = an_organization(parent_id=parent_id)
    return apply(made, [Put(one) for one in lists], made.version)


NEAR, FAR = f"{INSIDE}/32", f"{OUTSIDE}/32"
Lists = tuple[IpAllowlist, ...]

DECIDED: dict[str, tuple[Lists, str, str | None, bool]] = {
    "no list": ((), KEY, OUTSIDE, True),
    "listed": ((of_organization(NEAR),), KEY, INSIDE, True),
    "not listed": ((of_organization(NEAR),), KEY, OUTSIDE, False),
    "not an API key": ((of_organization(NEAR),), "", OUTSIDE, False),
    "not enabled": ((of_organization(NEAR, enabled=False),), KEY, OUTSIDE, True),
    "no rules: nobody": ((of_organization(),), KEY, INSIDE, False),
    "any of the rules": ((of_organization(FAR, NEAR),), KEY, INSIDE, True),
    "of the other version": ((of_organization("::/48"),), KEY, INSIDE, False),
    "the list of a key in place of the organization's": ((of_organization(NEAR), of_key(FAR)), KEY, OUTSIDE, True),
    "and only that": ((of_organization(NEAR), of_key(FAR)), KEY, INSIDE, False),
    "the list of another key": ((of_organization(NEAR), of_key(FAR)), OTHER_KEY, OUTSIDE, False),
    "the list of a key without rules": ((of_organization(NEAR), of_key()), KEY, INSIDE, True),
    "the list of a key, the organization's not enabled": (
        (of_organization(NEAR, enabled=False), of_key(NEAR)),
        KEY,
        OUTSIDE,
        True,
    ),
    "the list of a key, the organization without one": ((of_key(NEAR),), KEY, OUTSIDE, True),
    "unknown": ((of_organization(NEAR),), KEY, None, False),
    "unknown, let in": ((of_organization(NEAR, on_error="ALLOW"),), KEY, None, True),
    "unknown, the list of a key decides": (
        (of_organization(NEAR, on_error="ALLOW"), of_key(NEAR)),
        KEY,
        None,
        False,
    ),
    "unknown, the list of a key lets in": (
        (of_organization(NEAR), of_key(NEAR, on_error="ALLOW")),
        KEY,
        None,
        True,
    ),
}


@pytest.mark.parametrize(("lists", "key", "address", "allowed"), DECIDED.values(), ids=DECIDED)
def test_decided(lists: Lists, key: str, address: str | None, allowed: bool) -> None:
    source = SourceAddress(None if address is None else ipaddress.ip_address(address))
    assert is_let_in(organization(*lists), key, source) is allowed
    assert is_let_in(organization(*lists), key, EXEMPT), "a request of this server itself"
    assert is_let_in(organization(*lists, parent_id="x"), key, source), "sub-organizations have no lists"


def is_let_in(organization: Organization, key: str, source: SourceAddress) -> bool:
    try:
        check_source(organization, key, source)
    except PermissionDenied:
        return False
    return True


def test_a_list_that_replaces_another_one() -> None:
    before = organization(of_organization(NEAR))
    version = before.version
    after = apply(before, [Put(replace(of_organization(FAR), enabled=True))], version)
    assert not is_let_in(after, KEY, SourceAddress(ipaddress.ip_address(INSIDE)))
    removed = apply(after, [Remove(IpAllowlist, "")], version)
    assert is_let_in(removed, KEY, SourceAddress(ipaddress.ip_address(INSIDE)))
    assert "" not in removed.of(IpAllowlists).networks
