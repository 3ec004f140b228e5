"""Accounts of one wallet, created, renamed and deleted at the same time by two processes over one database.

KEYSTEAD_TEST_RACES sets how many times each.
"""

from __future__ import annotations

import random
from typing import Any

from keystead.api.enums import ActivityStatus
from keystead.api.errors import InvalidRequest, NotFound
from keystead.organizations.attachments import ChangedAccount, SealedSecret
from keystead.pipeline.activity import RecordedActivity
from tests.pipeline.test_races import at_once, check, request, seeds
from tests.support.organization_harness import OrganizationHarness


def account(path: str, **members: Any) -> dict[str, Any]:
    return {
        "curve": "CURVE_SECP256K1",
        "pathFormat": "PATH_FORMAT_BIP32",
        "path": path,
        "addressFormat": "ADDRESS_FORMAT_ETHEREUM",
    } | members


def harness(seed: int) -> tuple[OrganizationHarness, random.Random, str]:
    chance = random.Random(seed)
    people = OrganizationHarness("Root", root=["Root"], processes=2, chance=chance)
    made = people.result("Root", "create_wallet", {"walletName": "w", "accounts": [account("m/0", name="zero")]})
    return people, chance, made["walletId"]


def paths(people: OrganizationHarness) -> list[str]:
    return [one.account.path for one in people.database.attached_rows(ChangedAccount, people.id)]


@seeds
def test_one_path_asked_for_twice(seed: int) -> None:
    people, chance, wallet_id = harness(seed)
    spellings = [{"walletId": wallet_id, "accounts": [account(path)]} for path in ("m/1", "m/01")]
    sends = [request(people, "Root", "create_wallet_accounts", asked, chance.randrange(2)) for asked in spellings]
    answers = at_once(chance, *sends)
    check(people)
    assert len(paths(people)) == 2
    (refused,) = [answer for answer in answers if not isinstance(answer, RecordedActivity)]
    assert isinstance(refused, InvalidRequest)
    assert refused.message.startswith("invalid path")


@seeds
def test_accounts_of_a_wallet_that_is_deleted(seed: int) -> None:
    """Either the accounts went with the wallet, or nobody got any."""
    people, chance, wallet_id = harness(seed)
    made, deleted = at_once(
        chance,
        request(
            people,
            "Root",
            "create_wallet_accounts",
            {"walletId": wallet_id, "accounts": [account("m/1")]},
            chance.randrange(2),
        ),
        request(people, "Root", "delete_wallets", {"walletIds": [wallet_id], "deleteWithoutExport": True}, 0),
    )
    check(people)
    assert isinstance(deleted, RecordedActivity)
    assert isinstance(made, RecordedActivity | NotFound)
    assert paths(people) == []
    assert people.database.attached_rows(SealedSecret, people.id) == []


@seeds
def test_an_account_deleted_twice(seed: int) -> None:
    people, chance, _ = harness(seed)
    (held,) = people.database.attached_rows(ChangedAccount, people.id)
    asked = {"walletAccountIds": [held.account.wallet_account_id], "deleteWithoutExport": True}
    sends = [request(people, "Root", "delete_wallet_accounts", asked, process) for process in (0, 1)]
    answers = at_once(chance, *sends, sends[chance.randrange(2)])
    check(people)
    assert paths(people) == []
    done = {answer.id for answer in answers if isinstance(answer, RecordedActivity)}
    assert len(done) == 1
    assert all(isinstance(answer, RecordedActivity | InvalidRequest) for answer in answers)


@seeds
def test_an_account_renamed_and_deleted(seed: int) -> None:
    people, chance, _ = harness(seed)
    (held,) = people.database.attached_rows(ChangedAccount, people.id)
    account_id = held.account.wallet_account_id
    deletion = {"walletAccountIds": [account_id], "deleteWithoutExport": True}
    renamed, deleted = at_once(
        chance,
        request(
            people,
            "Root",
            "update_wallet_account_name",
            {"walletAccountId": account_id, "name": "x"},
            chance.randrange(2),
        ),
        request(people, "Root", "delete_wallet_accounts", deletion, 0),
    )
    check(people)
    assert isinstance(deleted, RecordedActivity)
    assert isinstance(renamed, RecordedActivity | InvalidRequest)
    assert paths(people) == []


@seeds
def test_a_name_taken_twice(seed: int) -> None:
    """By a new wallet and by more accounts of the one there is."""
    people, chance, wallet_id = harness(seed)
    answers = at_once(
        chance,
        request(
            people,
            "Root",
            "create_wallet",
            {"walletName": "x", "accounts": [account("m/0", name="one")]},
            chance.randrange(2),
        ),
        request(
            people,
            "Root",
            "create_wallet_accounts",
            {"walletId": wallet_id, "accounts": [account("m/1", name="one")]},
            0,
        ),
    )
    check(people)
    names = [one.account.name for one in people.database.attached_rows(ChangedAccount, people.id)]
    assert sorted(filter(None, names)) == ["one", "zero"]
    done = [answer for answer in answers if isinstance(answer, RecordedActivity)]
    assert [answer.status for answer in done] == [ActivityStatus.COMPLETED]
