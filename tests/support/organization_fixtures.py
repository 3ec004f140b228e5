"""The records of an organization for the examples: one of each kind, and more of them on demand.

Not here: the requests themselves (`examples`).
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

from keystead.api.identifiers import new_id
from keystead.keys.mnemonic import mnemonic_from_entropy
from keystead.sessions.session_tokens import nonce_of
from keystead.stamps.signing import generate_api_key
from tests.support import bundles
from tests.support.callers import Caller, answered, api_key_params, now_ms, unique
from tests.support.example_codes import an_address, encrypted_sandbox_code, login_parameters, sandbox_code
from tests.support.issuers import ISSUER
from tests.support.login_wallets import new_wallet, signed_login, wallet_params
from tests.support.oauth2_provider import SECRET
from tests.support.passkeys import SoftPasskey

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
FEATURE = "FEATURE_NAME_SOLANA_RENT_PREFUND_ENABLED"
SECRET_SUITE = "TRANSPORT_ENCRYPTION_SUITE_ENCLAVE_ENCRYPT_V1"
OTP_FEATURE = "FEATURE_NAME_OTP_EMAIL_AUTH"
"""One that changes nothing else."""


def _nothing(_: str) -> str:
    return new_id()


@dataclass(frozen=True)
class RecordIds:
    """Ids of records in an organization, one of each kind.

    `fresh` makes another record, to be deleted or voted on, and gives its id: `fresh("policy")`.
    """

    root_user_id: str
    user_id: str
    api_key_id: str
    authenticator_id: str
    mfa_policy_id: str
    user_tag_id: str
    policy_id: str
    wallet_id: str
    private_key_id: str
    private_key_tag_id: str
    contract_interface_id: str
    activity_id: str
    fresh: Callable[[str], str] = field(default=_nothing, repr=False)

    _kept: dict[str, str] = field(default_factory=dict, repr=False)

    def kept(self, kind: str) -> str:
        """The id of one more record, the same each time."""
        if kind not in self._kept:
            self._kept[kind] = self.fresh(kind)
        return self._kept[kind]

    def token(self, public_key: str) -> str:
        """An ID token of the holder's identity for a login by this key."""
        subject = self.fresh("subject")
        return ISSUER.token(now_ms() // 1000, sub=subject, nonce=nonce_of(public_key))


_IDS: dict[str, Any] = {one.name: new_id() for one in fields(RecordIds) if one.name not in ("fresh", "_kept")}
UNKNOWN_IDS = RecordIds(**_IDS)
"""Ids of no record, for requests that are refused before any look-up."""


def create_records(caller: Caller, holder: Caller | None = None) -> RecordIds:
    """Put one record of each kind into the organization of the caller, who is its root user. Credentials, tags and
    MFA policies are those of the holder, else of a new user."""
    user = holder or caller.new_user()
    fresh = _Fresh(caller, user)
    interface = caller.submitted("create_smart_contract_interface", interface_params(), generateAppProofs=True)
    wallet = {"walletName": unique("wallet"), "accounts": [ETHEREUM_ACCOUNT, SOLANA_ACCOUNT]}
    return RecordIds(
        root_user_id=caller.user_id,
        user_id=user.user_id,
        api_key_id=caller.asked("get_api_keys", userId=user.user_id)["apiKeys"][0]["apiKeyId"],
        authenticator_id=fresh("authenticator"),
        mfa_policy_id=fresh("mfa_policy"),
        user_tag_id=caller.result("create_user_tag", {"userTagName": unique("tag"), "userIds": [user.user_id]})[
            "userTagId"
        ],
        policy_id=fresh("policy"),
        wallet_id=caller.result("create_wallet", wallet)["walletId"],
        private_key_id=fresh("private_key"),
        private_key_tag_id=fresh("private_key_tag"),
        contract_interface_id=interface["result"]["createSmartContractInterfaceResult"]["smartContractInterfaceId"],
        activity_id=interface["id"],
        fresh=fresh,
    )


class _Fresh:
    """Makes records in the root user's organization. The holder has the credentials and may only vote."""

    def __init__(self, root: Caller, holder: Caller) -> None:
        self._root = root
        self._holder = holder
        self._proposer: Caller | None = None
        self._guest = holder

    def __call__(self, kind: str) -> str:
        made: str = getattr(self, f"_{kind}")()
        return made

    def _one(self, operation: str, parameters: dict[str, Any], ids: str) -> Any:
        return self._root.result(operation, parameters)[ids][0]

    def _of_user(self, **parameters: Any) -> dict[str, Any]:
        return {"userId": self._holder.user_id, **parameters}

    def _user(self) -> str:
        return self._root.new_user().user_id

    def _api_key(self) -> str:
        key = api_key_params(generate_api_key().public_key, expirationSeconds="3600")
        return str(self._one("create_api_keys", self._of_user(apiKeys=[key]), "apiKeyIds"))

    def _ip_allowlist(self) -> str:
        """The public key of an API key that has one, unless this is a sub-organization: these have none."""
        user = self._root.new_user()
        rules = [{"cidr": "192.0.2.0/24", "label": "office"}]
        self._root.submit("set_ip_allowlist", {"publicKey": user.key.public_key, "rules": rules})
        return user.key.public_key

    def _authenticator(self) -> str:
        passkey = SoftPasskey().params()
        return str(self._one("create_authenticators", self._of_user(authenticators=[passkey]), "authenticatorIds"))

    def _provider(self) -> str:
        token = ISSUER.token(now_ms() // 1000, sub=unique("subject"))
        provider = {"providerName": unique("provider"), "oidcToken": token}
        return str(self._one("create_oauth_providers", self._of_user(oauthProviders=[provider]), "providerIds"))

    def _wallet_authenticator(self) -> str:
        wallets = [json.loads(self._proven_wallet())]
        parameters = self._of_user(walletAuthenticators=wallets)
        return str(self._one("create_wallet_authenticators", parameters, "walletAuthenticatorIds"))

    def _proven_wallet(self) -> str:
        """A wallet with its token, as a request names it."""
        wallet = new_wallet()
        asked = signed_login(wallet, generate_api_key().public_key, now_ms())
        return json.dumps(wallet_params(wallet, **self._root.result("verify_wallet_authenticator", asked)))

    def _mfa_policy(self) -> str:
        policy = mfa_policy_params(self._holder.user_id, [{"type": "AUTHENTICATION_TYPE_API_KEY"}])
        return str(self._root.result("create_mfa_policy", policy)["mfaPolicyId"])

    def _webhook_endpoint(self) -> str:
        return str(self._root.result("create_webhook_endpoint", webhook_endpoint_params())["endpointId"])

    def _velocity_control(self) -> str:
        return str(self._root.result("create_velocity_control", velocity_control_params())["velocityControlId"])

    def _session_profile(self) -> str:
        return str(self._root.result("create_session_profile", session_profile_params())["sessionProfileId"])

    def _subject(self) -> str:
        """The subject of an identity that a new user has."""
        subject = unique("subject")
        token = ISSUER.token(now_ms() // 1000, sub=subject)
        provider = {"providerName": unique("provider"), "oidcToken": token}
        parameters = {"userId": self._user(), "oauthProviders": [provider]}
        self._root.submitted("create_oauth_providers", parameters)
        return subject

    def _email(self) -> str:
        email = f"{secrets.token_hex(8)}@example.com"
        self._root.new_user(userEmail=email)
        return email

    def _user_tag(self) -> str:
        tag = {"userTagName": unique("tag"), "userIds": [self._holder.user_id]}
        return str(self._root.result("create_user_tag", tag)["userTagId"])

    def _wallet(self) -> str:
        wallet = {"walletName": unique("wallet"), "accounts": [ETHEREUM_ACCOUNT]}
        return str(self._root.result("create_wallet", wallet)["walletId"])

    def _wallet_account(self) -> str:
        accounts = self._root.asked("list_wallet_accounts", walletId=self._wallet())["accounts"]
        return str(accounts[0]["walletAccountId"])

    def _private_key(self) -> str:
        made = self._root.result("create_private_keys", {"privateKeys": [private_key_params()]})
        return str(made["privateKeys"][0]["privateKeyId"])

    def _private_key_tag(self) -> str:
        tag = {"privateKeyTagName": unique("tag"), "privateKeyIds": [self._private_key()]}
        return str(self._root.result("create_private_key_tag", tag)["privateKeyTagId"])

    def _auth_proxy(self) -> str:
        return str(self._root.result("enable_auth_proxy", {})["userId"])

    def _client_secret(self) -> str:
        keys = self._root.http.get("/installation-keys").json()["keys"]
        (key,) = [key for key in keys if key["name"] == "client_secret_key"]
        return bundles.client_secret(SECRET.encode(), bytes.fromhex(key["publicKey"]))

    def _oauth2_credential(self) -> str:
        credential = {
            "provider": "OAUTH2_PROVIDER_DISCORD",
            "clientId": unique("client"),
            "encryptedClientSecret": self._client_secret(),
        }
        return str(self._root.result("create_oauth2_credential", credential)["oauth2CredentialId"])

    def _policy(self) -> str:
        return str(self._root.result("create_policy", policy_params())["policyId"])

    def _invitation(self) -> str:
        invitations = [invitation_params(self._root.user_id)]
        return str(self._one("create_invitations", {"invitations": invitations}, "invitationIds"))

    def _contract_interface(self) -> str:
        made = self._root.result("create_smart_contract_interface", interface_params())
        return str(made["smartContractInterfaceId"])

    def _account_address(self) -> str:
        return str(
            self._one(
                "create_wallet", {"walletName": unique("wallet"), "accounts": [ETHEREUM_ACCOUNT]}, "addresses"
            )
        )

    def _secret(self) -> str:
        parameters = {"secrets": [sealed_secret(self._root, secrets.token_bytes(32))]}
        return str(self._one("import_secrets", parameters, "secretIds"))

    def _sealed_secret(self) -> str:
        return json.dumps(sealed_secret(self._root, secrets.token_bytes(32)))

    def _sealed_private_key(self) -> str:
        return self._sealed_for("init_import_private_key", secrets.token_bytes(32))

    def _sealed_mnemonic(self) -> str:
        return self._sealed_for("init_import_wallet", mnemonic_from_entropy(secrets.token_bytes(16)).encode())

    def _sealed_for(self, init: str, plaintext: bytes) -> str:
        """What the root user sends to import this."""
        begun = self._root.result(init, {"userId": self._root.user_id})
        content = json.loads(bytes.fromhex(json.loads(begun["importBundle"])["data"]))
        return bundles.message(plaintext, bytes.fromhex(content["targetPublic"]))

    def _encrypted_otp(self) -> str:
        return encrypted_sandbox_code(self._root)

    def _plain_otp(self) -> str:
        return sandbox_code(self._root, "init_otp", "ACTIVITY_TYPE_INIT_OTP_V2")

    def _auth_otp(self) -> str:
        self._otp_feature()
        return sandbox_code(self._root, "init_otp_auth", "ACTIVITY_TYPE_INIT_OTP_AUTH_V3")

    def _otp_login(self) -> str:
        self._with_sandbox_user()
        return login_parameters(self._root, signed=True)

    def _otp_login_of_older_token(self) -> str:
        self._with_sandbox_user()
        return login_parameters(self._root, signed=False)

    def _otp_auth(self) -> str:
        self._with_sandbox_user()
        return self._auth_otp()

    def _email_auth(self) -> str:
        self._root.submitted("set_organization_feature", {"name": "FEATURE_NAME_EMAIL_AUTH"})
        address = an_address()
        self._root.new_user(userEmail=address)
        return address

    def _email_recovery(self) -> str:
        self._root.submitted("set_organization_feature", {"name": "FEATURE_NAME_EMAIL_RECOVERY"})
        address = an_address()
        self._root.new_user(userEmail=address)
        return address

    def _with_sandbox_user(self) -> None:
        """One user has the sandbox contact, and may log in by a code."""
        self._otp_feature()
        users = self._root.asked("list_users")["users"]
        if not any(user.get("userEmail") == "user@example.com" for user in users):
            self._root.new_user(userEmail="user@example.com")

    def _otp_feature(self) -> str:
        self._root.submitted("set_organization_feature", {"name": OTP_FEATURE})
        return OTP_FEATURE

    def _feature(self) -> str:
        self._root.submitted("set_organization_feature", {"name": FEATURE, "value": "on"})
        return FEATURE

    def _waiting(self) -> str:
        """The fingerprint of an activity that the holder must approve, too: a key for somebody else."""
        if self._proposer is None:
            self._proposer, self._guest = self._root.new_user(), self._root.new_user()
            # By their ids: other examples change the tags of the holder.
            policy = policy_params(
                condition=f"activity.params.user_id == '{self._guest.user_id}'",
                consensus=f"approvers.any(u, u.id == '{self._proposer.user_id}') && "
                f"approvers.any(u, u.id == '{self._holder.user_id}')",
            )
            self._root.submitted("create_policy", policy)
        key = api_key_params(generate_api_key().public_key, expirationSeconds="3600")
        asked = {"userId": self._guest.user_id, "apiKeys": [key]}
        activity = answered(self._proposer.submit("create_api_keys", asked))["activity"]
        assert activity["status"] == "ACTIVITY_STATUS_CONSENSUS_NEEDED", activity["status"]
        return str(activity["fingerprint"])


def private_key_params(**members: Any) -> dict[str, Any]:
    return {
        "privateKeyName": unique("key"),
        "curve": "CURVE_SECP256K1",
        "privateKeyTags": [],
        "addressFormats": ["ADDRESS_FORMAT_ETHEREUM", "ADDRESS_FORMAT_COMPRESSED"],
    } | members


def policy_params(**members: Any) -> dict[str, Any]:
    return {"policyName": unique("policy"), "effect": "EFFECT_ALLOW", "condition": "false"} | members


def invitation_params(sender_id: str, **members: Any) -> dict[str, Any]:
    return {
        "receiverUserName": unique("guest"),
        "receiverUserEmail": "guest@example.com",
        "receiverUserTags": [],
        "accessType": "ACCESS_TYPE_ALL",
        "senderUserId": sender_id,
    } | members


def mfa_policy_params(user_id: str, methods: list[dict[str, str]]) -> dict[str, Any]:
    return {
        "userId": user_id,
        "mfaPolicyName": unique("policy"),
        "condition": "activity.kind == 'EXPORT_WALLET'",
        "requiredAuthenticationMethods": [{"any": methods}],
        "order": secrets.randbelow(2**40),
        "notes": "for exports",
    }


def webhook_endpoint_params() -> dict[str, Any]:
    """An endpoint whose filter no event passes, so that nothing is sent."""
    return {
        "url": "https://hooks.example/turnkey",
        "name": unique("endpoint"),
        "subscriptions": [
            {
                "eventType": "ACTIVITY_UPDATES",
                "filtersJson": '{"activityTypes": ["ACTIVITY_TYPE_OF_NONE"]}',
                "isActive": True,
            }
        ],
    }


def velocity_control_params(**aggregation: Any) -> dict[str, Any]:
    """A limit that nothing reaches."""
    asset = {"caip19": "eip155:1/slip44:60", "decimals": "18"}
    signing = {"activity": [{"activityType": "ACTIVITY_TYPE_SIGN_TRANSACTION_V2"}]}
    return {
        "name": unique("limit"),
        "identifier": unique("limit").replace(" ", "_"),
        "dataSource": {
            "chainAssetTransfer": {"definition": [asset], "filter": signing, "phase": {"signature": {}}}
        },
        "aggregation": {
            "method": "VELOCITY_CONTROL_AGGREGATION_METHOD_SUM",
            "operator": "VELOCITY_CONTROL_AGGREGATION_OPERATOR_LESS_THAN_OR_EQUAL",
            "threshold": "1000000",
            "window": {"rolling": {"duration": "86400"}},
            "groupBy": {"organization": {}},
            **aggregation,
        },
    }


def session_profile_params(scope: str = "activity.resource == 'PRIVATE_KEY'", **members: Any) -> dict[str, Any]:
    return {"sessionProfileName": unique("profile"), "scope": scope, **members}


def interface_params(**members: Any) -> dict[str, Any]:
    return {
        "smartContractAddress": f"0x{secrets.token_hex(20)}",
        "smartContractInterface": ERC20_TRANSFER,
        "type": "SMART_CONTRACT_INTERFACE_TYPE_ETHEREUM",
        "label": unique("interface"),
        "notes": "of a token",
    } | members


def sealed_secret(caller: Caller, plaintext: bytes, **members: Any) -> dict[str, Any]:
    """What the caller sends to import this secret, sealed to a key that it has just asked for."""
    begun = caller.result("init_import_secrets", {"encryptionSuite": SECRET_SUITE, "numSecrets": 1})
    return secret_params(plaintext, begun["enclaveTargetMessages"][0], **members)


def secret_params(plaintext: bytes, target_message: str, **members: Any) -> dict[str, Any]:
    """The parameters of import_secrets for a message of init_import_secrets. The signature is not verified."""
    target = json.loads(bytes.fromhex(json.loads(target_message)["data"]))["targetPublic"]
    return {
        "secretPayload": bundles.message(plaintext, bytes.fromhex(target)),
        "targetPublicKey": target,
        "encryptionSuite": SECRET_SUITE,
        **members,
    }
