"""The organization itself: who is asking it, and how it is configured."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from keystead.api.decoding import NO_CONTROLS
from keystead.api.errors import NotFound
from keystead.api.parameters import QueryRequest
from keystead.api.records import Wire
from keystead.operations.declare import Reading, query


class WhoamiRequest(QueryRequest, frozen=True):
    pass


class WhoamiResponse(Wire, frozen=True):
    organization_id: str
    organization_name: str
    user_id: str
    username: str


@query(finds_caller=True)
def whoami(reading: Reading, _: WhoamiRequest) -> WhoamiResponse:
    """Which user of which organization the stamp proves."""
    return WhoamiResponse(
        organization_id=reading.organization.id,
        organization_name=reading.organization.profile.name,
        user_id=reading.caller.user.user_id,
        username=reading.caller.user.user_name,
    )


class Feature(Wire, frozen=True):
    name: str
    value: str | None = None


class Quorum(Wire, frozen=True):
    threshold: int
    user_ids: tuple[str, ...]


class Config(Wire, frozen=True):
    features: tuple[Feature, ...]
    quorum: Quorum


class GetOrganizationConfigsRequest(QueryRequest, frozen=True):
    pass


class GetOrganizationConfigsResponse(Wire, frozen=True):
    configs: Config


@query(of_version=True)
def get_organization_configs(reading: Reading, _: GetOrganizationConfigsRequest) -> GetOrganizationConfigsResponse:
    """The organization's features and its root quorum."""
    profile = reading.organization.profile
    return GetOrganizationConfigsResponse(
        configs=Config(
            features=tuple(Feature(name=name, value=value) for name, value in profile.features.items()),
            quorum=Quorum(threshold=profile.root_quorum.threshold, user_ids=profile.root_quorum.user_ids),
        )
    )


class GetBootProofRequest(QueryRequest, frozen=True):
    """`ephemeral_key`: an app proof's public key, 130 bytes in hex."""

    ephemeral_key: Annotated[str, Meta(max_length=1024, pattern=NO_CONTROLS)]


class GetBootProofResponse(Wire, frozen=True):
    boot_proof: dict[str, str]


@query()
def get_boot_proof(_: Reading, request: GetBootProofRequest) -> GetBootProofResponse:
    """Always not found: no attested hardware runs this service."""
    raise NotFound(
        f"no boot proof for ephemeral key {request.ephemeral_key[:140]}: this server runs in no enclave, "
        "so an app proof shows which server answered, not what hardware it is"
    )
