"""The rules of stored one-time codes: until when an attempt may succeed. Not here: how many there may be."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from keystead.api.enums import OtpType
from keystead.organizations.contacts.one_time_codes import OneTimeCode
from keystead.sessions.bounds import CODE_ATTEMPTS_MAX
from keystead.sessions.one_time_codes import CodeForm
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
    ("with one attempt left", {"attempts": CODE_ATTEMPTS_MAX - 1}, 0, True),
    ("locked", {"attempts": CODE_ATTEMPTS_MAX}, 0, False),
    ("used", {"used_at_ms": NOW_MS}, 0, False),
]


@pytest.mark.parametrize(("fields", "after_ms", "is_open"), [one[1:] for one in OPEN], ids=[one[0] for one in OPEN])
def test_whether_an_attempt_may_succeed(fields: dict[str, Any], after_ms: int, is_open: bool) -> None:
    assert replace(CODE, **fields).is_open(NOW_MS + after_ms) is is_open


def test_wrong_attempts_lock_a_code_and_a_right_one_uses_it() -> None:
    code = CODE
    for number in range(1, CODE_ATTEMPTS_MAX + 1):
        assert code.is_open(NOW_MS)
        code = code.after_wrong_attempt()
        assert (code.revision, code.attempts) == (1 + number, number)
    assert not code.is_open(NOW_MS)
    used = CODE.after_use(NOW_MS + 1)
    assert (used.revision, used.used_at_ms, used.is_open(NOW_MS + 1)) == (2, NOW_MS + 1, False)
