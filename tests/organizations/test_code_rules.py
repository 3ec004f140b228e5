"""The rules of stored one-time codes: until when an attempt may succeed, and how many codes may be started."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from keystead.api.enums import OtpType
from keystead.organizations.one_time_codes import (
    CodeCount,
    CodeStart,
    OneTimeCode,
    contact_subject,
    count_without_starts,
    has_room_for_contact,
    has_room_for_user,
    user_subject,
)
from keystead.sessions.one_time_codes import ACTIVE_MAX, ATTEMPTS_MAX, INIT_MAX, INIT_WINDOW_MS, CodeForm
from tests.organizations.records import NOW_MS

LIFE_MS = 300_000
CODE = OneTimeCode(
    id="code",
    flow="encrypted",
    otp_type=OtpType.EMAIL,
    contact="ada@example.com",
    form=CodeForm(),
    digest=b"digest",
    created_at_ms=NOW_MS,
    expires_at_ms=NOW_MS + LIFE_MS,
)

OPEN: list[tuple[str, dict[str, Any], int, bool]] = [
    ("new", {}, 0, True),
    ("in its last millisecond", {}, LIFE_MS - 1, True),
    ("expired", {}, LIFE_MS, False),
    ("with one attempt left", {"attempts": ATTEMPTS_MAX - 1}, 0, True),
    ("locked", {"attempts": ATTEMPTS_MAX}, 0, False),
    ("used", {"used_at_ms": NOW_MS}, 0, False),
]


@pytest.mark.parametrize(("fields", "after_ms", "is_open"), [one[1:] for one in OPEN], ids=[one[0] for one in OPEN])
def test_whether_an_attempt_may_succeed(fields: dict[str, Any], after_ms: int, is_open: bool) -> None:
    assert replace(CODE, **fields).is_open(NOW_MS + after_ms) is is_open


def test_wrong_attempts_lock_a_code_and_a_right_one_uses_it() -> None:
    code = CODE
    for number in range(1, ATTEMPTS_MAX + 1):
        assert code.is_open(NOW_MS)
        code = code.after_wrong_attempt()
        assert (code.revision, code.attempts) == (1 + number, number)
    assert not code.is_open(NOW_MS)
    used = CODE.after_use(NOW_MS + 1)
    assert (used.revision, used.used_at_ms, used.is_open(NOW_MS + 1)) == (2, NOW_MS + 1, False)


def started(*ages_ms: int) -> CodeCount:
    """A subject's codes, started so long before NOW."""
    count = count_without_starts("subject")
    for number, age_ms in enumerate(ages_ms):
        at_ms = NOW_MS - age_ms
        count = count.with_start(CodeStart(f"code-{number}", at_ms, at_ms + LIFE_MS))
    return count


ROOM = [
    ("none", (), True, True),
    ("one less than each maximum", (0,) * (ACTIVE_MAX - 1), True, True),
    ("the maximum of both", (0,) * ACTIVE_MAX, False, False),
    ("codes that are valid after the window", (INIT_WINDOW_MS,) * ACTIVE_MAX, False, True),
    ("the last millisecond of the window", (INIT_WINDOW_MS - 1,) * INIT_MAX, False, False),
    ("expired codes", (LIFE_MS,) * ACTIVE_MAX, True, True),
    ("the last millisecond of their life", (LIFE_MS - 1,) * ACTIVE_MAX, False, True),
]


@pytest.mark.parametrize(("ages_ms", "contact", "user"), [one[1:] for one in ROOM], ids=[one[0] for one in ROOM])
def test_whether_another_code_may_be_started(ages_ms: tuple[int, ...], contact: bool, user: bool) -> None:
    count = started(*ages_ms)
    assert has_room_for_contact(count, NOW_MS) is contact
    assert has_room_for_user(count, NOW_MS) is user


def test_a_used_code_is_no_longer_counted() -> None:
    count = started(*(0,) * ACTIVE_MAX)
    after = count.without_start("code-0")
    assert (after.revision, len(after.starts)) == (count.revision + 1, ACTIVE_MAX - 1)
    assert has_room_for_contact(after, NOW_MS)


def test_starts_that_no_rule_counts_are_dropped() -> None:
    count = started(LIFE_MS + 1, LIFE_MS - 1, 0)
    assert [start.otp_id for start in count.starts] == ["code-1", "code-2"]
    assert count.revision == 3


def test_a_row_of_counts_expires_with_its_last_start() -> None:
    assert started(60_000, 0).row()[2] == NOW_MS + LIFE_MS
    assert count_without_starts("subject").row()[2] == 0


def test_subjects_name_no_contact_and_differ_by_kind() -> None:
    subjects = {
        contact_subject("ada@example.com"),
        user_subject("ada@example.com"),
        contact_subject("bob@example.com"),
    }
    assert len(subjects) == 3
    assert not any("ada" in subject for subject in subjects)
