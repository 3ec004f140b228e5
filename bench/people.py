"""People who log in and sign. Each is the root user of one of very many sub-organizations, with a wallet.

Here: their rows, written straight to the database, since making a hundred thousand through the API would take
hours; what they ask for. All wallets have the same mnemonic, sealed for each: nothing that the server keeps of one
helps another. Not here: organizations without a parent (`many_organizations`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import httpx
import msgspec

from bench.installation import Installation
from bench.organizations import ETHEREUM_ACCOUNT
from bench.rows import Batch, shown, write
from bench.stamping import on_the_wire
from keystead.api.enums import ApiKeyCurve, CredentialType
from keystead.api.identifiers import new_id
from keystead.api.parameters import ApiKeyParamsV2
from keystead.api.records import Timestamp, User, Wallet
from keystead.chains.paths import comparison_form
from keystead.client import Client
from keystead.keys import sealing
from keystead.keys.master_key import load
from keystead.keys.material import WalletSecret, derive_accounts, plan_accounts, wallet_context
from keystead.keys.mnemonic import mnemonic_from_entropy, seed_from_mnemonic
from keystead.keys.sealing import MasterKey
from keystead.operations.wallets.derived_accounts import account_record
from keystead.organizations.attachments import MNEMONIC_PURPOSE, NewAccount, SealedSecret
from keystead.organizations.credentials.api_keys import new_api_key
from keystead.organizations.credentials.sessions import session_key
from keystead.organizations.kinds.data_key import SealedDataKey
from keystead.organizations.kinds.profile import Profile, RootQuorum
from keystead.organizations.lookups import name_lookup, user_lookups
from keystead.organizations.organization import Record, Version, from_records
from keystead.pipeline.signer_values import AccountRequest, DerivedAccount
from keystead.stamps.signing import ApiKeyPair, generate_api_key
from keystead.storage.row_encoding import rows_of_new_organization
from keystead.storage.rows import Row

_AT_ONCE = 2_500
_SESSION_S = 30 * 86_400


class Person(NamedTuple):
    """`key` lasts; `session` is the key of a session that has begun. `address`: of the wallet's one account."""

    organization_id: str
    key: ApiKeyPair
    session: ApiKeyPair
    address: str


class PersonCase(msgspec.Struct, frozen=True, kw_only=True):
    """What a person asks for. `by_session`: stamped by the session's key, else by the lasting key.
    `names_parent`: the request names the parent, which finds the sub-organization by the key."""

    name: str
    path: str
    by_session: bool
    names_parent: bool
    parameters: Callable[[Person], Mapping[str, Any]]


def _session_key(_: Person) -> Mapping[str, Any]:
    return {"publicKey": generate_api_key().public_key}


def _payload(person: Person) -> Mapping[str, Any]:
    return {
        "signWith": person.address,
        "payload": generate_api_key().private_key,  # 32 random bytes in hex
        "encoding": "PAYLOAD_ENCODING_HEXADECIMAL",
        "hashFunction": "HASH_FUNCTION_NO_OP",
    }


PERSON_CASES = {
    case.name: case
    for case in (
        PersonCase(
            name="sign_raw_payload by a session",
            path="submit/sign_raw_payload",
            by_session=True,
            names_parent=False,
            parameters=_payload,
        ),
        PersonCase(
            name="stamp_login",
            path="submit/stamp_login",
            by_session=False,
            names_parent=True,
            parameters=_session_key,
        ),
    )
}
"""In this order: a person's tenth login ends the session that is there at the beginning."""


def requests_of(case: PersonCase, people: Iterable[Person], parent_id: str, base_url: str) -> list[bytes]:
    """One request of each of these people, as bytes to be sent."""
    with httpx.Client() as http:  # never used: no request leaves this way
        return [_request(case, person, parent_id, base_url, http) for person in people]


def _request(case: PersonCase, person: Person, parent_id: str, base_url: str, http: httpx.Client) -> bytes:
    key = person.session if case.by_session else person.key
    named = parent_id if case.names_parent else person.organization_id
    client = Client(base_url, key.public_key, key.private_key, named, http_client=http)
    return on_the_wire(client.prepare(case.path, {"parameters": case.parameters(person)}))


class _SharedWallet(NamedTuple):
    secret: WalletSecret
    account: DerivedAccount


def write_people(installation: Installation, parent_id: str, count: int) -> Sequence[Person]:
    """Write the sub-organizations of `count` people under this parent to the installation's database."""
    wallet = _shared_wallet()
    people = [
        Person(new_id(), generate_api_key(), generate_api_key(), wallet.account.address) for _ in range(count)
    ]
    batches = _batches(load(installation.master_key_file), parent_id, wallet, people)
    write(installation.database_url, shown(batches, "people", _AT_ONCE, count))
    return people


def _shared_wallet() -> _SharedWallet:
    mnemonic = mnemonic_from_entropy(bytes(range(16)))
    secret = WalletSecret(mnemonic=mnemonic, seed=seed_from_mnemonic(mnemonic))
    members = {
        "curve": ETHEREUM_ACCOUNT["curve"],
        "path_format": ETHEREUM_ACCOUNT["pathFormat"],
        "path": ETHEREUM_ACCOUNT["path"],
        "address_format": ETHEREUM_ACCOUNT["addressFormat"],
    }
    steps = derive_accounts(secret.seed, plan_accounts([msgspec.convert(members, AccountRequest)]))
    while True:
        try:
            next(steps)
        except StopIteration as derived:
            (account,) = derived.value
            return _SharedWallet(secret, account)


def _batches(
    master_key: MasterKey, parent_id: str, wallet: _SharedWallet, people: Sequence[Person]
) -> Iterator[Batch]:
    for begin in range(0, len(people), _AT_ONCE):
        rows: list[tuple[str, Row]] = []
        for person in people[begin : begin + _AT_ONCE]:
            rows.extend(_rows(master_key, parent_id, wallet, person))
        yield rows


def _rows(
    master_key: MasterKey, parent_id: str, shared: _SharedWallet, person: Person
) -> Iterable[tuple[str, Row]]:
    now_ms = time.time_ns() // 1_000_000
    now, data_key, wallet_id = Timestamp.from_ms(now_ms), sealing.DataKey.generate(), new_id()
    params = ApiKeyParamsV2(api_key_name="Key", public_key=person.key.public_key, curve_type=ApiKeyCurve.P256)
    begun = session_key(new_id(), "Session", person.session.public_key, CredentialType.LOGIN, _SESSION_S, now_ms)
    user = User(
        user_id=new_id(),
        user_name="Somebody",
        authenticators=(),
        api_keys=(new_api_key(params, new_id(), now, "key"), begun),
        user_tags=(),
        oauth_providers=(),
        mfa_policies=(),
        created_at=now,
        updated_at=now,
    )
    profile = Profile(
        name="One of many", root_quorum=RootQuorum(1, (user.user_id,)), created_at=now, parent_id=parent_id
    )
    wallet = Wallet(
        wallet_id=wallet_id, wallet_name="Savings", created_at=now, updated_at=now, exported=False, imported=False
    )
    records: list[Record] = [
        profile,
        SealedDataKey(master_key.seal_data_key(data_key, person.organization_id)),
        user,
        wallet,
    ]
    sealed = data_key.seal(msgspec.json.encode(shared.secret), wallet_context(person.organization_id, wallet_id))
    account = account_record(new_id(), person.organization_id, wallet_id, shared.account, None, now)
    attached = (
        SealedSecret(wallet_id, MNEMONIC_PURPOSE, sealed),
        NewAccount(account, comparison_form(account.curve, account.path)),
    )
    organization = from_records(person.organization_id, Version(1, new_id()), records)
    found_by = user_lookups(user) | {name_lookup(profile.name)}
    return rows_of_new_organization(organization, attached, found_by, {}).inserted
