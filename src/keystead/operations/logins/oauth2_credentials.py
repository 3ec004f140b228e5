"""OAuth 2.0 credentials: an application's client ids and encrypted client secrets, and ID tokens that need them.

For providers that issue no ID tokens (X, Discord), this server asks the provider who the person is and issues an ID
token itself. Not here: the call to the provider (`identities.oauth2`), the login with the token (`logins`).
"""

from __future__ import annotations

import re
from binascii import unhexlify
from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from keystead.api.decoding import NO_CONTROLS
from keystead.api.enums import Oauth2Provider
from keystead.api.errors import AlreadyExists, InvalidRequest
from keystead.api.identifiers import Uuid
from keystead.api.parameters import QueryRequest, RequestStruct, ShortText
from keystead.api.records import Oauth2Credential, Timestamp, Wire
from keystead.chains.bundle_texts import read_target
from keystead.operations.declare import Reading, activity, query
from keystead.organizations.kinds.oauth2_credentials import Oauth2Credentials
from keystead.organizations.organization import Organization, Put, Remove
from keystead.pipeline.context import ContextSource
from keystead.pipeline.execution import Execution, ExecutionWithOAuth2, Output, OutputWithoutChanges
from keystead.pipeline.ports import AuthorizationCode
from keystead.sessions.oauth_tokens import OauthTokenClaims

TOKEN_LASTS_S = 900
"""How long a token for a person is valid, in seconds. It is used at once."""

_NONCE = re.compile(r"[0-9a-f]{64}", re.ASCII)

EncryptedSecret = Annotated[str, Meta(max_length=8192, pattern=NO_CONTROLS)]
ClientId = Annotated[str, Meta(min_length=1, max_length=255, pattern=NO_CONTROLS)]


class CreateOauth2CredentialIntent(RequestStruct, frozen=True):
    """`encrypted_client_secret`: hex, encrypted to the key `client_secret_key` of GET /installation-keys."""

    provider: Oauth2Provider
    client_id: ClientId
    encrypted_client_secret: EncryptedSecret


class CreateOauth2CredentialResult(Wire, frozen=True):
    oauth2_credential_id: str


@activity("ACTIVITY_TYPE_CREATE_OAUTH2_CREDENTIAL")
async def create_oauth2_credential(
    execution: Execution, intent: CreateOauth2CredentialIntent
) -> Output[CreateOauth2CredentialResult]:
    """Store the client id and the encrypted client secret of an application at an OAuth 2.0 provider."""
    organization = execution.organization
    organization.oauth2_credentials.check_limit(1, execution.limits)
    _check_free(organization, intent.provider, intent.client_id, None)
    await _check_opens(execution, intent.encrypted_client_secret)
    now = Timestamp.from_ms(execution.now_ms)
    credential = Oauth2Credential(
        oauth2_credential_id=execution.new_id(),
        organization_id=organization.id,
        provider=intent.provider,
        client_id=intent.client_id,
        encrypted_client_secret=intent.encrypted_client_secret,
        created_at=now,
        updated_at=now,
    )
    return Output(
        result=CreateOauth2CredentialResult(oauth2_credential_id=credential.oauth2_credential_id),
        changes=(Put(credential),),
    )


class UpdateOauth2CredentialIntent(RequestStruct, frozen=True):
    oauth2_credential_id: Uuid
    provider: Oauth2Provider
    client_id: ClientId
    encrypted_client_secret: EncryptedSecret


class UpdateOauth2CredentialResult(Wire, frozen=True):
    oauth2_credential_id: str


@activity(
    "ACTIVITY_TYPE_UPDATE_OAUTH2_CREDENTIAL", also_does=("CREATE_OAUTH2_CREDENTIAL", "DELETE_OAUTH2_CREDENTIAL")
)
async def update_oauth2_credential(
    execution: Execution, intent: UpdateOauth2CredentialIntent
) -> Output[UpdateOauth2CredentialResult]:
    """Replace the provider, client id and encrypted client secret of a credential."""
    credential = execution.organization.record(Oauth2Credentials, intent.oauth2_credential_id)
    _check_free(execution.organization, intent.provider, intent.client_id, credential.oauth2_credential_id)
    await _check_opens(execution, intent.encrypted_client_secret)
    changed = replace(
        credential,
        provider=intent.provider,
        client_id=intent.client_id,
        encrypted_client_secret=intent.encrypted_client_secret,
        updated_at=Timestamp.from_ms(execution.now_ms),
    )
    return Output(
        result=UpdateOauth2CredentialResult(oauth2_credential_id=credential.oauth2_credential_id),
        changes=(Put(changed),),
    )


class DeleteOauth2CredentialIntent(RequestStruct, frozen=True):
    oauth2_credential_id: Uuid


class DeleteOauth2CredentialResult(Wire, frozen=True):
    oauth2_credential_id: str


@activity("ACTIVITY_TYPE_DELETE_OAUTH2_CREDENTIAL")
def delete_oauth2_credential(
    execution: Execution, intent: DeleteOauth2CredentialIntent
) -> Output[DeleteOauth2CredentialResult]:
    """Delete a credential. It cannot be used for logins afterwards."""
    credential = execution.organization.record(Oauth2Credentials, intent.oauth2_credential_id)
    return Output(
        result=DeleteOauth2CredentialResult(oauth2_credential_id=credential.oauth2_credential_id),
        changes=(Remove(Oauth2Credential, credential.oauth2_credential_id),),
    )


class Oauth2AuthenticateIntent(RequestStruct, frozen=True):
    """`nonce`: lower-case hex of SHA-256 over the text of the public key that will log in.

    `bearer_token_target_public_key`: a P-256 point in hex; the provider's bearer token is encrypted to it.
    """

    oauth2_credential_id: Uuid
    auth_code: ShortText
    redirect_uri: Annotated[str, Meta(max_length=2048, pattern=NO_CONTROLS)]
    code_verifier: ShortText
    nonce: ShortText
    bearer_token_target_public_key: ShortText | None = None


class Oauth2AuthenticateResult(Wire, frozen=True):
    oidc_token: str


async def _used_credential(source: ContextSource, intent: Oauth2AuthenticateIntent) -> Oauth2Credential:
    return source.organization.record(Oauth2Credentials, intent.oauth2_credential_id)


@activity(
    "ACTIVITY_TYPE_OAUTH2_AUTHENTICATE",
    load_context=_used_credential,
)
async def oauth2_authenticate(
    execution: ExecutionWithOAuth2[Oauth2Credential], intent: Oauth2AuthenticateIntent
) -> OutputWithoutChanges[Oauth2AuthenticateResult]:
    """Exchange an authorization code of an OAuth 2.0 provider for an ID token of the person."""
    credential, issuers = execution.context, execution.oauth2
    if _NONCE.fullmatch(intent.nonce) is None:
        raise InvalidRequest(
            "invalid request body: field `parameters.nonce`: expected SHA-256 of the public key's text, as 64 "
            "hex digits in lower case"
        )
    target = None
    if intent.bearer_token_target_public_key:
        target = read_target(intent.bearer_token_target_public_key, "parameters.bearerTokenTargetPublicKey")
    secret = await execution.signer.open_client_secret(unhexlify(credential.encrypted_client_secret))
    person = await issuers.person(
        credential.provider,
        AuthorizationCode(
            client_id=credential.client_id,
            client_secret=secret.decode(),
            code=intent.auth_code,
            redirect_uri=intent.redirect_uri,
            code_verifier=intent.code_verifier,
        ),
    )
    now_s = execution.now_ms // 1000
    claims = OauthTokenClaims(
        issuer=issuers.own_issuer,
        audience=credential.client_id,
        subject=person.subject,
        nonce=intent.nonce,
        issued_at_s=now_s,
        expires_at_s=now_s + TOKEN_LASTS_S,
    )
    token = await execution.signer.sign_oauth_token(
        claims=claims, bearer_token=person.bearer_token.encode() if target else None, target=target
    )
    return OutputWithoutChanges(result=Oauth2AuthenticateResult(oidc_token=token))


class GetOauth2CredentialRequest(QueryRequest, frozen=True):
    oauth2_credential_id: Uuid


class GetOauth2CredentialResponse(Wire, frozen=True):
    oauth2_credential: Oauth2Credential


@query()
def get_oauth2_credential(reading: Reading, request: GetOauth2CredentialRequest) -> GetOauth2CredentialResponse:
    """One OAuth 2.0 credential, its secret encrypted."""
    return GetOauth2CredentialResponse(
        oauth2_credential=reading.organization.record(Oauth2Credentials, request.oauth2_credential_id)
    )


class ListOauth2CredentialsRequest(QueryRequest, frozen=True):
    pass


class ListOauth2CredentialsResponse(Wire, frozen=True):
    oauth2_credentials: tuple[Oauth2Credential, ...]


@query(of_version=True)
def list_oauth2_credentials(reading: Reading, _: ListOauth2CredentialsRequest) -> ListOauth2CredentialsResponse:
    """All OAuth 2.0 credentials of the organization."""
    return ListOauth2CredentialsResponse(
        oauth2_credentials=tuple(reading.organization.oauth2_credentials.in_order())
    )


def _check_free(
    organization: Organization, provider: Oauth2Provider, client_id: str, except_id: str | None
) -> None:
    """Raise AlreadyExists if a credential other than `except_id` has this provider and client id."""
    for held in organization.oauth2_credentials.values():
        if (held.provider, held.client_id) == (provider, client_id) and held.oauth2_credential_id != except_id:
            raise AlreadyExists(
                f"field `parameters.clientId`: OAuth 2.0 credential {held.oauth2_credential_id} is of this client "
                f"of {provider} already; use update_oauth2_credential"
            )


async def _check_opens(execution: Execution, encrypted: str) -> None:
    """Raise InvalidRequest unless the secret is encrypted to this server and is text."""
    try:
        (await execution.signer.open_client_secret(unhexlify(encrypted))).decode()
    except ValueError:
        raise InvalidRequest(
            "invalid encrypted client secret: field `parameters.encryptedClientSecret`: expected the hex of UTF-8 "
            "text, encrypted"
        ) from None
