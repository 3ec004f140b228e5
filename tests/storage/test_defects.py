"""A commit that fails because of a defect is logged with the place of the defect, and without any value."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest

from keystead.api.errors import AlreadyExists, Internal, ServiceError
from keystead.storage.errors import duplicate_key_error, failed_write_error
from tests.support.logged_lines import logged_lines

VALUE = "a sealed value that the database quotes"


def failing(message: str) -> None:
    raise RuntimeError(message)


def failure(message: str) -> Exception:
    with pytest.raises(RuntimeError) as raised:
        failing(message)
    return raised.value


@pytest.mark.parametrize("refusal_of", [duplicate_key_error, failed_write_error])
def test_a_defect_is_logged_without_the_databases_message(
    refusal_of: Callable[[Exception], ServiceError], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, logger="keystead.storage"):
        refusal = refusal_of(failure(VALUE))
    assert isinstance(refusal, Internal)
    assert VALUE not in refusal.message
    (record,) = caplog.records
    assert record.message == "a commit failed because of a defect of the server: RuntimeError"
    lines = logged_lines([record])
    assert "in failing" in lines, "the place of the defect"
    assert VALUE not in lines


def test_a_name_that_is_taken_is_no_defect(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, logger="keystead.storage"):
        assert isinstance(duplicate_key_error(failure("wallet_account_by_name")), AlreadyExists)
    assert caplog.records == []
