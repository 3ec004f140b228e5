"""The change that deletes an organization: few look-ups go with it, many are left to the steps that follow."""

from __future__ import annotations

import asyncio

import pytest

from keystead.api.identifiers import new_id
from keystead.operations.organizations.sub_organizations import DeleteSubOrganizationResult
from keystead.organizations.attachments import RemovedOrganizationContents
from keystead.organizations.deletion import deletion_changes
from keystead.organizations.limits import Limits
from keystead.organizations.organization import apply
from keystead.pipeline import changes
from keystead.pipeline.changes import changes_of, lookups_of
from keystead.pipeline.execution import Output
from keystead.primitives.share import Share
from tests.support.commit_samples import a_user, an_organization


@pytest.mark.parametrize(("more", "goes_at_once"), [(0, True), (1, False)])
def test_look_ups_of_a_deleted_organization(more: int, goes_at_once: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    organization = an_organization(parent_id=new_id(), users=tuple(a_user(f"user {number}") for number in range(5)))
    lookups = lookups_of(organization, ())
    monkeypatch.setattr(changes, "LOOKUPS_DELETED_AT_ONCE_MAX", len(lookups) - more)
    output = Output(
        result=DeleteSubOrganizationResult(sub_organization_uuid=organization.id),
        changes=deletion_changes(organization, without_export=True),
        attachments=(RemovedOrganizationContents(),),
    )
    write = asyncio.run(changes_of(organization, output, new_id(), Limits(), Share()))
    assert write is not None
    assert write.after == apply(organization, output.changes, write.after.version)
    assert list(write.after.users) == []
    assert write.lookups_added == frozenset()
    expected = lookups - lookups_of(write.after, ()) if goes_at_once else frozenset()
    assert write.lookups_removed == expected
