"""The organizations of the cases, with their records.

Here: making them with a client. Not here: the installation (`installation`), rows that are written directly to the
database (`histories`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from bench.ethereum import ABI, CHAIN_ID, TOKEN, VALUE_MAX
from bench.failure import BenchFailure
from bench.histories import write_history
from bench.policies import People, allowing, among_others, has_tag
from keystead.client import AggregationMethod, AggregationOperator, Client
from keystead.stamps.signing import ApiKeyPair, generate_api_key
from tests.compatibility.passkey import new_passkey

WALLETS = USERS = 10
POLICIES, FEW_POLICIES = 100, 10
MANY_ACCOUNTS, ACCOUNTS_AT_ONCE = 10_000, 1_000

ETHEREUM_ACCOUNT = {
    "curve": "CURVE_SECP256K1",
    "pathFormat": "PATH_FORMAT_BIP32",
    "path": "m/44'/60'/0'/0/0",
    "addressFormat": "ADDRESS_FORMAT_ETHEREUM",
}


class SetupServer(msgspec.Struct, frozen=True):
    """A running server on which organizations are made. `organization_id`, `key`: the first organization and its
    root user's key."""

    base_url: str
    database_url: str
    organization_id: str
    key: ApiKeyPair

    def client(self, organization_id: str, key: ApiKeyPair) -> Client:
        return Client(self.base_url, key.public_key, key.private_key, organization_id)

    @contextmanager
    def sub_organization(self, name: str) -> Iterator[tuple[Client, ApiKeyPair]]:
        """Make an organization with one root user. Returns the client and the key of this user."""
        key = generate_api_key()
        with self.client(self.organization_id, self.key) as parent:
            made = parent.submit(
                "create_sub_organization",
                {"subOrganizationName": name, "rootUsers": [root_user(key)], "rootQuorumThreshold": 1},
            )
        (result,) = made["activity"]["result"].values()
        with self.client(result["subOrganizationId"], key) as root:
            yield root, key


class Organization(msgspec.Struct, frozen=True, kw_only=True):
    """An organization, and the key that stamps the requests to it. `holds`: what distinguishes it, in words."""

    id: str
    key: ApiKeyPair
    holds: str = ""


Setup = Callable[[SetupServer], Organization]
"""Makes an organization."""


class OfTen(Organization, frozen=True, kw_only=True):
    authenticator_id: str


def empty(server: SetupServer) -> Organization:
    """An organization with only the root user, who sends the requests."""
    with server.sub_organization("Empty") as (root, key):
        return Organization(id=root.whoami().organization_id, key=key)


def of_ten(server: SetupServer) -> OfTen:
    """The installation's first organization, with 10 wallets and 10 users. Its root user sends the requests."""
    with server.client(server.organization_id, server.key) as client:
        for number in range(1, WALLETS + 1):
            client.submit("create_wallet", {"walletName": f"Wallet {number}", "accounts": [ETHEREUM_ACCOUNT]})
        _add_users(client, [generate_api_key() for _ in range(2, USERS + 1)])
        root = client.whoami().user_id
        client.submit("create_authenticators", {"userId": root, "authenticators": [_passkey("Root passkey")]})
        users = client.list_users().users
        if len(users) != USERS or len(client.list_wallets().wallets) != WALLETS:
            raise BenchFailure("the measured organization does not have the expected users and wallets")
    authenticator_id = next(user.authenticators[0].authenticator_id for user in users if user.user_id == root)
    return OfTen(id=server.organization_id, key=server.key, authenticator_id=authenticator_id)


class Tagged(Organization, frozen=True, kw_only=True):
    tag_id: str


def of_hundred_policies(server: SetupServer) -> Tagged:
    """10 users and 100 policies. The user who sends the requests is not a root user; one of the policies allows
    changes of tags."""
    with server.sub_organization("A hundred policies") as (root, _):
        key = _ruled(root, "activity.kind == 'UPDATE_USER_TAG'", POLICIES)
        tag = root.create_user_tag(user_tag_name="Desk", user_ids=[])
        return Tagged(
            id=root.whoami().organization_id, key=key, holds=f"{POLICIES} policies", tag_id=tag.result.user_tag_id
        )


class Signing(Organization, frozen=True, kw_only=True):
    """`addresses`: whose keys sign, in hex with 0x."""

    addresses: Sequence[str]


def that_signs_payloads(server: SetupServer) -> Signing:
    """10 users, 10 policies, a wallet. The user who sends the requests is not a root user; one of the policies
    allows signing of payloads."""
    return _signing(
        server, "Payloads", "activity.kind == 'SIGN_RAW_PAYLOAD' && wallet_account.address == '{address}'"
    )


def that_signs_by_many_keys(server: SetupServer) -> Signing:
    """Like `that_signs_payloads`, with more keys than the server caches."""
    condition = "activity.kind == 'SIGN_RAW_PAYLOAD' && wallet.label == 'Treasury'"
    return _signing(server, "Many keys", condition, accounts=MANY_ACCOUNTS)


_TOKEN_CALLS = (
    f"eth.tx.chain_id == {CHAIN_ID} && eth.tx.to == '{TOKEN}' && eth.tx.function_name == 'transfer'"
    f" && eth.tx.contract_call_args['_value'] < {VALUE_MAX}"
)
_INTERFACE = {
    "smartContractAddress": TOKEN,
    "smartContractInterface": ABI,
    "type": "SMART_CONTRACT_INTERFACE_TYPE_ETHEREUM",
    "label": "A token",
}


def that_signs_transactions(server: SetupServer) -> Signing:
    """Like `that_signs_payloads`, with the ABI of a token. The policy reads the call of the token."""
    return _signing(server, "Transactions", _TOKEN_CALLS, _INTERFACE)


def that_signs_payloads_under_a_control(server: SetupServer) -> Signing:
    """Like `that_signs_payloads`, with a velocity control that counts signatures."""
    condition = "activity.kind == 'SIGN_RAW_PAYLOAD' && wallet_account.address == '{address}' && controls.limit"
    return _signing(server, "Counted payloads", condition, control={"activityExecution": {}})


def that_signs_transactions_under_a_control(server: SetupServer) -> Signing:
    """Like `that_signs_transactions`, with a velocity control that sums the token."""
    asset = {"caip19": f"eip155:{CHAIN_ID}/erc20:{TOKEN}", "decimals": "18"}
    control = {"chainAssetTransfer": {"definition": [asset]}}
    return _signing(server, "Summed transactions", f"{_TOKEN_CALLS} && controls.limit", _INTERFACE, control=control)


def _signing(
    server: SetupServer,
    name: str,
    condition: str,
    interface: Mapping[str, str] | None = None,
    accounts: int = 1,
    control: Mapping[str, Any] | None = None,
) -> Signing:
    """`condition`: of the policy that allows. {address} in it is replaced by the address of the first account.
    `control`: what the velocity control `limit` counts."""
    with server.sub_organization(name) as (root, _):
        if interface is not None:
            root.submit("create_smart_contract_interface", interface)
        if control is not None:
            limit = {
                "method": AggregationMethod.SUM,
                "operator": AggregationOperator.LESS_THAN_OR_EQUAL,
                "threshold": "9" * 30,
                "window": {"rolling": {"duration": "3600"}},
                "groupBy": {"organization": {}},
            }
            named = {"name": "Limit", "identifier": "limit"}
            root.submit("create_velocity_control", {**named, "dataSource": control, "aggregation": limit})
        addresses = _wallet(root, accounts)
        key = _ruled(root, condition.replace("{address}", addresses[0]), FEW_POLICIES)
        organization_id = root.whoami().organization_id
        holds = f"{FEW_POLICIES} policies" + ("" if control is None else ", a velocity control")
        return Signing(id=organization_id, key=key, holds=holds, addresses=addresses)


def _wallet(root: Client, accounts: int) -> Sequence[str]:
    """Make a wallet with this number of accounts. Returns their addresses."""
    planned = [ETHEREUM_ACCOUNT | {"path": f"m/44'/60'/0'/0/{index}"} for index in range(accounts)]
    made = root.submit("create_wallet", {"walletName": "Treasury", "accounts": planned[:ACCOUNTS_AT_ONCE]})
    wallet = made["activity"]["result"]["createWalletResult"]
    addresses = wallet["addresses"]
    for first in range(ACCOUNTS_AT_ONCE, accounts, ACCOUNTS_AT_ONCE):
        more = {"walletId": wallet["walletId"], "accounts": planned[first : first + ACCOUNTS_AT_ONCE]}
        made = root.submit("create_wallet_accounts", more)
        addresses += made["activity"]["result"]["createWalletAccountsResult"]["addresses"]
    return list(addresses)


class Recorded(Organization, frozen=True, kw_only=True):
    """`cursors`: ids of activities from the middle of the list."""

    cursors: Sequence[str]


def of_thousand_activities(server: SetupServer) -> Recorded:
    return _recorded(server, 1_000)


def of_hundred_thousand_activities(server: SetupServer) -> Recorded:
    return _recorded(server, 100_000)


def _recorded(server: SetupServer, count: int) -> Recorded:
    """An organization with this number of activities. The root user has submitted them and sends the requests."""
    with server.sub_organization(f"{count} activities") as (root, key):
        (user,) = root.list_users().users
        organization_id = root.whoami().organization_id
        cursors = write_history(server.database_url, organization_id, user, count)
        return Recorded(id=organization_id, key=key, holds=f"{count:,} activities", cursors=cursors)


def _ruled(root: Client, condition: str, policies: int) -> ApiKeyPair:
    """Add nine users and this number of policies. One of the policies allows the condition to a tag of the first
    of these users.

    Returns the key of this user.
    """
    keys = [generate_api_key() for _ in range(2, USERS + 1)]
    asker_id, *user_ids = _add_users(root, keys)
    asker_tag, *tags = (
        root.create_user_tag(user_tag_name=name, user_ids=members).result.user_tag_id
        for name, members in (
            ("Operators", [asker_id]),
            ("Treasury", user_ids[:4]),
            ("Security", user_ids[2:6]),
            ("Trading", user_ids[4:]),
        )
    )
    people = People(user_ids, tags)
    root.submit(
        "create_policies", {"policies": among_others(allowing(has_tag(asker_tag), condition), people, policies)}
    )
    if len(root.list_policies().policies) != policies:
        raise BenchFailure("the measured organization does not have the expected policies")
    return keys[0]


def _add_users(client: Client, keys: Sequence[ApiKeyPair]) -> list[str]:
    """Add a user with a passkey for each key. Returns their ids."""
    users = [_user(number, key) for number, key in enumerate(keys, 2)]
    made = client.submit("create_users", {"users": users})
    return list(made["activity"]["result"]["createUsersResult"]["userIds"])


def _user(number: int, key: ApiKeyPair) -> dict[str, object]:
    return {
        **root_user(key),
        "userName": f"User {number}",
        "userEmail": f"user{number}@example.com",
        "userTags": [],
    }


def root_user(key: ApiKeyPair) -> dict[str, object]:
    """The parameters of a new user with this key and a new passkey."""
    return {
        "userName": "Root user",
        "apiKeys": [{"apiKeyName": "Key", "publicKey": key.public_key, "curveType": "API_KEY_CURVE_P256"}],
        "authenticators": [_passkey("Passkey")],
        "oauthProviders": [],
    }


def _passkey(name: str) -> dict[str, object]:
    return {"authenticatorName": name, **new_passkey()}
