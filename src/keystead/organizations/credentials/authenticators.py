"""The rules of passkeys: uniqueness, how many. Pure.

Here: from the request's parameters to the record. Not here: whether an attestation is valid (`stamps.attestation`),
and which user a passkey proves (`principals`).
"""

from __future__ import annotations

from collections.abc import Iterable

from keystead.api.enums import CredentialType
from keystead.api.errors import InvalidRequest, LimitReached
from keystead.api.parameters import AuthenticatorParamsV2
from keystead.api.records import Authenticator, Credential, Timestamp
from keystead.organizations.kinds import users
from keystead.organizations.kinds.users import Passkey
from keystead.organizations.limits import Limits
from keystead.organizations.organization import Organization
from keystead.stamps.base64url import decode_base64url, encode_base64url


def new_authenticator(
    params: AuthenticatorParamsV2, authenticator_id: str, now: Timestamp, field: str
) -> tuple[Authenticator, Passkey]:
    """The records of a passkey. Raises InvalidRequest unless its attestation is valid for the challenge."""
    from keystead.stamps.attestation import verify_attestation  # slow to import, and needed by few requests

    attestation = params.attestation
    try:
        registered = verify_attestation(
            params.challenge,
            attestation.credential_id,
            attestation.client_data_json,
            attestation.attestation_object,
        )
    except InvalidRequest as refused:
        raise InvalidRequest(f"{refused.message} (field `{field}.attestation`)") from None
    authenticator = Authenticator(
        transports=attestation.transports,
        attestation_type=registered.attestation_type,
        aaguid=registered.aaguid,
        credential_id=registered.credential_id,
        model=registered.model,
        credential=Credential(
            public_key=registered.credential_public_key, type=CredentialType.WEBAUTHN_AUTHENTICATOR
        ),
        authenticator_id=authenticator_id,
        authenticator_name=params.authenticator_name,
        created_at=now,
        updated_at=now,
    )
    return authenticator, Passkey(authenticator_id=authenticator_id, rp_id_hash=registered.rp_id_hash)


def check_room_for_authenticators(held: int, adding: int, limits: Limits) -> None:
    """Raise LimitReached if a user with `held` passkeys may not have `adding` more.

    Checked before any is verified: an attestation takes up to a millisecond.
    """
    if held + adding > limits[users.AUTHENTICATORS]:
        raise LimitReached(
            f"user has exceeded maximum authenticators: {limits[users.AUTHENTICATORS]} are allowed per user"
        )


def check_credential_ids_free(organization: Organization, authenticators: Iterable[Authenticator]) -> None:
    """Raise InvalidRequest if a credential id exists in the organization already, or twice among these."""
    seen: set[str] = set()
    for authenticator in authenticators:
        credential_id = authenticator.credential_id
        if credential_id in organization.users.by_credential_id or credential_id in seen:
            raise InvalidRequest(
                f"invalid authenticator attestation: credential ID {credential_id} is already an authenticator "
                "in this organization"
            )
        seen.add(credential_id)


def normalized_credential_id(text: str) -> str:
    """A credential id from a request in the form of the records: base64url without padding.

    It is decoded and encoded again, because several texts decode to one id. "" for a text that is not base64url,
    which no credential has.
    """
    try:
        return encode_base64url(decode_base64url(text))
    except ValueError:
        return ""
