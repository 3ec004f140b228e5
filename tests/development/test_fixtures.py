"""The file of `keystead dev --fixtures`: what it makes, the same on every machine, and what it must not be."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from keystead import ApiKeyCurve, Client, Curve, generate_api_key
from keystead.api.developer_controls import MadeOrganization
from keystead.client.shapes import ApiKeyParamsV2
from keystead.server.development.fixture_file import (
    FixtureApiKey,
    FixtureError,
    FixturePrivateKey,
    FixtureWallet,
    read_fixtures,
)
from tests.support.commands import run_keystead
from tests.support.dev_servers import dev

FILE = """
[[organizations]]
organizationName = "Acme"
rootUsers = ["Ada", "Bob"]
threshold = 2

[[organizations.users]]
userName = "Ada"
userEmail = "ada@example.com"
userPhoneNumber = "+15555550100"
apiKeys = [{ apiKeyName = "laptop" }, { apiKeyName = "phone" }]

[[organizations.users]]
userName = "Bob"
apiKeys = [{ privateKey = "0000000000000000000000000000000000000000000000000000000000000007" }]

[[organizations.userTags]]
userTagName = "Operators"
users = ["Bob"]

[[organizations.wallets]]
walletName = "Known"
mnemonic = "test test test test test test test test test test test junk"

[[organizations.wallets.accounts]]
curve = "CURVE_SECP256K1"
pathFormat = "PATH_FORMAT_BIP32"
path = "m/44'/60'/0'/0/0"
addressFormat = "ADDRESS_FORMAT_ETHEREUM"
name = "first"

[[organizations.wallets]]
walletName = "Derived"

[[organizations.wallets.accounts]]
curve = "CURVE_ED25519"
pathFormat = "PATH_FORMAT_BIP32"
path = "m/44'/501'/0'/0'"
addressFormat = "ADDRESS_FORMAT_SOLANA"

[[organizations.privateKeys]]
privateKeyName = "Seven"
curve = "CURVE_SECP256K1"
addressFormats = ["ADDRESS_FORMAT_ETHEREUM"]
privateKey = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"

[[organizations.privateKeyTags]]
privateKeyTagName = "Hot"
privateKeys = ["Seven"]

[[organizations.policies]]
policyName = "operators sign"
effect = "EFFECT_ALLOW"
consensus = "approvers.any(user, user.tags.contains('{tag:Operators}'))"
condition = "activity.action == 'SIGN' && private_key.tags.contains('{privateKeyTag:Hot}')"

[[organizations.smartContractInterfaces]]
label = "ERC-20"
smartContractAddress = "0x5fbdb2315678afecb367f032d93f642f64180aa3"
type = "SMART_CONTRACT_INTERFACE_TYPE_ETHEREUM"
smartContractInterface = '''[{"type": "function", "name": "transfer", "inputs":
  [{"name": "to", "type": "address"}, {"name": "value", "type": "uint256"}], "outputs": []}]'''

[[organizations.subOrganizations]]
organizationName = "Below"

[[organizations.subOrganizations.users]]
userName = "Cem"
"""
FIRST_ADDRESS = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
"""The address of the test mnemonic's first account. The private key has the same address."""


class Key(NamedTuple):
    organization: str
    organization_id: str
    user: str
    user_id: str
    public_key: str
    private_key: str


def printed_keys(log: Path) -> list[Key]:
    pattern = r"^  (.+) \((.{36})\), (.+) \((.{36})\)\n    public key    (\w+)\n    private key   (.+)$"
    return [Key(*found) for found in re.findall(pattern, log.read_text(), re.MULTILINE)]


def seen(client: Client) -> list[Any]:
    """Everything that a fixture makes, as its organization shows it."""
    return [
        [
            (user.user_id, user.user_name, user.user_email, user.user_phone_number)
            for user in client.list_users().users
        ],
        [(tag.tag_id, tag.tag_name) for tag in client.list_user_tags().user_tags],
        [(wallet.wallet_id, wallet.wallet_name) for wallet in client.list_wallets().wallets],
        [
            (account.wallet_account_id, account.address, account.name)
            for wallet in client.list_wallets().wallets
            for account in client.list_wallet_accounts(wallet_id=wallet.wallet_id).accounts
        ],
        [
            (key.private_key_id, key.addresses, key.private_key_tags)
            for key in client.list_private_keys().private_keys
        ],
        [(policy.policy_id, policy.consensus, policy.condition) for policy in client.list_policies().policies],
        [
            one.smart_contract_interface_id
            for one in client.list_smart_contract_interfaces().smart_contract_interfaces
        ],
        client.get_organization_configs().configs.quorum,
    ]


def test_the_same_on_every_machine(tmp_path: Path) -> None:
    (tmp_path / "fixtures.toml").write_text(FILE)
    found = []
    for options in (["--memory"], ["--data", "data"], ["--data", "data"]):
        with dev(tmp_path, "--fixtures", "fixtures.toml", *options) as started:
            started.wait_for("Fixtures:")
            keys = printed_keys(started.log)
            assert [key.user for key in keys] == ["Ada", "Ada", "Bob", "Cem"]
            with Client(started.base_url, *keys[0][4:], keys[0].organization_id) as client:
                found.append((keys, seen(client)))
            with Client(started.base_url, *keys[3][4:], keys[3].organization_id) as below:
                assert below.whoami().user_id == keys[3].user_id
    assert found[0] == found[1] == found[2]
    keys, (users, tags, wallets, accounts, private_keys, policies, interfaces, quorum) = found[0]
    assert [user[1:] for user in users] == [("Ada", "ada@example.com", "+15555550100"), ("Bob", None, None)]
    assert keys[2].private_key == f"{7:064x}"
    assert sorted(name for _, name in wallets) == ["Derived", "Known"]
    assert (FIRST_ADDRESS, "first") in [account[1:] for account in accounts]
    assert private_keys[0][1][0].address == FIRST_ADDRESS
    assert policies[0][1] == f"approvers.any(user, user.tags.contains('{tags[0][0]}'))"
    assert len(interfaces) == 1
    assert (quorum.threshold, set(quorum.user_ids)) == (2, {user[0] for user in users})


REFUSED = [
    ('organizations = [{ organizationName = "A" }]', "missing required field `users`"),
    ('[[organizations]]\norganizationName = "A"\nusers = []', "at least 1"),
    ('[[organizations]]\norganizationName = "A"\nusers = [{ userName = "B", age = 3 }]', "unknown field `age`"),
    ('[[organizations]]\norganizationName = "A"\nusers = [{ userName = 3 }]', "expected text, got a number"),
    ("organizations = [", ""),
]


@pytest.mark.parametrize(("text", "why"), REFUSED)
def test_files_that_cannot_be_read(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "fixtures.toml").write_text(text)
    with pytest.raises(FixtureError, match=r"fixtures\.toml: ") as refused:
        read_fixtures(tmp_path / "fixtures.toml")
    assert why in str(refused.value)


@pytest.mark.parametrize(
    ("name", "why"), [("missing.toml", "No such file"), ("fixtures.yaml", "ends in .toml or .json")]
)
def test_files_of_another_name(tmp_path: Path, name: str, why: str) -> None:
    (tmp_path / "fixtures.yaml").write_text("")
    with pytest.raises(FixtureError, match=why):
        read_fixtures(tmp_path / name)


MISTAKES = [
    (FILE.replace('rootUsers = ["Ada", "Bob"]', 'rootUsers = ["Eve", "Bob"]'), "Acme: there is no user 'Eve'"),
    (FILE.replace("{tag:Operators}", "{tag:Auditors}"), "Acme: there is no tag 'Auditors'"),
    (FILE.replace("activity.action ==", "activity.actions =="), "Acme / policy / operators sign: "),
    (FILE.replace("junk", "test"), "Acme: "),
]


@pytest.mark.parametrize(("text", "why"), MISTAKES, ids=["user", "tag", "condition", "mnemonic"])
def test_what_the_rules_of_the_api_refuse(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "fixtures.toml").write_text(text)
    run = run_keystead("dev", "--port", "0", "--memory", "--fixtures", "fixtures.toml", cwd=tmp_path)
    assert run.returncode == 1
    assert why in run.stderr


def test_the_example_of_the_page(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "development.md").read_text()
    (example,) = re.findall(r"^```toml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "acme.toml").write_text(example)
    with dev(tmp_path, "--memory", "--fixtures", "acme.toml") as started:
        started.wait_for("Fixtures:")
        keys = printed_keys(started.log)
        assert [key.user for key in keys] == ["Ada", "Bob", "Bob"]


def test_what_is_exported_makes_the_same(tmp_path: Path) -> None:
    """The organization that fixtures made, as a file: a server makes it again, with the same ids and addresses."""
    (tmp_path / "first.toml").write_text(FILE.replace("threshold = 2", "threshold = 1"))
    found = []
    for source, target in (("first.toml", "second.json"), ("second.json", "third.json")):
        with dev(tmp_path, "--memory", "--fixtures", source) as started:
            started.wait_for("Fixtures:")
            key = printed_keys(started.log)[0]
            (tmp_path / "ada.json").write_text(
                json.dumps(
                    {
                        "baseUrl": started.base_url,
                        "organizationId": key.organization_id,
                        "apiPublicKey": key.public_key,
                        "apiPrivateKey": key.private_key,
                    }
                )
            )
            with Client.from_credentials(tmp_path / "ada.json") as client:
                found.append(seen(client))
            run = run_keystead("fixtures", "export", "--credentials", "ada.json", cwd=tmp_path)
            assert run.returncode == 0, run.stderr
            assert run.stderr == ""
            (tmp_path / target).write_text(run.stdout)
    first, second = found
    by_id = [[sorted(map(str, kind)) for kind in one[:7]] for one in found]
    for position, (before, after) in enumerate(zip(*by_id, strict=True)):
        if position not in (2, 3):  # the wallet that was derived has a mnemonic now, and so another identifier
            assert before == after
    assert {account[1:] for account in first[3]} == {account[1:] for account in second[3]}
    exported = [json.loads((tmp_path / name).read_text()) for name in ("second.json", "third.json")]
    assert exported[0] == exported[1]


def test_what_fixtures_cannot_hold_is_named(tmp_path: Path) -> None:
    with dev(tmp_path, "--memory") as started:
        key = generate_api_key(ApiKeyCurve.ED25519)
        with Client.from_credentials(started.credentials) as client:
            params = ApiKeyParamsV2(api_key_name="other", public_key=key.public_key, curve_type=ApiKeyCurve.ED25519)
            client.create_api_keys(user_id=client.whoami().user_id, api_keys=[params])
        run = run_keystead("fixtures", "export", "--credentials", "keys.json", cwd=tmp_path)
        assert run.stderr == "left out: API key other of user Developer: it expires, or is not P-256\n"
        (organization,) = json.loads(run.stdout)["organizations"]
        assert organization["wallets"][0]["mnemonic"].endswith("junk")
        assert [user["userName"] for user in organization["users"]] == ["Developer"]
        assert organization["policies"] == []


@pytest.mark.parametrize(
    "fixture",
    [
        FixtureApiKey(private_key="5ec7e7" * 10 + "5ec7"),
        FixturePrivateKey(private_key_name="Key", curve=Curve.SECP256K1, private_key="5ec7e7" * 10 + "5ec7"),
        FixtureWallet(wallet_name="Wallet", mnemonic="5ec7e7 words"),
        MadeOrganization(
            organization_id="1", user_id="2", api_public_key="02", api_private_key="5ec7e7" * 10 + "5ec7"
        ),
    ],
    ids=lambda fixture: type(fixture).__name__,
)
def test_secrets_are_in_no_repr(fixture: object) -> None:
    assert "5ec7e7" not in repr(fixture) + str([fixture])
