"""Sub-organizations: created in the commit of their parent's activity, listed by page, found by their look-ups."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from msgspec.structs import replace

from keystead.organizations.attachments import InterfaceText
from keystead.organizations.lookups import LookupKind
from keystead.pipeline.activity import RecordedActivity
from keystead.pipeline.store import Commit, CommitResult, Page
from keystead.storage.store import DatabaseStore
from tests.storage.conftest import opened
from tests.support.commit_history import CommitHistory, new_history
from tests.support.commit_samples import a_secret, a_tag, a_user, an_account, an_activity, an_organization

COMMITTED, CONFLICT, DUPLICATE, CREDENTIAL_HELD = CommitResult
ALL = Page(limit=100)


def test_a_child_is_created_with_its_parents_activity(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store, opened(database) as other:
            history = await new_history(store)
            child = an_organization(parent_id=history.head.id, users=(a_user(), a_user("Grace")))
            interface_id = next(iter(child.contract_interfaces))
            account = an_account(child.id, next(iter(child.wallets)))
            attachments = (InterfaceText(interface_id, "abi"), account, a_secret(child.id))
            commit = history.suborganization(child, *attachments)
            assert commit.activity is not None
            tagged = history.write_of(commit.activity, a_tag())
            assert await store.commit(replace(commit, changes=tagged)) is COMMITTED
            for place in (store, other):
                assert await place.organization(child.id) == child
                assert await place.organization(history.head.id) == history.head
                assert await place.activities.page(history.head.id, (), (), ALL) == [commit.activity]
                assert await place.activities.page(child.id, (), (), ALL) == []
                assert await place.attached.interface_texts(child.id) == {interface_id: "abi"}
                assert await place.accounts.page(child.id, None, ALL) == [account.account]
                assert await place.suborganizations.page(history.head.id, None, ALL) == [child.id]
            assert await other.commit(CommitHistory(child).step()) is COMMITTED

    asyncio.run(run())


def with_activity(commit: Commit, activity: RecordedActivity) -> Commit:
    return replace(commit, activity=activity, new_votes=activity.votes)


def test_a_child_is_created_completely_or_not_at_all(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store:
            history = await new_history(store)
            children = [an_organization(parent_id=history.head.id) for _ in range(4)]
            commits = [history.suborganization(child) for child in children]
            assert commits[0].activity is not None
            fingerprint = commits[0].activity.fingerprint
            again = with_activity(commits[1], an_activity(history.head, fingerprint=fingerprint))
            elsewhere = replace(history.head.version, changed_by="somebody else")
            stale = CommitHistory(replace(history.head, version=elsewhere))
            late = replace(
                commits[2], decided_on=elsewhere, changes=stale.write_of(an_activity(history.head), a_tag())
            )
            twice = with_activity(commits[0], an_activity(history.head))
            results = await asyncio.gather(*map(store.commit, [commits[0], again, late, twice, commits[3]]))
            assert results == [COMMITTED, DUPLICATE, CONFLICT, CONFLICT, COMMITTED]
            kept = [children[0].id, children[3].id]
            assert await store.suborganizations.page(history.head.id, None, ALL) == kept
            assert await store.suborganizations.page(history.head.id, (LookupKind.USER_NAME, "Ada"), ALL) == kept
            for child in children:
                assert await store.organization(child.id) == (child if child.id in kept else None)
            assert len(await store.activities.page(history.head.id, (), (), ALL) or ()) == 2

    asyncio.run(run())


class PageCase(NamedTuple):
    """A page of the sub-organizations 0…6. Every second has a user Eda. Cursors are numbers of sub-organizations;
    -1 is unknown."""

    name: str
    by_value: bool
    limit: int
    before: int | None
    after: int | None
    expected: tuple[int, ...] | None


PAGES = [
    PageCase("all", False, 100, None, None, (0, 1, 2, 3, 4, 5, 6)),
    PageCase("the first", False, 3, None, None, (0, 1, 2)),
    PageCase("beyond a cursor", False, 3, None, 2, (3, 4, 5)),
    PageCase("beyond the last", False, 3, None, 6, ()),
    PageCase("ahead of a cursor: the nearest", False, 2, 4, None, (2, 3)),
    PageCase("ahead of the first", False, 2, 0, None, ()),
    PageCase("an unknown cursor", False, 3, None, -1, None),
    PageCase("an unknown cursor, backwards", False, 3, -1, None, None),
    PageCase("by a value: each once", True, 100, None, None, (0, 2, 4, 6)),
    PageCase("by a value: the first", True, 2, None, None, (0, 2)),
    PageCase("by a value, beyond a cursor", True, 2, None, 2, (4, 6)),
    PageCase("by a value, beyond a cursor that it does not lead to", True, 1, None, 3, (4,)),
    PageCase("by a value, ahead of a cursor", True, 2, 6, None, (2, 4)),
    PageCase("by a value, an unknown cursor", True, 2, None, -1, None),
]


def test_pages_of_suborganizations(database: str) -> None:
    async def run() -> None:
        async with opened(database) as store:
            history = await new_history(store)
            children = [
                an_organization(
                    parent_id=history.head.id,
                    # Two holders of one e-mail address and, where there is an Eda, of one name.
                    users=(a_user("Ida" if number % 2 else "Eda"), a_user("Ida" if number % 2 else "Eda")),
                )
                for number in range(7)
            ]
            # In another order than that of their creation.
            for child in (*children[3:], *children[:3]):
                assert await store.commit(history.suborganization(child)) is COMMITTED
            ids = {number: child.id for number, child in enumerate(children)} | {-1: "unknown", None: None}
            for case in PAGES:
                page = Page(limit=case.limit, before=ids[case.before], after=ids[case.after])
                found_by = (LookupKind.USER_NAME, "Eda") if case.by_value else None
                expected = None if case.expected is None else [children[number].id for number in case.expected]
                assert await store.suborganizations.page(history.head.id, found_by, page) == expected, case.name
            await assert_found_only_where_they_belong(store, history, children[0].id)

    asyncio.run(run())


async def assert_found_only_where_they_belong(store: DatabaseStore, history: CommitHistory, child_id: str) -> None:
    name = (LookupKind.ORGANIZATION_NAME, history.head.profile.name)
    assert len(await store.suborganizations.page(history.head.id, name, ALL) or ()) == 7
    assert len(await store.suborganizations.with_value(history.head.id, *name)) == 2
    assert await store.suborganizations.page(history.head.id, (LookupKind.EMAIL, "Eda"), ALL) == []
    assert await store.suborganizations.page(history.head.id, (LookupKind.USER_NAME, "no\x00body"), ALL) == []
    for elsewhere in (child_id, "another organization"):
        assert await store.suborganizations.page(elsewhere, None, ALL) == []
        assert await store.suborganizations.page(elsewhere, name, ALL) == []
        assert await store.suborganizations.page(elsewhere, None, Page(limit=3, after=child_id)) is None
