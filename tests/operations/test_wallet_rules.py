"""Wallets, their accounts and private keys: what may be made, named and deleted, and what deletion takes along."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from keystead.api.enums import ActivityStatus
from keystead.api.errors import ServiceError
from keystead.api.records import WalletAccount
from keystead.organizations.attachments import ChangedAccount, SealedSecret
from keystead.organizations.limits import Limits
from keystead.organizations.organization import Put, Version, apply
from tests.support.organization_harness import OrganizationHarness

NOBODY = "00000000-0000-7000-8000-ffffffffffff"
Asked = Callable[[OrganizationHarness], dict[str, Any]]


def account(path: str = "m/44'/60'/0'/0/0", **members: Any) -> dict[str, Any]:
    return {
        "curve": "CURVE_SECP256K1",
        "pathFormat": "PATH_FORMAT_BIP32",
        "path": path,
        "addressFormat": "ADDRESS_FORMAT_ETHEREUM",
    } | members


def key(name: str, **members: Any) -> dict[str, Any]:
    return {
        "privateKeyName": name,
        "curve": "CURVE_SECP256K1",
        "privateKeyTags": [],
        "addressFormats": ["ADDRESS_FORMAT_ETHEREUM"],
    } | members


def harness() -> OrganizationHarness:
    """A wallet `hot` with the account `first`, a wallet `cold` without any; keys `k` (tagged `T`) and `l`."""
    people = OrganizationHarness("Root", "Ana", "Ben", root=["Root"], limits=Limits(wallets=3, private_keys=4))
    hot = {"walletName": "hot", "accounts": [account(name="first"), account("m/44'/60'/0'/0/1")]}
    people.submit("Root", "create_wallet", hot)
    people.submit("Root", "create_wallet", {"walletName": "cold", "accounts": []})
    people.submit(
        "Root", "create_private_keys", {"privateKeys": [key("k"), key("l", curve="CURVE_P256", addressFormats=[])]}
    )
    people.submit(
        "Root", "create_private_key_tag", {"privateKeyTagName": "T", "privateKeyIds": [key_id(people, "k")]}
    )
    people.submit("Root", "create_user_tag", {"userTagName": "U", "userIds": []})
    return people


def wallet_id(people: OrganizationHarness, name: str) -> str:
    return next(one.wallet_id for one in people.organization.wallets.values() if one.wallet_name == name)


def key_id(people: OrganizationHarness, name: str) -> str:
    keys = people.organization.private_keys.values()
    return next(one.private_key_id for one in keys if one.private_key_name == name)


def tag_id(people: OrganizationHarness, name: str) -> str:
    return next(tag_id for tag_id, tag in people.organization.tags.items() if tag.tag_name == name)


def accounts(people: OrganizationHarness) -> list[WalletAccount]:
    return [one.account for one in people.database.attached_rows(ChangedAccount, people.id)]


def account_id(people: OrganizationHarness, index: int) -> str:
    return accounts(people)[index].wallet_account_id


def more(people: OrganizationHarness, *asked: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"walletId": wallet_id(people, "hot"), "accounts": list(asked), **members}


REFUSED: dict[str, tuple[str, Asked, int, str]] = {
    "accounts of no wallet": (
        "create_wallet_accounts",
        lambda c: more(c, account("m/0"), walletId=NOBODY),
        404,
        "unable to find wallet",
    ),
    "a path that the wallet has": (
        "create_wallet_accounts",
        lambda c: more(c, account("m/1"), account("m/44h/060'/0H/0/1")),
        400,
        "invalid path: field `parameters.accounts[1].path`: m/44h/060'/0H/0/1 is the path of wallet account",
    ),
    "a path twice in one request": (
        "create_wallet_accounts",
        lambda c: more(c, account("m/1"), account("m/01")),
        400,
        "is the path of `parameters.accounts[0]` too",
    ),
    "a name that an account of the organization has": (
        "create_wallet_accounts",
        lambda c: more(c, account("m/1", name="first"), walletId=wallet_id(c, "cold")),
        400,
        "field `parameters.accounts[0].name`: label must be unique: 'first'",
    ),
    "a name twice in one request": (
        "create_wallet_accounts",
        lambda c: more(c, account("m/1", name="x"), account("m/2", name="x")),
        400,
        "same `name`",
    ),
    "a name that an account has, in a new wallet": (
        "create_wallet",
        lambda c: {"walletName": "x", "accounts": [account(name="first")]},
        409,
        "already has this name",
    ),
    "a format that the curve does not have": (
        "create_wallet_accounts",
        lambda c: more(c, account("m/1", curve="CURVE_ED25519")),
        400,
        "`parameters.accounts[0].addressFormat`",
    ),
    "the name of another wallet": (
        "update_wallet",
        lambda c: {"walletId": wallet_id(c, "hot"), "walletName": "cold"},
        400,
        "`parameters.walletName`",
    ),
    "no wallet to rename": ("update_wallet", lambda c: {"walletId": NOBODY, "walletName": "x"}, 404, NOBODY),
    "the name of another account": (
        "update_wallet_account_name",
        lambda c: {"walletAccountId": account_id(c, 1), "name": "first"},
        400,
        "`parameters.name`: label must be unique",
    ),
    "no account to rename": (
        "update_wallet_account_name",
        lambda c: {"walletAccountId": NOBODY, "name": "x"},
        400,
        "wallet account not part of your organization",
    ),
    "a wallet that was not exported": (
        "delete_wallets",
        lambda c: {"walletIds": [wallet_id(c, "cold")]},
        400,
        "has not been exported",
    ),
    "the same, said so": (
        "delete_wallets",
        lambda c: {"walletIds": [wallet_id(c, "cold")], "deleteWithoutExport": False},
        400,
        "has not been exported",
    ),
    "one unknown wallet": (
        "delete_wallets",
        lambda c: {"walletIds": [wallet_id(c, "cold"), NOBODY], "deleteWithoutExport": True},
        404,
        NOBODY,
    ),
    "an account that was not exported": (
        "delete_wallet_accounts",
        lambda c: {"walletAccountIds": [account_id(c, 0)]},
        400,
        "has not been exported",
    ),
    "one unknown account": (
        "delete_wallet_accounts",
        lambda c: {"walletAccountIds": [account_id(c, 0), NOBODY], "deleteWithoutExport": True},
        400,
        f"wallet account not part of your organization: {NOBODY}",
    ),
    "the name of another key": (
        "create_private_keys",
        lambda c: {"privateKeys": [key("k")]},
        400,
        "`parameters.privateKeys[0].privateKeyName`",
    ),
    "a key's name twice in one request": (
        "create_private_keys",
        lambda c: {"privateKeys": [key("x"), key("x")]},
        400,
        "`parameters.privateKeys[1].privateKeyName`",
    ),
    "a key with an unknown tag": (
        "create_private_keys",
        lambda c: {"privateKeys": [key("x", privateKeyTags=[NOBODY])]},
        404,
        "`parameters.privateKeys[0].privateKeyTags`",
    ),
    "a key with the tag of users": (
        "create_private_keys",
        lambda c: {"privateKeys": [key("x", privateKeyTags=[tag_id(c, "U")])]},
        404,
        "unable to find tag",
    ),
    "a user with the tag of keys": (
        "update_user",
        lambda c: {"userId": c.user_ids["Ana"], "userTagIds": [tag_id(c, "T")]},
        404,
        "unable to find tag",
    ),
    "a key's address on another curve": (
        "create_private_keys",
        lambda c: {"privateKeys": [key("x", addressFormats=["ADDRESS_FORMAT_SOLANA"])]},
        400,
        "`parameters.privateKeys[0].addressFormats`",
    ),
    "a key's address twice": (
        "create_private_keys",
        lambda c: {"privateKeys": [key("x", addressFormats=["ADDRESS_FORMAT_ETHEREUM"] * 2)]},
        400,
        "has a format twice",
    ),
    "too many keys": (
        "create_private_keys",
        lambda c: {"privateKeys": [key("x"), key("y"), key("z")]},
        429,
        "private keys: 2 of 4 are in use, 3 more",
    ),
    "a key that was not exported": (
        "delete_private_keys",
        lambda c: {"privateKeyIds": [key_id(c, "k")]},
        400,
        "has not been exported",
    ),
    "one unknown key": (
        "delete_private_keys",
        lambda c: {"privateKeyIds": [key_id(c, "k"), NOBODY], "deleteWithoutExport": True},
        404,
        NOBODY,
    ),
    "the tag of users as one of keys": (
        "update_private_key_tag",
        lambda c: {"privateKeyTagId": tag_id(c, "U"), "addPrivateKeyIds": [], "removePrivateKeyIds": []},
        404,
        "unable to find private key tag",
    ),
    "a tag for no key": (
        "create_private_key_tag",
        lambda c: {"privateKeyTagName": "x", "privateKeyIds": [NOBODY]},
        404,
        "unable to find private key",
    ),
    "a tag's name twice": (
        "create_private_key_tag",
        lambda c: {"privateKeyTagName": "T", "privateKeyIds": []},
        400,
        "label must be unique",
    ),
    "a tag put on and taken off at once": (
        "update_private_key_tag",
        lambda c: {
            "privateKeyTagId": tag_id(c, "T"),
            "addPrivateKeyIds": [key_id(c, "k")],
            "removePrivateKeyIds": [key_id(c, "k")],
        },
        400,
        "in both",
    ),
}


@pytest.mark.parametrize(("name", "asked", "status", "why"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(name: str, asked: Asked, status: int, why: str) -> None:
    people = harness()
    before, held = people.organization, accounts(people)
    done = people.activities()
    with pytest.raises(ServiceError) as refused:
        people.submit("Root", name, asked(people))
    assert (refused.value.http_status, why in refused.value.message) == (status, True), refused.value.message
    assert people.organization is before
    assert accounts(people) == held
    assert people.activities() == done


def test_more_accounts_of_a_wallet() -> None:
    people = harness()
    before = people.organization
    asked = [account("m/1", name="second"), account("m/1", addressFormat="ADDRESS_FORMAT_COMPRESSED")]
    made = people.result("Root", "create_wallet_accounts", more(people, *asked))
    assert [one.address for one in accounts(people)[2:]] == made["addresses"]
    assert [(one.path, one.name, one.wallet_id) for one in accounts(people)[2:]] == [
        ("m/1", "second", wallet_id(people, "hot")),
        ("m/1", None, wallet_id(people, "hot")),
    ]
    assert people.organization.version.number == before.version.number + 1


def test_accounts_that_are_not_kept() -> None:
    """Their addresses are told, of a path that is taken, too; nothing changes."""
    people = harness()
    before, held = people.organization, accounts(people)
    asked = more(people, account(name="first"), account("m/7"), persist=False)
    made = people.result("Root", "create_wallet_accounts", asked)
    assert made["addresses"][0] == held[0].address
    assert len(made["addresses"]) == 2
    assert people.organization is before
    assert accounts(people) == held


def test_names_come_free_again() -> None:
    people = harness()
    first = {"walletAccountId": account_id(people, 0), "name": "renamed"}
    people.result("Root", "update_wallet_account_name", first)
    people.result("Root", "update_wallet_account_name", first)  # its own name does not prevent it
    people.result("Root", "update_wallet_account_name", {"walletAccountId": account_id(people, 1), "name": "first"})
    assert [one.name for one in accounts(people)] == ["renamed", "first"]
    people.result("Root", "update_wallet", {"walletId": wallet_id(people, "hot"), "walletName": "warm"})
    people.result("Root", "update_wallet", {"walletId": wallet_id(people, "cold"), "walletName": "hot"})
    people.result("Root", "update_wallet", {"walletId": wallet_id(people, "warm")})
    assert {one.wallet_name for one in people.organization.wallets.values()} == {"warm", "hot"}


def test_a_deleted_wallet_leaves_nothing() -> None:
    people = harness()
    cold, hot = wallet_id(people, "cold"), wallet_id(people, "hot")
    asked = {"walletIds": [hot, hot], "deleteWithoutExport": True}
    assert people.result("Root", "delete_wallets", asked) == {"walletIds": [hot]}
    assert list(people.organization.wallets) == [cold]
    assert accounts(people) == []
    held = [one.record_id for one in people.database.attached_rows(SealedSecret, people.id)]
    assert hot not in held
    assert cold in held
    assert not [one for one in people.database.lookups[people.id] if one.kind == "wallet_account_address"]
    people.result("Root", "create_wallet", {"walletName": "hot", "accounts": [account(name="first")]})


def test_a_deleted_account_can_be_derived_again() -> None:
    people = harness()
    first, second = accounts(people)
    gone = [first.wallet_account_id]
    asked = {"walletAccountIds": gone, "deleteWithoutExport": True}
    assert people.result("Root", "delete_wallet_accounts", asked) == {"walletAccountIds": gone}
    assert accounts(people) == [second]
    again = people.result("Root", "create_wallet_accounts", more(people, account(name="first")))
    assert again["addresses"] == [first.address]


@pytest.mark.parametrize("exported", ["the account", "its wallet"])
def test_what_was_exported_may_be_deleted(exported: str) -> None:
    people = harness()
    first = people.database.attached_rows(ChangedAccount, people.id)[0]
    if exported == "the account":
        people.database.write_row(people.id, replace(first, exported=True))
    else:
        wallet = replace(people.organization.wallets[first.account.wallet_id], exported=True)
        now = people.organization
        people.database.organizations[people.id] = apply(
            now, [Put(wallet)], Version(now.version.number, "an export")
        )
    people.result("Root", "delete_wallet_accounts", {"walletAccountIds": [first.account.wallet_account_id]})
    assert len(accounts(people)) == 1
    if exported == "its wallet":
        people.result("Root", "delete_wallets", {"walletIds": [first.account.wallet_id]})


def test_private_keys() -> None:
    people = harness()
    made = people.result(
        "Root", "create_private_keys", {"privateKeys": [key("x", privateKeyTags=[tag_id(people, "T")] * 2)]}
    )
    (record,) = made["privateKeys"]
    held = people.organization.private_keys[record["privateKeyId"]]
    assert held.private_key_tags == (tag_id(people, "T"),)
    assert record["addresses"] == [{"format": "ADDRESS_FORMAT_ETHEREUM", "address": held.addresses[0].address}]
    gone = [key_id(people, "k"), key_id(people, "l")]
    people.result("Root", "delete_private_keys", {"privateKeyIds": gone, "deleteWithoutExport": True})
    assert list(people.organization.private_keys) == [held.private_key_id]
    assert [
        one.record_id
        for one in people.database.attached_rows(SealedSecret, people.id)
        if one.purpose == "private-key"
    ] == [held.private_key_id]


def test_tags_of_private_keys() -> None:
    people = harness()
    k, l_ = key_id(people, "k"), key_id(people, "l")
    changed = {"privateKeyTagId": tag_id(people, "T"), "newPrivateKeyTagName": "U"}  # as a tag of users is called
    people.result(
        "Root", "update_private_key_tag", changed | {"addPrivateKeyIds": [l_], "removePrivateKeyIds": [k]}
    )
    tag = changed["privateKeyTagId"]
    assert [people.organization.private_keys[each].private_key_tags for each in (k, l_)] == [(), (tag,)]
    gone = people.result("Root", "delete_private_key_tags", {"privateKeyTagIds": [tag]})
    assert gone == {"privateKeyTagIds": [tag], "privateKeyIds": [l_]}
    assert people.organization.private_keys[l_].private_key_tags == ()


def test_an_older_type_answers_in_its_own_shape() -> None:
    people = harness()
    body = people.body("create_private_keys", {"privateKeys": [key("x")]}, type="ACTIVITY_TYPE_CREATE_PRIVATE_KEYS")
    activity = people.send("Root", "create_private_keys", body)
    ((name, result),) = activity.result.items()
    assert name == "createPrivateKeysResult"
    assert bytes(result) == f'{{"privateKeyIds":["{key_id(people, "x")}"]}}'.encode()


def test_policies_over_the_wallets_to_be_deleted() -> None:
    people = harness()
    condition = "activity.kind == 'DELETE_WALLETS' && wallets.all(w, w.label == 'cold' && !w.imported)"
    people.policy(name="cold only", consensus="true", condition=condition)
    both = [wallet_id(people, name) for name in ("cold", "hot")]
    with pytest.raises(ServiceError) as refused:
        people.submit("Ana", "delete_wallets", {"walletIds": both, "deleteWithoutExport": True})
    assert refused.value.http_status == 403
    activity = people.submit("Ana", "delete_wallets", {"walletIds": both[:1], "deleteWithoutExport": True})
    assert activity.status is ActivityStatus.COMPLETED


def test_what_an_activity_is_about_may_go_before_it_is_allowed() -> None:
    """Then it fails when it is allowed, and until then it can be read and voted on."""
    people = harness()
    people.policy(name="two", consensus="approvers.count() >= 2", condition="activity.resource == 'WALLET'")
    asked = {"walletAccountId": account_id(people, 0), "name": "x"}
    waiting = people.submit("Ana", "update_wallet_account_name", asked)
    assert waiting.status is ActivityStatus.CONSENSUS_NEEDED
    gone = {"walletAccountIds": [asked["walletAccountId"]], "deleteWithoutExport": True}
    people.submit("Root", "delete_wallet_accounts", gone)
    assert people.seen("Ben", waiting).can_approve
    failed = people.approve("Ben", waiting)
    assert failed.status is ActivityStatus.FAILED
    assert failed.failure is not None
    assert "not part of your organization" in failed.failure.message


def test_what_an_activity_needs_is_looked_up_when_it_is_allowed() -> None:
    """The path was free when it was asked for, and is not when the second approval comes."""
    people = harness()
    people.policy(name="two", consensus="approvers.count() >= 2", condition="activity.resource == 'WALLET'")
    waiting = people.submit("Ana", "create_wallet_accounts", more(people, account("m/5")))
    people.submit("Root", "create_wallet_accounts", more(people, account("m/5")))
    failed = people.approve("Ben", waiting)
    assert failed.status is ActivityStatus.FAILED
    assert failed.failure is not None
    assert failed.failure.message.startswith("invalid path")
