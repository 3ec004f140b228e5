"""Records to put into an organization, and an organization that has one of each kind."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from keystead.api.identifiers import new_id
from tests.callers import Caller, unique
from tests.passkeys import SoftPasskey

ERC20_TRANSFER = json.dumps(
    [
        {
            "type": "function",
            "name": "transfer",
            "inputs": [{"name": "to", "type": "address"}, {"name": "value", "type": "uint256"}],
            "outputs": [{"name": "", "type": "bool"}],
            "stateMutability": "nonpayable",
        }
    ]
)
IDL = json.dumps({"instructions": [{"name": "go", "accounts": [], "args": []}], "types": []})
ETHEREUM_ACCOUNT = {
    "curve": "CURVE_SECP256K1",
    "pathFormat": "PATH_FORMAT_BIP32",
    "path": "m/44'/60'/0'/0/0",
    "addressFormat": "ADDRESS_FORMAT_ETHEREUM",
}
SOLANA_ACCOUNT = {
    "curve": "CURVE_ED25519",
    "pathFormat": "PATH_FORMAT_BIP32",
    "path": "m/44'/501'/0'/0",
    "addressFormat": "ADDRESS_FORMAT_SOLANA",
}


@dataclass(frozen=True)
class Furniture:
    """Ids of records in an organization, one of each kind; and, where there is a caller, of ever new ones."""

    user_id: str
    api_key_id: str
    authenticator_id: str
    mfa_policy_id: str
    user_tag_id: str
    wallet_id: str
    contract_interface_id: str
    activity_id: str
    caller: Caller | None = None

    def new_user_id(self) -> str:
        """Of a user made just now, who has only a key."""
        return self.caller.new_user().user_id if self.caller else new_id()

    def new(self, operation: str, parameters: Callable[[], dict[str, Any]], result: str) -> str:
        """The id of a record made just now, the first one under this member of the operation's result."""
        if self.caller is None:
            return new_id()
        made = self.caller.result(operation, parameters())[result]
        return str(made if isinstance(made, str) else made[0])


NOWHERE = Furniture(new_id(), new_id(), new_id(), new_id(), new_id(), new_id(), new_id(), new_id())
"""Ids of nothing, for requests that are refused before anything is looked up."""


def furnish(caller: Caller) -> Furniture:
    """Put one record of each kind into the caller's organization."""
    user_id = caller.new_user().user_id
    passkey = caller.result(
        "create_authenticators", {"userId": user_id, "authenticators": [SoftPasskey().params()]}
    )
    policy = caller.result("create_mfa_policy", mfa_policy_params(user_id, passkey["authenticatorIds"][0]))
    tag = caller.result("create_user_tag", {"userTagName": unique("tag"), "userIds": [user_id]})
    accounts = [ETHEREUM_ACCOUNT, SOLANA_ACCOUNT]
    wallet = caller.result("create_wallet", {"walletName": unique("wallet"), "accounts": accounts})
    interface = caller.submitted("create_smart_contract_interface", interface_params(), generateAppProofs=True)
    return Furniture(
        user_id=user_id,
        api_key_id=caller.asked("get_user", userId=user_id)["user"]["apiKeys"][0]["apiKeyId"],
        authenticator_id=passkey["authenticatorIds"][0],
        mfa_policy_id=policy["mfaPolicyId"],
        user_tag_id=tag["userTagId"],
        wallet_id=wallet["walletId"],
        contract_interface_id=interface["result"]["createSmartContractInterfaceResult"]["smartContractInterfaceId"],
        activity_id=interface["id"],
        caller=caller,
    )


def mfa_policy_params(user_id: str, authenticator_id: str) -> dict[str, Any]:
    return {
        "userId": user_id,
        "mfaPolicyName": unique("policy"),
        "condition": "activity.kind == 'EXPORT_WALLET'",
        "requiredAuthenticationMethods": [
            {"any": [{"type": "AUTHENTICATION_TYPE_PASSKEY", "id": authenticator_id}]}
        ],
        "order": secrets.randbelow(2**40),
        "notes": "for exports",
    }


def interface_params(**members: Any) -> dict[str, Any]:
    return {
        "smartContractAddress": f"0x{secrets.token_hex(20)}",
        "smartContractInterface": ERC20_TRANSFER,
        "type": "SMART_CONTRACT_INTERFACE_TYPE_ETHEREUM",
        "label": unique("interface"),
        "notes": "of a token",
    } | members
