"""OAuth 2.0 credentials: an application's client ids and encrypted secrets at providers without ID tokens."""

from __future__ import annotations

from keystead.api.records import Oauth2Credential
from keystead.organizations.limits import Limit
from keystead.organizations.record_map import RecordMap

OAUTH2_CREDENTIALS = Limit(
    name="oauth2_credentials",
    default=100,
    description="Most OAuth 2.0 credentials of an organization.",
    called="OAuth 2.0 credentials",
)


class Oauth2Credentials(RecordMap[Oauth2Credential], frozen=True):
    stored_name = "oauth2_credential"
    called = "OAuth 2.0 credential"
    record = Oauth2Credential
    id_field = "oauth2_credential_id"
    limits = (OAUTH2_CREDENTIALS,)
