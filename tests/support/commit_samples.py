"""An organization and commits to it, as the pipeline hands them in."""

from __future__ import annotations

import itertools
import json
import secrets

import msgspec

from keystead.api.enums import (
    AccessType,
    ActivityStatus,
    AddressFormat,
    AggregationMethod,
    AggregationOperator,
    AuthenticatorTransport,
    CredentialType,
    Curve,
    Effect,
    Oauth2Provider,
    OnEvaluationError,
    PathFormat,
    SmartContractInterfaceType,
    TagType,
    VoteSelection,
    WalletAuthenticatorType,
)
from keystead.api.identifiers import new_id
from keystead.api.records import (
    ApiKey,
    AppProof,
    Authenticator,
    Credential,
    Evaluation,
    IpAllowlistRule,
    Oauth2Credential,
    Policy,
    PolicyOutcome,
    PrivateKey,
    PrivateKeyAddress,
    SessionProfile,
    Status,
    Tag,
    Timestamp,
    User,
    Vote,
    Wallet,
    WalletAccount,
    WalletAuthenticator,
    WebhookEndpointData,
    WebhookSubscriptionParams,
)
from keystead.api.velocity_controls import (
    ActivityExecution,
    Aggregation,
    DataSource,
    Empty,
    GroupBy,
    RollingWindow,
    VelocityControl,
    Window,
)
from keystead.organizations.attachments import NewAccount, SealedSecret
from keystead.organizations.credentials.identities import ProvenIdentity
from keystead.organizations.kinds.account_contacts import AccountContacts
from keystead.organizations.kinds.auth_proxies import AuthProxy, AuthProxySettings
from keystead.organizations.kinds.contract_interfaces import ContractInterface
from keystead.organizations.kinds.credential_registrations import CredentialRegistrations, Registration
from keystead.organizations.kinds.data_key import Sealed, SealedDataKey
from keystead.organizations.kinds.import_targets import ImportKind, ImportTarget
from keystead.organizations.kinds.invitations import Invitation
from keystead.organizations.kinds.ip_allowlists import IpAllowlist
from keystead.organizations.kinds.profile import Profile, RootQuorum
from keystead.organizations.kinds.read_only_sessions import ReadOnlySession
from keystead.organizations.kinds.secrets import Secret
from keystead.organizations.kinds.users import Passkey
from keystead.organizations.organization import Organization, Record, Version, from_records
from keystead.pipeline.activity import Proof, RecordedActivity

NOW_MS = 1_763_751_180_123
NOW = Timestamp.from_ms(NOW_MS)
TYPE = "ACTIVITY_TYPE_CREATE_SMART_CONTRACT_INTERFACE"
_serial = itertools.count()


def a_user(name: str = "Ada", *, public_key: str | None = None) -> User:
    """A user with an API key and a passkey."""
    serial = next(_serial)
    return User(
        user_id=new_id(),
        user_name=name,
        user_email="ada@example.com",
        authenticators=(
            Authenticator(
                transports=(AuthenticatorTransport.USB,),
                attestation_type="none",
                aaguid="AAAAAAAAAAAAAAAAAAAAAA",
                credential_id=f"credential-{serial}",
                model="",
                credential=Credential(public_key="cose", type=CredentialType.WEBAUTHN_AUTHENTICATOR),
                authenticator_id=new_id(),
                authenticator_name="a key ring",
                created_at=NOW,
                updated_at=NOW,
            ),
        ),
        api_keys=(
            ApiKey(
                credential=Credential(
                    public_key=public_key or f"02{serial:064x}", type=CredentialType.API_KEY_P256
                ),
                api_key_id=new_id(),
                api_key_name="laptop",
                created_at=NOW,
                updated_at=NOW,
                expiration_seconds="3600",
            ),
        ),
        user_tags=(),
        oauth_providers=(),
        wallet_authenticators=(a_wallet_authenticator(),),
        mfa_policies=(),
        created_at=NOW,
        updated_at=NOW,
    )


def a_wallet_authenticator() -> WalletAuthenticator:
    return WalletAuthenticator(
        wallet_authenticator_id=new_id(),
        type=WalletAuthenticatorType.ETHEREUM,
        address=f"0x{secrets.token_hex(20)}",
        domain="app.example.com",
        created_at=NOW,
        updated_at=NOW,
    )


def a_tag() -> Tag:
    return Tag(tag_id=new_id(), tag_name="ops \u0000 ü", tag_type=TagType.USER, created_at=NOW, updated_at=NOW)


def a_wallet() -> Wallet:
    return Wallet(
        wallet_id=new_id(), wallet_name="cold", created_at=NOW, updated_at=NOW, exported=False, imported=False
    )


def a_private_key() -> PrivateKey:
    return PrivateKey(
        private_key_id=new_id(),
        public_key="04" + "ab" * 64,
        private_key_name="signing",
        curve=Curve.SECP256K1,
        addresses=(PrivateKeyAddress(AddressFormat.ETHEREUM, "0x" + secrets.token_hex(20)),),
        private_key_tags=(),
        created_at=NOW,
        updated_at=NOW,
        exported=False,
        imported=False,
    )


def an_interface() -> ContractInterface:
    """An interface of a contract of its own: no contract has two in one organization."""
    return ContractInterface(
        id=new_id(),
        address="0x" + secrets.token_hex(20),
        type=SmartContractInterfaceType.ETHEREUM,
        label="token",
        notes="",
        text_bytes=1_000,
        created_at=NOW,
        updated_at=NOW,
    )


def a_policy() -> Policy:
    return Policy(
        policy_id=new_id(),
        policy_name="two of them",
        effect=Effect.ALLOW,
        created_at=NOW,
        updated_at=NOW,
        notes="",
        consensus="approvers.count() >= 2",
        condition="true",
    )


def an_invitation(sender: User) -> Invitation:
    return Invitation(
        id=new_id(),
        receiver_user_name="Grace",
        receiver_user_email="grace@example.com",
        receiver_user_tags=(),
        access_type=next(iter(AccessType)),
        sender_id=sender.user_id,
        created_at=NOW,
    )


def an_import_target(user: User) -> ImportTarget:
    return ImportTarget(
        id=new_id(),
        kind=ImportKind.PRIVATE_KEY,
        user_id=user.user_id,
        sealed=Sealed("data", b"\x00\xfftarget"),
        created_at_ms=NOW_MS,
    )


def an_account(organization_id: str, wallet_id: str, index: int = 0) -> NewAccount:
    path = f"m/44'/60'/0'/0/{index}"
    account = WalletAccount(
        wallet_account_id=new_id(),
        organization_id=organization_id,
        wallet_id=wallet_id,
        curve=Curve.SECP256K1,
        path_format=PathFormat.BIP32,
        path=path,
        address_format=AddressFormat.ETHEREUM,
        address=f"0x{index:040x}",
        created_at=NOW,
        updated_at=NOW,
        public_key=f"02{index:064x}",
    )
    return NewAccount(account, path.replace("'", "h"))


def an_organization(*, parent_id: str | None = None, users: tuple[User, ...] = ()) -> Organization:
    """One of every kind of record."""
    users = users or (a_user(),)
    records: list[Record] = [
        Profile(
            name="Keystead GmbH",
            root_quorum=RootQuorum(1, (users[0].user_id,)),
            created_at=NOW,
            parent_id=parent_id,
            features={"FEATURE_NAME_WEBAUTHN_ORIGINS": "https://example.com"},
        ),
        SealedDataKey(Sealed("master", b"\x00\xffciphertext")),
        *users,
        Passkey(authenticator_id=users[0].authenticators[0].authenticator_id, rp_id_hash=b"\x00\xff" * 16),
        a_tag(),
        a_wallet(),
        a_private_key(),
        an_interface(),
        a_policy(),
        an_invitation(users[0]),
        an_import_target(users[0]),
        an_ip_allowlist(users[0]),
        Secret(id=new_id(), name="card \u0000 ü", static_properties={"kind": "card"}, created_at_ms=NOW_MS),
        *of_logins(users[0]),
    ]
    return from_records(new_id(), Version(1, new_id()), records)


def an_ip_allowlist(user: User) -> IpAllowlist:
    return IpAllowlist(
        public_key=user.api_keys[0].credential.public_key,
        enabled=True,
        rules=tuple(
            IpAllowlistRule(cidr=cidr, label="office \u0000 ü", created_at=str(NOW_MS))
            for cidr in ("192.0.2.0/24", "2001:db8::/48")
        ),
        on_evaluation_error=OnEvaluationError.ALLOW,
    )


def of_logins(user: User) -> list[Record]:
    """One of every kind of record that logins need."""
    return [
        SessionProfile(
            session_profile_id=new_id(),
            session_profile_name="signing",
            scope="activity.action == 'SIGN'",
            created_at=NOW,
            updated_at=NOW,
        ),
        ReadOnlySession(digest="ab" * 32, session_id=new_id(), user_id=user.user_id, expires_at_ms=1),
        AccountContacts(user_id=user.user_id, email=user.user_email),
        CredentialRegistrations(
            user_id=user.user_id, by_id={user.api_keys[0].api_key_id: Registration(2, begun_by="another")}
        ),
        Oauth2Credential(
            oauth2_credential_id=new_id(),
            organization_id=new_id(),
            provider=Oauth2Provider.DISCORD,
            client_id="client",
            encrypted_client_secret="00ff",
            created_at=NOW,
            updated_at=NOW,
        ),
        WebhookEndpointData(
            endpoint_id=new_id(),
            organization_id=new_id(),
            url="https://hooks.example/",
            name="endpoint",
            is_active=True,
            subscriptions=(WebhookSubscriptionParams(event_type="ACTIVITY_UPDATES", filters_json="{}"),),
        ),
        AuthProxy(
            user_id=user.user_id,
            policy_id=new_id(),
            public_key="02" + "ab" * 32,
            sealed_key=Sealed("data", b"\x00\xffciphertext"),
            settings=AuthProxySettings(allowed_origins=("https://app.example.com",)),
            created_at=NOW,
            updated_at=NOW,
        ),
        VelocityControl(
            velocity_control_id=new_id(),
            organization_id=new_id(),
            name="limit",
            identifier="daily",
            data_source=DataSource(activity_execution=ActivityExecution()),
            aggregation=Aggregation(
                method=AggregationMethod.COUNT,
                operator=AggregationOperator.LESS_THAN,
                threshold="1.5",
                window=Window(rolling=RollingWindow(duration="60")),
                group_by=GroupBy(user=Empty()),
            ),
            created_at=NOW,
            updated_at=NOW,
        ),
    ]


def incompressible(length: int) -> str:
    """A text of this many characters that cannot be compressed."""
    return secrets.token_hex(length // 2)


def an_activity(
    organization: Organization, *, fingerprint: str | None = None, padding: int = 0
) -> RecordedActivity:
    """A completed activity with the vote of its submitter."""
    activity_id = new_id()
    user = organization.users.in_order()[0]
    request = json.dumps({"type": TYPE, "serial": next(_serial), "abi": incompressible(padding)}).encode()
    return RecordedActivity(
        id=activity_id,
        organization_id=organization.id,
        type=TYPE,
        status=ActivityStatus.COMPLETED,
        fingerprint=fingerprint or f"sha256:{secrets.token_hex(32)}",
        request=request,
        result={"createSmartContractInterfaceResult": msgspec.Raw(b'{"smartContractInterfaceId":"1"}')},
        votes=(a_vote(activity_id, user, request),),
        app_proofs=(),
        failure=None,
        submitter_id=user.user_id,
        proofs=(a_proof(user),),
        approvals_since_ms=NOW_MS,
        revision=0,
        created_at_ms=NOW_MS,
        updated_at_ms=NOW_MS,
    )


def a_vote(activity_id: str, user: User, signed: bytes) -> Vote:
    return Vote(
        id=new_id(),
        user_id=user.user_id,
        user=user,
        activity_id=activity_id,
        selection=VoteSelection.APPROVED,
        message=signed.decode(),
        public_key=user.user_id,
        signature="3045" + "00" * 69,
        scheme="SIGNATURE_SCHEME_TK_API_P256",
        created_at=NOW,
    )


def a_proof(user: User) -> Proof:
    return Proof(
        user_id=user.user_id,
        record_id=user.authenticators[0].authenticator_id,
        type=CredentialType.WEBAUTHN_AUTHENTICATOR,
        public_key="cose",
        credential_id=user.authenticators[0].credential_id,
        at_ms=NOW_MS,
        at_version=3,
        registered_in=2,
        origin="another",
        fingerprint="sha256:00",
        identities={"parameters.a[0].oidcToken": ProvenIdentity(iss="https://i", sub="s\U0001f511", aud="a")},
    )


def an_evaluation(organization_id: str, activity_id: str) -> Evaluation:
    return Evaluation(
        id=new_id(),
        activity_id=activity_id,
        organization_id=organization_id,
        vote_id=new_id(),
        policy_evaluations=(PolicyOutcome(policy_id=new_id(), outcome="OUTCOME_ERROR", reason="\u0000 ü"),),
        created_at=NOW,
        verdict="DENY",
        rule="policies",
        policy_ids=(),
    )


AN_APP_PROOF = AppProof(
    scheme="SIGNATURE_SCHEME_EPHEMERAL_KEY_P256", public_key="04" * 130, proof_payload="{}", signature="00" * 64
)
A_FAILURE = Status(code=3, message="no", details=({"@type": "x", "n": 1},))


def a_secret(record_id: str) -> SealedSecret:
    return SealedSecret(record_id, "wallet-mnemonic", Sealed("data", b"\x00\x01"))
