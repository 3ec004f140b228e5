"""Windows of messages and attempts: what has room in them, and that nothing shortens them."""

from __future__ import annotations

import itertools
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from keystead.organizations.contacts.sending_windows import (
    OF_CONTACT,
    OF_USER_IDENTIFIER,
    SendingWindow,
    WindowLimits,
    contact_subject,
    unused_window,
    user_subject,
    with_attempt,
    with_code_used,
    with_message,
)
from tests.organizations.records import NOW_MS

LASTS_MS = OF_CONTACT.lasts_ms
WINDOW = SendingWindow(
    revision=7, root_id="root", subject="subject", ends_at_ms=NOW_MS + LASTS_MS, messages=1, attempts=2
)
FULL = replace(WINDOW, messages=OF_CONTACT.messages_max, attempts=OF_CONTACT.attempts_max)
NEW = replace(WINDOW, revision=8, messages=0, attempts=0)


def test_the_numbers() -> None:
    """docs/security.md computes with them."""
    assert WindowLimits(lasts_ms=600_000, messages_max=3, attempts_max=9) == OF_CONTACT
    assert WindowLimits(lasts_ms=180_000, messages_max=3, attempts_max=0) == OF_USER_IDENTIFIER


ROOM: list[tuple[str, SendingWindow, int, SendingWindow | None, SendingWindow | None]] = [
    (
        "a window with room",
        WINDOW,
        0,
        replace(WINDOW, revision=8, messages=2),
        replace(WINDOW, revision=8, attempts=3, guesses=1),
    ),
    ("a full window", FULL, 0, None, None),
    ("a full window, in its last millisecond", FULL, LASTS_MS - 1, None, None),
    (
        "a window that has ended",
        FULL,
        LASTS_MS,
        replace(NEW, ends_at_ms=NOW_MS + 2 * LASTS_MS, messages=1),
        replace(NEW, ends_at_ms=NOW_MS + 2 * LASTS_MS, attempts=1, guesses=1),
    ),
    (
        "no window yet",
        unused_window("root", "subject"),
        0,
        replace(NEW, revision=1, messages=1),
        replace(NEW, revision=1, attempts=1, guesses=1),
    ),
]


@pytest.mark.parametrize(
    ("window", "after_ms", "message", "attempt"), [one[1:] for one in ROOM], ids=[one[0] for one in ROOM]
)
def test_what_has_room(
    window: SendingWindow, after_ms: int, message: SendingWindow | None, attempt: SendingWindow | None
) -> None:
    assert with_message(window, OF_CONTACT, NOW_MS + after_ms) == message
    assert with_attempt(window, OF_CONTACT, NOW_MS + after_ms) == attempt


requests = st.lists(st.tuples(st.integers(0, LASTS_MS), st.sampled_from(["message", "attempt"])), max_size=80)


@given(requests)
def test_no_sequence_of_requests_gets_more_than_a_window_has(
    asked: list[tuple[int, Literal["message", "attempt"]]],
) -> None:
    """Windows do not overlap, and each lasts for its whole time, whatever is asked in it."""
    window, now_ms = unused_window("root", "subject"), NOW_MS
    counts: dict[int, dict[str, int]] = {}
    for pause_ms, kind in asked:
        now_ms += pause_ms
        after = (with_message if kind == "message" else with_attempt)(window, OF_CONTACT, now_ms)
        if after is None:
            continue
        if window.revision:
            same = now_ms < window.ends_at_ms
            assert after.ends_at_ms == (window.ends_at_ms if same else now_ms + LASTS_MS)
        window = after
        counts.setdefault(window.ends_at_ms, {"message": 0, "attempt": 0})[kind] += 1
    ends = sorted(counts)
    assert all(later - earlier >= LASTS_MS for earlier, later in itertools.pairwise(ends))
    assert all(count["message"] <= 3 and count["attempt"] <= 9 for count in counts.values())


def test_wrong_attempts_outlast_their_window_and_a_used_code_takes_its_own_back() -> None:
    """A row with guesses is kept for ever, otherwise who waits until it is purged begins anew."""
    guessed = with_attempt(WINDOW, OF_CONTACT, NOW_MS)
    assert guessed is not None
    later = with_message(guessed, OF_CONTACT, NOW_MS + 5 * LASTS_MS)
    assert later is not None
    assert (later.guesses, later.attempts, later.expires_at_ms) == (1, 0, 2**63 - 1)
    mistyped = with_attempt(later, OF_CONTACT, NOW_MS + 5 * LASTS_MS)
    assert mistyped is not None
    right = with_attempt(mistyped, OF_CONTACT, NOW_MS + 5 * LASTS_MS)
    assert right is not None
    used = with_code_used(right, attempts=2)
    assert (used.guesses, used.attempts, used.revision) == (1, 2, right.revision)
    assert with_code_used(replace(used, guesses=0), attempts=1).guesses == 0, "a row of an older server has none"


def test_the_row_belongs_to_the_root_and_expires_with_its_window() -> None:
    assert WINDOW.owner_id == "root"
    assert WINDOW.row()[:3] == ("subject", 7, NOW_MS + LASTS_MS)


def test_subjects_name_no_contact_and_differ_by_kind() -> None:
    subjects = {
        contact_subject("parent", "ada@example.com"),
        contact_subject("tenants", "ada@example.com"),
        contact_subject("parent", "bob@example.com"),
        user_subject("organization", "ada@example.com"),
        user_subject("another", "ada@example.com"),
    }
    assert len(subjects) == 5
    assert not any("ada" in subject for subject in subjects)
