"""Settings that only the root quorum changes: the organization's name, its features, the quorum itself."""

from __future__ import annotations

import re
from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from keystead.api.decoding import Label
from keystead.api.enums import FeatureName
from keystead.api.errors import InvalidRequest, NotFound
from keystead.api.identifiers import Uuid
from keystead.api.parameters import RequestStruct
from keystead.api.records import Wire
from keystead.operations.declare import activity
from keystead.operations.organizations.organizations import Feature, shown_features
from keystead.organizations.contacts.account_contacts import account_contacts_of
from keystead.organizations.kinds.profile import Profile
from keystead.organizations.organization import Organization, Put
from keystead.organizations.users import can_authenticate, check_can_authenticate, new_quorum
from keystead.organizations.webhooks.addresses import check_url
from keystead.pipeline.execution import Execution, Output

_ORIGIN = re.compile(r"https://[^/\s]+|http://localhost(:[0-9]{1,5})?|(android|ios):\S+")


class UpdateOrganizationNameIntent(RequestStruct, frozen=True):
    organization_name: Label


class UpdateOrganizationNameResult(Wire, frozen=True):
    organization_id: str
    organization_name: str


@activity("ACTIVITY_TYPE_UPDATE_ORGANIZATION_NAME")
def update_organization_name(
    execution: Execution, intent: UpdateOrganizationNameIntent
) -> Output[UpdateOrganizationNameResult]:
    """Rename the organization."""
    organization = execution.organization
    return Output(
        result=UpdateOrganizationNameResult(
            organization_id=organization.id, organization_name=intent.organization_name
        ),
        changes=(Put(replace(organization.profile, name=intent.organization_name)),),
    )


class UpdateRootQuorumIntent(RequestStruct, frozen=True):
    threshold: Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
    user_ids: Annotated[tuple[Uuid, ...], Meta(max_length=1000)]


class UpdateRootQuorumResult(Wire, frozen=True):
    pass


@activity("ACTIVITY_TYPE_UPDATE_ROOT_QUORUM")
def update_root_quorum(execution: Execution, intent: UpdateRootQuorumIntent) -> Output[UpdateRootQuorumResult]:
    """Set the members of the root quorum and its threshold."""
    change = root_quorum_change(execution.organization, intent, "parameters")
    return Output(result=UpdateRootQuorumResult(), changes=(change,))


def root_quorum_change(organization: Organization, intent: UpdateRootQuorumIntent, field: str) -> Put:
    """The change of the profile. `field`: the path of the intent in the request. Raises InvalidRequest unless each
    member exists and can authenticate, and they can reach the threshold."""
    quorum = new_quorum(organization.users, intent.threshold, intent.user_ids, field)
    for user_id in quorum.user_ids:
        user = organization.users[user_id]
        contacts = account_contacts_of(organization, user)
        check_can_authenticate(user, contacts, organization.profile.features, f"{field}.userIds")
    return Put(replace(organization.profile, root_quorum=quorum))


class SetOrganizationFeatureIntent(RequestStruct, frozen=True):
    name: FeatureName
    value: Annotated[str, Meta(max_length=4096)] | None = None


class SetOrganizationFeatureResult(Wire, frozen=True):
    features: tuple[Feature, ...]


@activity("ACTIVITY_TYPE_SET_ORGANIZATION_FEATURE")
def set_organization_feature(
    execution: Execution, intent: SetOrganizationFeatureIntent
) -> Output[SetOrganizationFeatureResult]:
    """Add a feature, or change its value."""
    profile, value = execution.organization.profile, intent.value or ""
    if intent.name is FeatureName.WEBAUTHN_ORIGINS:
        for origin in value.split(","):
            if not _ORIGIN.fullmatch(origin.strip()):
                raise InvalidRequest(
                    f"invalid request: field `parameters.value`: {origin.strip()[:100]!r} is not an origin; "
                    "expected an origin such as https://app.example, or several origins separated by commas"
                )
    if intent.name is FeatureName.WEBHOOK and value:
        check_url(value, execution.webhooks.networks, "parameters.value")
    features = {**profile.features, intent.name.value: value}
    return Output(
        result=SetOrganizationFeatureResult(features=shown_features(features)),
        changes=(Put(replace(profile, features=features)),),
    )


class RemoveOrganizationFeatureIntent(RequestStruct, frozen=True):
    name: FeatureName


class RemoveOrganizationFeatureResult(Wire, frozen=True):
    features: tuple[Feature, ...]


@activity("ACTIVITY_TYPE_REMOVE_ORGANIZATION_FEATURE")
def remove_organization_feature(
    execution: Execution, intent: RemoveOrganizationFeatureIntent
) -> Output[RemoveOrganizationFeatureResult]:
    """Remove a feature. This is refused if a user could not log in without it."""
    organization = execution.organization
    if intent.name.value not in organization.profile.features:
        raise NotFound(f"feature {intent.name} is not set in organization {organization.id}")
    features = {name: value for name, value in organization.profile.features.items() if name != intent.name}
    profile: Profile = replace(organization.profile, features=features)
    for user in organization.users.in_order():
        contacts = account_contacts_of(organization, user)
        if can_authenticate(user, contacts, organization.profile.features):
            check_can_authenticate(user, contacts, features, "parameters.name")
    return Output(
        result=RemoveOrganizationFeatureResult(features=shown_features(features)), changes=(Put(profile),)
    )
