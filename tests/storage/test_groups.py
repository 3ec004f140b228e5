"""How waiting commits become one transaction: in one order, each row once; or not at all, where they contradict."""

from __future__ import annotations

import random
from collections.abc import Sequence

from msgspec.structs import replace

from keystead.organizations.attachments import InterfaceText, RemovedOrganizationContents
from keystead.organizations.kinds.contract_interfaces import ContractInterface
from keystead.organizations.organization import Remove
from keystead.pipeline.store import Commit
from keystead.storage.groups import Group, gather
from keystead.storage.rows import of_commit
from tests.support.commit_history import CommitHistory, approved, of
from tests.support.commit_samples import a_user, an_activity, an_interface, an_organization

GRACE, EDA = a_user("Grace"), a_user("Eda")


def gathered(*commits: Commit) -> Group | None:
    return gather([of_commit(commit) for commit in commits])


def test_every_process_locks_in_the_same_order() -> None:
    organizations = [an_organization() for _ in range(4)]
    steps = [CommitHistory(organization).step() for organization in organizations]
    revisions = [of(approved(an_activity(organization), GRACE)) for organization in organizations * 2]
    commits = [*steps, *revisions]
    for seed in range(5):
        random.Random(seed).shuffle(commits)
        group = gathered(*commits)
        assert group is not None
        moved = [swap.organization_id for swap in group.version_swaps]
        revised = [(revision.organization_id, revision.activity_id) for revision in group.activity_swaps]
        asked = [(row[0], row[2]) for row in group.rows["activity"]]
        assert moved == sorted(organization.id for organization in organizations)
        assert (len(revised), len(asked)) == (8, 4)
        assert (revised, asked) == (sorted(revised), sorted(asked))


def test_an_activity_is_revised_once() -> None:
    activity = an_activity(an_organization())
    first = approved(activity, GRACE)
    assert gathered(of(first)) is not None
    for second in (approved(activity, EDA), approved(first, EDA)):
        assert gathered(of(first), of(second)) is None


def test_a_chain_that_breaks() -> None:
    history, beside = [CommitHistory(organization) for organization in [an_organization()] * 2]
    first, second = history.step(), history.step()
    assert gathered(first, second) is not None
    assert gathered(second, first) is None
    assert gathered(first, beside.step()) is None


def test_nothing_comes_after_a_dissolution() -> None:
    history = CommitHistory(an_organization())
    before, end = history.step(), history.step(attachments=(RemovedOrganizationContents(),))
    group = gathered(before, end)
    assert group is not None
    assert group.deleted_organizations == [history.head.id]
    assert gathered(end, history.step()) is None


def test_only_the_last_state_of_a_row_is_written() -> None:
    ada = a_user()
    history = CommitHistory(an_organization(users=(ada,)))
    interface = an_interface()
    commits = [
        history.step(interface, attachments=(InterfaceText(interface.id, "abi"),)),
        *[history.step(replace(ada, user_name=name)) for name in ("Ida", "Ada", "Eda", "Ida")],
        history.step(Remove(ContractInterface, interface.id), attachments=(InterfaceText.removed(interface.id),)),
    ]
    group = gathered(*commits)
    assert group is not None
    assert group.deleted["interface_text"] == [(history.head.id, interface.id)]
    assert "interface_text" not in group.rows
    assert names(group.rows["lookup"]) == ["Ida"]
    assert names(group.deleted["lookup"]) == ["Ada", "Eda"]
    written = {row[2]: row for row in group.rows["record"]}
    assert len(written) == len(group.rows["record"]) == 2
    assert written[interface.id][3:] == (history.head.version.number, b"")
    assert written[ada.user_id][3] == history.head.version.number - 1


def names(lookups: Sequence[tuple[str, ...]]) -> list[str]:
    return sorted(value for kind, value, *_ in lookups if kind == "user_name")
