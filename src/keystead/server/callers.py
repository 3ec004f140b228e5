"""Which user a proven key belongs to, and which organization the request reads or changes.

Not here: the proof of the key (`authentication`), which user of one organization has a key
(`organizations.principals`).
"""

from __future__ import annotations

from keystead.api.errors import InvalidRequest, NotFound, ServiceError
from keystead.organizations import principals
from keystead.organizations.ip_allowlists import SourceAddress, check_source
from keystead.organizations.lookups import AccountValue
from keystead.organizations.organization import Organization
from keystead.pipeline.store import Store, suborganization_with
from keystead.pipeline.submission import Submission, SubmissionBody


async def reader(
    store: Store,
    organization_id: str,
    proven: principals.ProvenKey,
    now_ms: int,
    *,
    before_session: bool,
    of_caller: bool,
    source: SourceAddress,
) -> tuple[Organization, principals.Principal]:
    """The organization that a query reads, and the user who reads it.

    The user is searched for in the organization, then in its parent, whose users may read its sub-organizations.
    With `before_session`, the sub-organizations of a parent are searched, too: one of them must have the user, and
    the query reads this one. With `of_caller` (whoami), the query always reads the user's own organization. The IP
    allow-list that applies to the user must have the address of `source`. Raises NotFound, Unauthenticated,
    PermissionDenied.
    """
    organization = await existing_organization(store, organization_id)
    if (principal := _allowed_principal(organization, proven, now_ms, source)) is not None:
        return organization, principal
    if organization.profile.parent_id is not None:
        parent = await existing_organization(store, organization.profile.parent_id)
        if (principal := _allowed_principal(parent, proven, now_ms, source)) is not None:
            return (parent if of_caller else organization), principal
    elif before_session:
        return await _in_suborganization(store, organization, proven, now_ms, source)
    raise principals.unknown_key_error(organization_id, proven)


def _allowed_principal(
    organization: Organization, proven: principals.ProvenKey, now_ms: int, source: SourceAddress
) -> principals.Principal | None:
    """The user of this organization who has the key; None if no user has it. Raises Unauthenticated, and
    PermissionDenied if an IP allow-list does not have the address of `source`."""
    try:
        principal = principals.principal_in(organization, proven, now_ms)
        if principal is not None:
            check_source(organization, proven.public_key, source)
    except ServiceError as refused:
        refused.sender_id = _holder_of(organization, proven)
        raise
    return principal


def _holder_of(organization: Organization, proven: principals.ProvenKey) -> str:
    """The id of the user who has the key or the passkey, which may have expired; "" if nobody has it."""
    users = organization.users
    if proven.credential_id is not None:
        holder, _ = users.by_credential_id.get(proven.credential_id) or ("", None)
    else:
        holder, _ = users.by_public_key.get(proven.public_key) or ("", None)
    return holder


async def _in_suborganization(
    store: Store, organization: Organization, proven: principals.ProvenKey, now_ms: int, source: SourceAddress
) -> tuple[Organization, principals.Principal]:
    """The one sub-organization of this organization that has the user, and the user. Raises Unauthenticated."""
    suborganization_id = await suborganization_with(store, organization.id, *proven.lookup())
    if suborganization_id is not None:
        suborganization = await existing_organization(store, suborganization_id)
        if (principal := _allowed_principal(suborganization, proven, now_ms, source)) is not None:
            return suborganization, principal
    raise principals.unknown_key_error(organization.id, proven)


async def submitter(
    store: Store, body: SubmissionBody, proven: principals.ProvenKey, now_ms: int, source: SourceAddress
) -> Submission:
    """The submission of this body: with the organization that it changes, and the user who submits it.

    A parent's users may read its sub-organizations, but change them only with operations that are `by_parent`. If
    a parent does not have the user and the operation is `before_session`, its sub-organizations are searched. The
    IP allow-list that applies to the user must have the address of `source`. Raises InvalidRequest, NotFound,
    Unauthenticated, PermissionDenied.
    """
    operation = body.operation
    organization_id = proven.organization_id or body.envelope.organization_id
    organization = await existing_organization(store, organization_id)
    if (principal := _allowed_principal(organization, proven, now_ms, source)) is not None:
        if operation.by_parent is not None and organization.profile.parent_id is None:
            organization = await _organization_of_user(store, organization, body.user_lookup())
    elif organization.profile.parent_id is not None:
        parent = await existing_organization(store, organization.profile.parent_id)
        if (principal := _allowed_principal(parent, proven, now_ms, source)) is None:
            raise principals.unknown_key_error(organization_id, proven)
        if operation.by_parent is None:
            raise InvalidRequest(
                f'organization mismatch: request is targeting organization ("{organization.id}"), '
                f'but voters are in organization ("{parent.id}")',
                machine_code="ORGANIZATION_MISMATCH",
            )
    elif operation.before_session:
        organization, principal = await _in_suborganization(store, organization, proven, now_ms, source)
    else:
        raise principals.unknown_key_error(organization_id, proven)
    return Submission(body=body, caller=principal, seen=organization, source=source)


async def _organization_of_user(
    store: Store, organization: Organization, lookup: AccountValue | None
) -> Organization:
    """The one sub-organization that the look-up finds, otherwise the organization itself."""
    if lookup is None:
        return organization
    suborganization_id = await suborganization_with(store, organization.id, *lookup)
    return organization if suborganization_id is None else await existing_organization(store, suborganization_id)


async def existing_organization(store: Store, organization_id: str) -> Organization:
    """The organization of this id. Raises NotFound if it does not exist or was deleted."""
    organization = await store.organization(organization_id)
    if organization is not None and not organization.profile.deleted:
        return organization
    # Published clients end a session of a deleted organization when they read these words.
    deletion = "" if organization is None else f"; it was deleted: {principals.KEY_NOT_FOUND}"
    raise NotFound(
        f"no organization found with the given ID: {organization_id}{deletion}",
        machine_code="ORGANIZATION_NOT_FOUND",
    )
