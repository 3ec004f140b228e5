"""Sub-organizations: their creation, their deletion, and how they are found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from keystead.api.errors import ServiceError
from keystead.operations.organizations.organizations import ListSuborgsRequest, list_suborgs
from keystead.organizations.attachments import ChangedAccount, SealedSecret
from keystead.organizations.kinds.profile import RootQuorum
from keystead.organizations.limits import Limits
from keystead.organizations.organization import Organization
from keystead.pipeline.store import Page
from tests.support.approval_flows import new_user
from tests.support.operation_examples import ETHEREUM_ACCOUNT
from tests.support.organization_harness import OrganizationHarness, public_key
from tests.support.passkeys import SoftPasskey

Asked = Callable[[OrganizationHarness], dict[str, Any]]


def harness() -> OrganizationHarness:
    return OrganizationHarness("Root", "Ana", "Ben", root=["Root"], limits=Limits(users=4))


def root_user(people: OrganizationHarness, **members: Any) -> dict[str, Any]:
    return {name: value for name, value in new_user(people).items() if name != "userTags"} | members


def sub(people: OrganizationHarness, *root_users: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {
        "subOrganizationName": "below",
        "rootQuorumThreshold": 1,
        "rootUsers": list(root_users) or [root_user(people)],
    } | members


def _key(label: str) -> dict[str, str]:
    return {"apiKeyName": label, "publicKey": public_key(label), "curveType": "API_KEY_CURVE_P256"}


REFUSED: dict[str, tuple[Asked, int, str]] = {
    "nobody at the root": (
        lambda c: sub(c) | {"rootUsers": []},
        400,
        "quorum threshold must be non-zero integer",
    ),
    "no threshold": (lambda c: sub(c, rootQuorumThreshold=0), 400, "non-zero integer"),
    "a threshold too high": (lambda c: sub(c, rootQuorumThreshold=2), 400, "rootQuorum"),
    "a root user who cannot get in": (
        lambda c: sub(c, root_user(c, apiKeys=[])),
        400,
        "parameters.rootUsers[0]",
    ),
    "a root user whose only login is off": (
        lambda c: sub(
            c,
            root_user(c, apiKeys=[], userEmail="a@example.com"),
            disableEmailAuth=True,
            disableOtpEmailAuth=True,
        ),
        400,
        "user missing valid credential",
    ),
    "two root users with one key": (
        lambda c: sub(c, *[root_user(c, apiKeys=[_key("same")])] * 2),
        400,
        "already an API key",
    ),
    "too many root users": (
        lambda c: sub(c, *[root_user(c) for _ in range(5)]),
        429,
        "users: 0 of 4",
    ),
    "a wallet that cannot be": (
        lambda c: sub(c, wallet={"walletName": "w", "accounts": [ETHEREUM_ACCOUNT, ETHEREUM_ACCOUNT]}),
        400,
        "accounts[1].path",
    ),
}


@pytest.mark.parametrize(("asked", "status", "why"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(asked: Asked, status: int, why: str) -> None:
    people = harness()
    with pytest.raises(ServiceError) as refused:
        people.submit("Root", "create_sub_organization", asked(people))
    assert refused.value.http_status == status
    assert why in refused.value.message
    assert list(people.database.organizations) == [people.id]
    assert people.activities() == []


def child(people: OrganizationHarness) -> Organization:
    (found,) = [one for one in people.database.organizations.values() if one.profile.parent_id == people.id]
    return found


def test_a_sub_organization_is_created() -> None:
    people = harness()
    made = people.result(
        "Root",
        "create_sub_organization",
        sub(
            people,
            root_user(people, userName="Una", apiKeys=[_key("Ana")], userEmail="Una@Example.com"),
            root_user(people, authenticators=[SoftPasskey().params()]),
            rootQuorumThreshold=2,
            disableSmsAuth=True,
            wallet={"walletName": "w", "accounts": [ETHEREUM_ACCOUNT]},
        ),
    )
    below = child(people)
    assert made["subOrganizationId"] == below.id
    assert below.profile.root_quorum == RootQuorum(2, tuple(made["rootUserIds"]))
    assert below.users[made["rootUserIds"][0]].user_name == "Una"
    assert set(below.profile.features) == {
        f"FEATURE_NAME_{n}" for n in ("EMAIL_RECOVERY", "EMAIL_AUTH", "OTP_EMAIL_AUTH")
    }
    assert list(below.wallets) == [made["wallet"]["walletId"]]
    assert [one.account.address for one in people.database.attached_rows(ChangedAccount, below.id)] == made[
        "wallet"
    ]["addresses"]
    assert len(below.passkeys) == 1
    assert below.data_key.sealed.ciphertext == below.id.encode()
    assert people.organization is people.first_version, "the parent is as it was"


def new_sub_organization(people: OrganizationHarness, label: str, name: str = "below") -> str:
    params = root_user(people, userName=f"user of {label}", apiKeys=[_key(label)], userEmail=f"{label}@Example.com")
    made: str = people.result("Root", "create_sub_organization", sub(people, params, subOrganizationName=name))[
        "subOrganizationId"
    ]
    return made


FOUND_BY = {
    "nothing": (None, None, "ab"),
    "the name": ("NAME", "below", "ab"),
    "part of the name": ("NAME", "bel", ""),
    "a user's name": ("USERNAME", "user of b", "b"),
    "an address in other letters": ("EMAIL", "A@EXAMPLE.COM", "a"),
    "a key": ("PUBLIC_KEY", public_key("b"), "b"),
    "a key in other letters": ("PUBLIC_KEY", public_key("b").upper(), "b"),
    "a key of the parent": ("PUBLIC_KEY", public_key("Ana"), ""),
    "a number nobody has": ("PHONE_NUMBER", "+14155550123", ""),
    "an address nobody has": ("WALLET_ACCOUNT_ADDRESS", "0x", ""),
}


def listed(people: OrganizationHarness, kind: str | None, value: str | None) -> list[str]:
    request = ListSuborgsRequest(organization_id=people.id, filter_type=kind, filter_value=value)
    return list(people.run(list_suborgs(people.reading("Ana"), request)).organization_ids)


@pytest.mark.parametrize(("kind", "value", "expected"), FOUND_BY.values(), ids=FOUND_BY.keys())
def test_found_by(kind: str | None, value: str | None, expected: str) -> None:
    people = harness()
    ids = {label: new_sub_organization(people, label) for label in "ab"}
    assert listed(people, kind, value) == [ids[label] for label in expected]


def test_it_is_found_by_what_it_has_now() -> None:
    people = harness()
    below = new_sub_organization(people, "a")
    people.user_ids["a"] = next(iter(child(people).users))
    caller = people.caller("a", organization_id=below)
    for name, parameters in (
        ("update_organization_name", {"organizationName": "renamed"}),
        ("update_user_email", {"userId": people.user_ids["a"], "userEmail": "new@example.com"}),
        ("create_api_keys", {"userId": people.user_ids["a"], "apiKeys": [_key("later")]}),
    ):
        people.run(people.sending(caller, name, people.body(name, parameters, organizationId=below)))
    for kind, old, new in (
        ("NAME", "below", "renamed"),
        ("EMAIL", "a@example.com", "NEW@example.com"),
        ("PUBLIC_KEY", public_key("nobody"), public_key("later")),
    ):
        assert (listed(people, kind, old), listed(people, kind, new)) == ([], [below])


@pytest.mark.parametrize("exported", [None, False, True])
def test_a_sub_organization_ends(exported: bool | None) -> None:
    people = harness()
    made = people.result(
        "Root",
        "create_sub_organization",
        sub(
            people,
            root_user(people, apiKeys=[_key("a")]),
            wallet={"walletName": "w", "accounts": [ETHEREUM_ACCOUNT]},
        ),
    )
    below = made["subOrganizationId"]
    people.user_ids["a"] = made["rootUserIds"][0]
    with pytest.raises(ServiceError, match="could not find public key"):
        people.submit("Root", "delete_sub_organization", {}, organizationId=below)
    asked = {} if exported is None else {"deleteWithoutExport": exported}
    if not exported:
        with pytest.raises(ServiceError, match="has not been exported"):
            people.submit("a", "delete_sub_organization", asked, organizationId=below)
        return
    result = people.result("a", "delete_sub_organization", asked, organizationId=below)
    assert result == {"subOrganizationUuid": below}
    gone = child(people)
    assert gone.profile.deleted
    assert (dict(gone.users), dict(gone.wallets), dict(gone.users.by_public_key)) == ({}, {}, {})
    assert gone.data_key.sealed.ciphertext == b""
    assert not people.database.lookups[below]
    assert not people.database.attached_rows(SealedSecret, below)
    assert people.run(people.stores[0].suborganizations.page(people.id, None, Page(10))) == []
    assert listed(people, "PUBLIC_KEY", public_key("a")) == []


def test_a_private_key_keeps_a_sub_organization_until_it_is_exported() -> None:
    people = harness()
    below = new_sub_organization(people, "a")
    key = {"privateKeyName": "k", "curve": "CURVE_P256", "privateKeyTags": [], "addressFormats": []}
    people.submit("a", "create_private_keys", {"privateKeys": [key]}, organizationId=below)
    with pytest.raises(ServiceError, match=r"private key .* has not been exported"):
        people.submit("a", "delete_sub_organization", {}, organizationId=below)
    people.submit("a", "delete_sub_organization", {"deleteWithoutExport": True}, organizationId=below)
    assert dict(child(people).private_keys) == {}
    assert not people.database.attached_rows(SealedSecret, below)


def test_there_is_nothing_below_a_sub_organization() -> None:
    people = harness()
    below = new_sub_organization(people, "a")
    with pytest.raises(ServiceError, match="not callable by sub-organizations"):
        people.submit("a", "create_sub_organization", sub(people), organizationId=below)
