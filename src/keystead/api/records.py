"""The records of the wire, as the public schema names them: users, credentials, wallets, interfaces, votes.

They are frozen values, the same on the wire, at rest and in the organization. A field that a caller may leave
out is `None` when it is absent. Stored records outlive this module: add a field only with a default, and never
reuse the name of a field that was removed.
Not here: what requests carry (`parameters`, the operations), and the two renderings (`rendering`).
"""

from __future__ import annotations

import functools
from typing import Any

import msgspec

from keystead.api import enums
from keystead.api.secret_fields import repr_without_secrets


class Wire(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, gc=False):
    """Base of every struct that crosses the wire: camelCase names, absent optional fields left out.

    Records read from JSON have no reference cycles, so the garbage collector skips them (`gc=False`). Their repr
    shows no secret (`SECRET_FIELDS`).
    """

    __repr__ = repr_without_secrets


class Timestamp(Wire, frozen=True, order=True):
    """A moment: whole seconds since the epoch, and the nanoseconds after that second; both are decimal text."""

    seconds: str
    nanos: str

    @staticmethod
    @functools.lru_cache(maxsize=64)  # one submission converts its time five times
    def from_ms(epoch_ms: int) -> Timestamp:
        seconds, ms = divmod(epoch_ms, 1000)
        return Timestamp(seconds=str(seconds), nanos=str(ms * 1_000_000))

    @property
    def epoch_ms(self) -> int:
        return int(self.seconds) * 1000 + int(self.nanos) // 1_000_000


class Credential(Wire, frozen=True):
    """`public_key`: hex for an API key; base64url of the COSE key for a passkey."""

    public_key: str
    type: enums.CredentialType
    session_profile_id: str | None = None


class ApiKey(Wire, frozen=True):
    """`expiration_seconds` counts from `created_at`, as decimal text; absent: never expires."""

    credential: Credential
    api_key_id: str
    api_key_name: str
    created_at: Timestamp
    updated_at: Timestamp
    expiration_seconds: str | None = None

    @property
    def expires_at_ms(self) -> int | None:
        if self.expiration_seconds is None:
            return None
        return self.created_at.epoch_ms + int(self.expiration_seconds) * 1000


class Authenticator(Wire, frozen=True):
    """A passkey. `aaguid` is base64url of 16 bytes, `credential_id` base64url, both without padding."""

    transports: tuple[enums.AuthenticatorTransport, ...]
    attestation_type: str
    aaguid: str
    credential_id: str
    model: str
    credential: Credential
    authenticator_id: str
    authenticator_name: str
    created_at: Timestamp
    updated_at: Timestamp


class OauthProvider(Wire, frozen=True):
    provider_id: str
    provider_name: str
    issuer: str
    audience: str
    subject: str
    created_at: Timestamp
    updated_at: Timestamp


class WalletAuthenticator(Wire, frozen=True):
    """A wallet outside this server that its owner logs in with, at one domain. `address`: 0x and lower-case hex, or
    base 58. `domain`: a host, in lower case, with its port unless that is 80 or 443."""

    wallet_authenticator_id: str
    type: enums.WalletAuthenticatorType
    address: str
    domain: str
    created_at: Timestamp
    updated_at: Timestamp


class AuthenticationMethod(Wire, frozen=True):
    type: enums.AuthenticationType
    id: str | None = None


class RequiredAuthenticationMethod(Wire, frozen=True):
    """One step of an MFA policy: one of these methods meets it."""

    any: tuple[AuthenticationMethod, ...]


class MfaPolicy(Wire, frozen=True):
    mfa_policy_id: str
    mfa_policy_name: str
    condition: str
    required_authentication_methods: tuple[RequiredAuthenticationMethod, ...]
    order: int
    created_at: Timestamp
    updated_at: Timestamp
    notes: str | None = None


class IpAllowlistRule(Wire, frozen=True):
    """A network from which requests may come. `created_at`: milliseconds since the epoch, as decimal text."""

    cidr: str
    label: str
    created_at: str


class SessionProfile(Wire, frozen=True):
    """What sessions that name the profile may do: `scope`, a condition of the policy language.

    `expiration_seconds`: the most seconds that such a session lasts, as decimal text.
    """

    session_profile_id: str
    session_profile_name: str
    scope: str
    created_at: Timestamp
    updated_at: Timestamp
    expiration_seconds: str | None = None
    notes: str | None = None


class User(Wire, frozen=True):
    user_id: str
    user_name: str
    authenticators: tuple[Authenticator, ...]
    api_keys: tuple[ApiKey, ...]
    user_tags: tuple[str, ...]
    oauth_providers: tuple[OauthProvider, ...]
    mfa_policies: tuple[MfaPolicy, ...]
    created_at: Timestamp
    updated_at: Timestamp
    user_email: str | None = None
    user_phone_number: str | None = None
    # A factory: clients need the list, so an empty one must not be left out like another default.
    wallet_authenticators: tuple[WalletAuthenticator, ...] = msgspec.field(default_factory=lambda: ())


class Oauth2Credential(Wire, frozen=True):
    """`encrypted_client_secret`: hex; this server's signer opens it."""

    oauth2_credential_id: str
    organization_id: str
    provider: enums.Oauth2Provider
    client_id: str
    encrypted_client_secret: str
    created_at: Timestamp
    updated_at: Timestamp


class WebhookSubscriptionParams(Wire, frozen=True):
    """`filters_json`: which events, as JSON (`organizations.webhooks.filters`)."""

    event_type: str
    filters_json: str | None = None
    is_active: bool | None = None


class WebhookEndpointData(Wire, frozen=True):
    """An address that gets the events of its subscriptions."""

    endpoint_id: str
    organization_id: str
    url: str
    name: str
    is_active: bool
    subscriptions: tuple[WebhookSubscriptionParams, ...] | None = None


class Tag(Wire, frozen=True):
    tag_id: str
    tag_name: str
    tag_type: enums.TagType
    created_at: Timestamp
    updated_at: Timestamp


class Wallet(Wire, frozen=True):
    """`exported`: its mnemonic was exported at least once. `imported`: its mnemonic came from an import."""

    wallet_id: str
    wallet_name: str
    created_at: Timestamp
    updated_at: Timestamp
    exported: bool
    imported: bool


class PrivateKeyAddress(Wire, frozen=True):
    format: enums.AddressFormat
    address: str


class PrivateKey(Wire, frozen=True):
    """`public_key` is hex without prefix: 65 bytes uncompressed, or the 32 bytes of ed25519.

    `exported`: it was exported at least once. `imported`: it came from an import.
    """

    private_key_id: str
    public_key: str
    private_key_name: str
    curve: enums.Curve
    addresses: tuple[PrivateKeyAddress, ...]
    private_key_tags: tuple[str, ...]
    created_at: Timestamp
    updated_at: Timestamp
    exported: bool
    imported: bool


class WalletAccount(Wire, frozen=True):
    """`public_key` is hex without prefix; `path` is as the caller wrote it."""

    wallet_account_id: str
    organization_id: str
    wallet_id: str
    curve: enums.Curve
    path_format: enums.PathFormat
    path: str
    address_format: enums.AddressFormat
    address: str
    created_at: Timestamp
    updated_at: Timestamp
    public_key: str | None = None
    wallet_details: Wallet | None = None
    name: str | None = None
    caip2_prefix: str | None = None


class SmartContractInterface(Wire, frozen=True):
    organization_id: str
    smart_contract_interface_id: str
    smart_contract_address: str
    smart_contract_interface: str
    type: enums.SmartContractInterfaceType
    label: str
    notes: str
    created_at: Timestamp
    updated_at: Timestamp


class Policy(Wire, frozen=True):
    """A rule of the organization. An expression that is "" or absent counts as true."""

    policy_id: str
    policy_name: str
    effect: enums.Effect
    created_at: Timestamp
    updated_at: Timestamp
    notes: str
    consensus: str
    condition: str
    time: str | None = None


class Vote(Wire, frozen=True):
    """One user's approval or rejection, with the bytes that the user signed, so that anybody can verify it."""

    id: str
    user_id: str
    user: User
    activity_id: str
    selection: enums.VoteSelection
    message: str
    public_key: str
    signature: str
    scheme: str
    created_at: Timestamp


class PolicyOutcome(Wire, frozen=True):
    """The outcome of one policy for an activity. `clause` names the part of the policy that decided, `reason` says
    why that part failed."""

    policy_id: str
    outcome: str
    clause: str | None = None
    reason: str | None = None


class Evaluation(Wire, frozen=True):
    """The record of one decision, made when a vote was cast: the outcome of each policy, and the rule that decided.

    A denied submission leaves an evaluation and no activity.
    """

    id: str
    activity_id: str
    organization_id: str
    vote_id: str
    policy_evaluations: tuple[PolicyOutcome, ...]
    created_at: Timestamp
    verdict: str
    rule: str
    policy_ids: tuple[str, ...]


class MfaStatus(Wire, frozen=True):
    """Whether a user has proved what an MFA policy asks for on one activity."""

    mfa_policy_id: str
    user_id: str
    satisfied: bool
    satisfied_methods: tuple[AuthenticationMethod, ...]
    required_methods: tuple[RequiredAuthenticationMethod, ...]


class AppProof(Wire, frozen=True):
    """A statement signed by the server's proof key.

    `public_key` is hex of two uncompressed P-256 points (encryption, signing), `signature` hex of r and s
    over SHA-256 of `proof_payload`.
    """

    scheme: str
    public_key: str
    proof_payload: str
    signature: str


class Status(Wire, frozen=True):
    """Why an activity failed, in the shape of google.rpc.Status."""

    code: int
    message: str
    details: tuple[dict[str, Any], ...] = ()


class Activity(Wire, frozen=True):
    """A submission with its status, votes and result, as one caller sees it.

    `intent` and `result` hold one member each, named for its type; `result` is empty until the activity is
    completed. `timestamp_ms` is the request's own time, shown in the documented form only.
    """

    id: str
    organization_id: str
    status: enums.ActivityStatus
    type: str
    intent: dict[str, Any]
    result: dict[str, Any]
    votes: tuple[Vote, ...]
    fingerprint: str
    can_approve: bool
    can_reject: bool
    created_at: Timestamp
    updated_at: Timestamp
    timestamp_ms: str | None = None
    app_proofs: tuple[AppProof, ...] | None = None
    failure: Status | None = None

    def __repr__(self) -> str:
        # Without what was signed: it is in the intent, the result and the votes.
        return f"Activity(id={self.id!r}, organization_id={self.organization_id!r}, type={self.type!r}, …)"


class ActivityResponse(Wire, frozen=True):
    """The answer to every submission."""

    activity: Activity
