"""Waiting commits become one transaction: in one order, with each row once; or none, if they contradict each
other."""

from __future__ import annotations

import random
from collections.abc import Sequence

from msgspec.structs import replace

from keystead.organizations.attachments import InterfaceText, RemovedOrganizationContents
from keystead.organizations.kinds.contract_interfaces import ContractInterface
from keystead.organizations.organization import Remove
from keystead.pipeline.store import Commit
from keystead.storage.row_encoding import rows_of
from keystead.storage.rows import Rows, by_table, merge
from keystead.storage.tables import TABLES, merged_key_lengths
from tests.support.commit_history import CommitHistory, approved, of
from tests.support.commit_samples import a_user, an_activity, an_interface, an_organization

GRACE, EDA = a_user("Grace"), a_user("Eda")


def merged(*commits: Commit) -> Rows | None:
    return merge([rows_of(commit) for commit in commits], merged_key_lengths(TABLES))


def test_every_process_locks_in_the_same_order() -> None:
    changed, unchanged = [[an_organization() for _ in range(4)] for _ in range(2)]
    steps = [CommitHistory(organization).step() for organization in changed]
    revisions = [of(approved(an_activity(organization), GRACE), organization) for organization in unchanged * 2]
    commits = [*steps, *revisions]
    for seed in range(5):
        random.Random(seed).shuffle(commits)
        together = merged(*commits)
        assert together is not None
        swapped = [swap.organization_id for swap in together.version_swaps]
        revised = [(swap.organization_id, swap.activity_id) for swap in together.activity_swaps]
        asked = [(row[0], row[2]) for row in by_table(together.inserted)["activity"]]
        assert swapped == sorted(organization.id for organization in changed)
        assert [id_ for id_, _ in together.version_checks] == sorted(organization.id for organization in unchanged)
        assert (len(revised), len(asked)) == (8, 4)
        assert (revised, asked) == (sorted(revised), sorted(asked))


def test_a_check_holds_at_its_place_in_the_order() -> None:
    """A check before a change is of the version before it. A check after a change is of the version after it."""
    history = CommitHistory(an_organization())
    before = history.signing()
    step = history.step()
    after = history.signing()
    for commits in ((before, step, after), (before, before, step), (step, after, after), (before, before)):
        together = merged(*commits)
        assert together is not None
        assert len(together.version_swaps) == int(step in commits)
        assert len(together.version_checks) == int(step not in commits)
    for commits in ((step, before), (after, step), (before, after), (before, step, before)):
        assert merged(*commits) is None


def test_an_activity_is_revised_once() -> None:
    organization = an_organization()
    activity = an_activity(organization)
    first = approved(activity, GRACE)
    assert merged(of(first, organization)) is not None
    for second in (approved(activity, EDA), approved(first, EDA)):
        assert merged(of(first, organization), of(second, organization)) is None


def test_a_chain_that_breaks() -> None:
    history, beside = [CommitHistory(organization) for organization in [an_organization()] * 2]
    first, second = history.step(), history.step()
    assert merged(first, second) is not None
    assert merged(second, first) is None
    assert merged(first, beside.step()) is None


def test_nothing_comes_after_a_dissolution() -> None:
    history = CommitHistory(an_organization())
    before, end = history.step(), history.step(attachments=(RemovedOrganizationContents(),))
    together = merged(before, end)
    assert together is not None
    assert together.deleted_organizations == [history.head.id]
    assert merged(end, history.step()) is None


def test_only_the_last_state_of_a_row_is_written() -> None:
    ada = a_user()
    history = CommitHistory(an_organization(users=(ada,)))
    interface = an_interface()
    commits = [
        history.step(interface, attachments=(InterfaceText(interface.id, "abi"),)),
        *[history.step(replace(ada, user_name=name)) for name in ("Ida", "Ada", "Eda", "Ida")],
        history.step(Remove(ContractInterface, interface.id), attachments=(InterfaceText.removal(interface.id),)),
    ]
    together = merged(*commits)
    assert together is not None
    inserted, deleted = by_table(together.inserted), by_table(together.deleted)
    assert deleted["interface_text"] == [(history.head.id, interface.id)]
    assert "interface_text" not in inserted
    assert names(inserted["lookup"]) == ["Ida"]
    assert names(deleted["lookup"]) == ["Ada", "Eda"]
    written = {row[2]: row for row in inserted["record"]}
    assert len(written) == len(inserted["record"]) == 2
    assert written[interface.id][3:] == (history.head.version.number, b"")
    assert written[ada.user_id][3] == history.head.version.number - 1


def names(lookups: Sequence[tuple[str, ...]]) -> list[str]:
    return sorted(value for kind, value, *_ in lookups if kind == "user_name")
