"""Sub-organizations that the API made: finding them by page and by value, and keys that are in several."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from keystead.stamps.signing import generate_api_key
from tests.chains.test_stored_forms import ACCOUNTS, BECH32, HEX, TON, spellings
from tests.conftest import MakeDatabase
from tests.support.authorization_scenario import new_sub_organization
from tests.support.callers import SDK_FORM, Caller, api_key_params, refusal, unique
from tests.support.issuers import taking_tokens
from tests.support.organization_fixtures import ETHEREUM_ACCOUNT
from tests.support.passkeys import SoftPasskey
from tests.support.servers import bootstrap_installation, running

COUNT = 13


@pytest.fixture(scope="module")
def parent(make_database: MakeDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    installation, folder = bootstrap_installation(make_database()), tmp_path_factory.mktemp("parent")
    with running(installation, folder / "log", taking_tokens(folder)) as server:
        yield server.caller
    installation.database.close()


@pytest.fixture(scope="module")
def family(parent: Caller) -> list[str]:
    """Ids of sub-organizations, in the order in which they were made."""
    return [new_sub_organization(parent).organization_id for _ in range(COUNT)]


def listed(parent: Caller, headers: Any = None, **fields: Any) -> list[str]:
    found: list[str] = parent.asked("list_suborgs", headers, **fields)["organizationIds"]
    return found


@pytest.mark.parametrize("headers", [{}, SDK_FORM], ids=["documented", "sdk"])
def test_pages(headers: dict[str, str], parent: Caller, family: list[str]) -> None:
    everything = listed(parent, headers, paginationOptions={"limit": "100"})
    assert [one for one in everything if one in family] == family
    assert listed(parent, headers) == everything[:10]
    assert listed(parent, headers, paginationOptions={"limit": "", "before": "", "after": ""}) == everything[:10]
    walked: list[str] = []
    while page := listed(parent, headers, paginationOptions={"limit": "4", "after": walked[-1] if walked else ""}):
        walked += page
    assert walked == everything
    before = {"limit": "3", "before": everything[5]}
    assert listed(parent, headers, paginationOptions=before) == everything[2:5]
    assert listed(parent, headers, paginationOptions={"before": everything[0]}) == []


BAD_PAGES: list[dict[str, Any]] = [
    {"limit": "0"},
    {"limit": "101"},
    {"limit": "-1"},
    {"limit": "ten"},
    {"limit": 10},
    {"limit": "1.0"},
    {"after": "0197b0a6-2b8b-7a52-8e2f-8a4b6e1f2c3d"},
    {"before": "0197b0a6-2b8b-7a52-8e2f-8a4b6e1f2c3d"},
    {"before": "a", "after": "b"},
]


@pytest.mark.parametrize("options", BAD_PAGES, ids=str)
def test_bad_pages(options: dict[str, Any], parent: Caller, family: list[str]) -> None:
    status, message = refusal(parent.ask("list_suborgs", paginationOptions=options))
    assert (status, "paginationOptions" in message) == (400, True), message


@pytest.fixture(scope="module")
def found(parent: Caller) -> dict[str, tuple[str, str]]:
    """Filter and value by which exactly one sub-organization is found, by what they look at."""
    key, passkey = generate_api_key(), SoftPasskey()
    user = {
        "userName": unique("Ada"),
        "userEmail": f"{unique('Ada').replace(' ', '.')}@Example.com",
        "userPhoneNumber": "+14155550177",
        "apiKeys": [api_key_params(key.public_key)],
        "authenticators": [passkey.params()],
        "oauthProviders": [],
    }
    wallet = {"walletName": "first", "accounts": [ETHEREUM_ACCOUNT]}
    asked = {
        "subOrganizationName": unique("sub"),
        "rootUsers": [user],
        "rootQuorumThreshold": 1,
        "wallet": wallet,
    }
    made = parent.result("create_sub_organization", asked)
    values = {
        "NAME": asked["subOrganizationName"],
        "USERNAME": user["userName"],
        "EMAIL": str(user["userEmail"]).upper(),
        "PHONE_NUMBER": f"{str(user['userPhoneNumber'])[:2]} ({str(user['userPhoneNumber'])[2:5]}) "
        f"{str(user['userPhoneNumber'])[5:]}",
        "PUBLIC_KEY": f"0x{key.public_key.upper()}",
        "CREDENTIAL_ID": passkey.params()["attestation"]["credentialId"],
        "WALLET_ACCOUNT_ADDRESS": made["wallet"]["addresses"][0].lower(),
    }
    return {kind: (str(value), made["subOrganizationId"]) for kind, value in values.items()}


KINDS = ["NAME", "USERNAME", "EMAIL", "PHONE_NUMBER", "PUBLIC_KEY", "CREDENTIAL_ID", "WALLET_ACCOUNT_ADDRESS"]


@pytest.mark.parametrize("kind", KINDS)
def test_filter(kind: str, parent: Caller, family: list[str], found: dict[str, tuple[str, str]]) -> None:
    """The whole value, of this kind only, among the organization's own sub-organizations."""
    value, organization_id = found[kind]
    assert listed(parent, filterType=kind, filterValue=value) == [organization_id]
    assert listed(parent, filterType=kind, filterValue=value[:-1]) == []
    others = [other for other in KINDS if other != kind]
    assert [listed(parent, filterType=other, filterValue=value) for other in others] == [[]] * len(others)
    there = parent.with_key(parent.key, organization_id=organization_id)
    assert listed(there, filterType=kind, filterValue=value) == []


def test_a_credential_id_may_have_padding(
    parent: Caller, family: list[str], found: dict[str, tuple[str, str]]
) -> None:
    value, organization_id = found["CREDENTIAL_ID"]
    assert listed(parent, filterType="CREDENTIAL_ID", filterValue=f"{value}==") == [organization_id]


SEVERAL_SPELLINGS = [*HEX, *BECH32, *TON]


@pytest.fixture(scope="module")
def branch(parent: Caller) -> Caller:
    """A sub-organization with an address of each format that can be spelled in several ways, and its root user."""
    key = generate_api_key()
    accounts = [
        {"curve": one["curve"], "pathFormat": "PATH_FORMAT_BIP32", "path": one["path"], "addressFormat": name}
        for name, one in ACCOUNTS.items()
        if name in SEVERAL_SPELLINGS
    ]
    user = {"userName": "Root", "apiKeys": [api_key_params(key.public_key)], "authenticators": []}
    asked = {
        "subOrganizationName": unique("sub"),
        "rootUsers": [{**user, "oauthProviders": []}],
        "rootQuorumThreshold": 1,
        "wallet": {"walletName": "first", "accounts": accounts},
    }
    made = parent.result("create_sub_organization", asked)
    return parent.with_key(key, organization_id=made["subOrganizationId"])


@pytest.mark.parametrize("name", SEVERAL_SPELLINGS)
def test_an_address_is_spelled_alike_to_find_and_to_sign(name: str, parent: Caller, branch: Caller) -> None:
    accounts = branch.asked("list_wallet_accounts", paginationOptions={"limit": "100"})["accounts"]
    (account,) = (one for one in accounts if one["addressFormat"] == name)
    hashed = "NOT_APPLICABLE" if account["curve"] == "CURVE_ED25519" else "SHA256"
    payload = {
        "payload": "ab",
        "encoding": "PAYLOAD_ENCODING_HEXADECIMAL",
        "hashFunction": f"HASH_FUNCTION_{hashed}",
    }
    forms = {"tonForms": ton_forms(account["address"])} if name in TON else {}
    for written in spellings({**account, **forms}):
        assert listed(parent, filterType="WALLET_ACCOUNT_ADDRESS", filterValue=written) == [branch.organization_id]
        branch.result("sign_raw_payload", {"signWith": written, **payload})


def ton_forms(address: str) -> dict[str, str]:
    """The forms of an address. A friendly form holds a tag, the workchain, the hash, and CRC-16/XMODEM of these."""
    body = base64.urlsafe_b64decode(address)[1:34]
    tags = {"bounceable": 0x11, "nonBounceable": 0x51, "testnetNonBounceable": 0xD1}
    friendly = {form: bytes([tag]) + body for form, tag in tags.items()}
    return {
        "raw": f"0:{body[1:].hex()}",
        **{
            form: base64.urlsafe_b64encode(tagged + binascii.crc_hqx(tagged, 0).to_bytes(2)).decode()
            for form, tagged in friendly.items()
        },
    }


def test_contacts_that_nobody_verified(parent: Caller, found: dict[str, tuple[str, str]]) -> None:
    for kind in ("EMAIL", "PHONE_NUMBER"):
        fields: dict[str, Any] = {"filterType": kind, "filterValue": found[kind][0]}
        assert parent.asked("list_verified_suborgs", **fields) == {"organizationIds": []}
    assert refusal(parent.ask("list_verified_suborgs", filterType="NAME", filterValue="x"))[0] == 400


BAD_FILTERS: list[tuple[dict[str, Any], int]] = [
    ({"filterType": "COLOUR", "filterValue": "red"}, 400),
    ({"filterType": "name", "filterValue": "x"}, 400),
    ({"filterType": "NAME"}, 400),
    ({"filterType": "NAME", "filterValue": ""}, 400),
    ({"filterValue": "x"}, 400),
    ({"filterType": "OIDC_TOKEN", "filterValue": "a.b.c"}, 400),
    ({"filterType": "OIDC_TOKEN"}, 400),
    ({"filterType": "OAUTH_CLAIM", "filterValue": "https://issuer.example"}, 400),
    ({"filterType": "OAUTH_CLAIM", "filterValue": '{"issuer": "i", "subject": "s"}'}, 400),
    ({"filterType": "OAUTH_CLAIM", "filterValue": '{"iss": "i", "sub": "s", "aud": "a"}'}, 400),
]


@pytest.mark.parametrize(("fields", "status"), BAD_FILTERS, ids=str)
def test_bad_filter(fields: dict[str, Any], status: int, parent: Caller) -> None:
    assert refusal(parent.ask("list_suborgs", **fields))[0] == status


def _renames(sub: Caller) -> tuple[str, str, str]:
    old, new = sub.asked("whoami")["organizationName"], unique("renamed")
    sub.submitted("update_organization_name", {"organizationName": new})
    return "NAME", old, new


def _renames_user(sub: Caller) -> tuple[str, str, str]:
    old, new = sub.asked("whoami")["username"], unique("renamed")
    sub.submitted("update_user_name", {"userId": sub.user_id, "userName": new})
    return "USERNAME", old, new


def _moves_mail(sub: Caller) -> tuple[str, str, str]:
    old, new = (f"{unique(name).replace(' ', '.')}@example.com" for name in ("old", "new"))
    for address in (old, new):
        sub.submitted("update_user_email", {"userId": sub.user_id, "userEmail": address})
    return "EMAIL", old, new


def _changes_key(sub: Caller) -> tuple[str, str, str]:
    old, new = generate_api_key().public_key, generate_api_key().public_key
    for key in (old, new):
        keys = {"userId": sub.user_id, "apiKeys": [api_key_params(key)]}
        made = sub.result("create_api_keys", keys)
        if key == old:
            sub.submitted("delete_api_keys", {"userId": sub.user_id, **made})
    return "PUBLIC_KEY", old, new


@pytest.mark.parametrize("changes", [_renames, _renames_user, _moves_mail, _changes_key])
def test_what_changed_is_found_by_its_new_value(
    changes: Callable[[Caller], tuple[str, str, str]], parent: Caller
) -> None:
    sub = new_sub_organization(parent)
    kind, old, new = changes(sub)
    assert listed(parent, filterType=kind, filterValue=old) == []
    assert listed(parent, filterType=kind, filterValue=new) == [sub.organization_id]


def test_a_deleted_sub_organization_is_not_found(parent: Caller) -> None:
    sub = new_sub_organization(parent)
    name = sub.asked("whoami")["organizationName"]
    made = sub.submitted("delete_sub_organization", {"deleteWithoutExport": True})
    assert made["result"]["deleteSubOrganizationResult"] == {"subOrganizationUuid": sub.organization_id}
    assert listed(parent, filterType="NAME", filterValue=name) == []
    assert sub.organization_id not in listed(parent, paginationOptions={"limit": "100"})
    for who in (sub, parent.with_key(parent.key, organization_id=sub.organization_id)):
        assert refusal(who.ask("list_users"))[0] == 404


def holding(parent: Caller, public_key: str) -> Caller:
    """A new sub-organization's root user, which the parent gave this key beside the first."""
    return new_sub_organization(parent, more_api_keys=[api_key_params(public_key)])


def test_whoami_of_a_key_in_several(parent: Caller) -> None:
    """None of them while there are two, the other once one is deleted; the parent's user if that had the key
    before."""
    key = generate_api_key()
    first, second = holding(parent, key.public_key), holding(parent, key.public_key)
    anywhere = parent.with_key(key)
    response = anywhere.ask("whoami")
    assert (refusal(response)[0], response.json()["details"][0]["turnkeyErrorCode"]) == (401, "CREDENTIAL_CONFLICT")
    for sub in (first, second):
        assert sub.with_key(key).asked("whoami")["userId"] == sub.user_id
    first.submitted("delete_sub_organization", {"deleteWithoutExport": True})
    answer = anywhere.asked("whoami")
    assert (answer["organizationId"], answer["userId"]) == (second.organization_id, second.user_id)
    asked = {"userId": parent.user_id, "apiKeys": [api_key_params(key.public_key)]}
    assert refusal(parent.submit("create_api_keys", asked))[0] == 400
    of_both = generate_api_key()
    asked = {"userId": parent.user_id, "apiKeys": [api_key_params(of_both.public_key)]}
    parent.submitted("create_api_keys", asked)
    third = holding(parent, of_both.public_key)
    assert parent.with_key(of_both).asked("whoami")["userId"] == parent.user_id
    assert third.with_key(of_both).asked("whoami")["userId"] == third.user_id


def test_a_key_of_both_acts_as_the_sub_organizations_user(parent: Caller) -> None:
    """A root user of the parent by that key, but there a user without rights."""
    key = generate_api_key()
    sub = new_sub_organization(parent)
    keys = [api_key_params(key.public_key)]
    parent.submitted("create_api_keys", {"userId": parent.user_id, "apiKeys": keys})
    users = [{"userName": "both", "apiKeys": keys, "authenticators": [], "oauthProviders": [], "userTags": []}]
    sub.submitted("create_users", {"users": users})
    tag = {"userTagName": unique("tag"), "userIds": []}
    assert refusal(sub.with_key(key).submit("create_user_tag", tag))[0] == 403
    assert parent.with_key(key).submitted("create_user_tag", tag)


def test_a_sub_organization_has_none_of_its_own(parent: Caller) -> None:
    sub = new_sub_organization(parent)
    user = {"userName": "u", "apiKeys": [], "authenticators": [], "oauthProviders": []}
    asked = {"subOrganizationName": "sub", "rootUsers": [user], "rootQuorumThreshold": 1}
    response = sub.submit("create_sub_organization", asked)
    assert refusal(response)[0] == 400
    assert response.json()["details"][0]["turnkeyErrorCode"] == "INVALID_ACTIVITY_CALLER"
    assert refusal(parent.submit("delete_sub_organization", {"deleteWithoutExport": True}))[0] == 400
