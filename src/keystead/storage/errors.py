"""The errors that the store raises for callers, after the database failed or refused.

The messages never repeat the database's own messages, which can quote values and names.
"""

from __future__ import annotations

import logging
from typing import Final

from keystead.api.errors import AlreadyExists, DatabaseUnavailable, Internal, ServiceError, Unavailable
from keystead.failures.defects import log_defect

logger = logging.getLogger("keystead.storage")

AGAIN: Final = "; sending the same request again is safe"
"""The end of a message to a caller of the API. Commands and starts leave it out (`operator_messages`)."""

_NOT_COMMITTED: Final = "a commit failed"


class NotMigrated(Unavailable):
    """The database answers, but has no tables."""

    def __init__(self) -> None:
        super().__init__("the database has no tables yet; run `keystead migrate`")


def unavailable(cause: str) -> DatabaseUnavailable:
    """The error for any operation that the database did not carry out, or may not have."""
    return DatabaseUnavailable(f"the database {cause}{AGAIN}")


def duplicate_key_error(error: Exception) -> ServiceError:
    """The error for a commit that inserts a row whose key exists already."""
    refusal: ServiceError
    if "wallet_account.name" in str(error) or "wallet_account_by_name" in str(error):
        refusal = AlreadyExists("a wallet account of this organization already has this name")
    elif "wallet_account" in str(error):
        refusal = AlreadyExists("the wallet already has an account of this path, curve and address format")
    else:
        log_defect(logger, error, _NOT_COMMITTED)
        refusal = Internal("the commit contradicts what is stored")
    refusal.__cause__ = error
    return refusal


def failed_write_error(error: Exception) -> ServiceError:
    """The error for a commit that failed, although the database works."""
    log_defect(logger, error, _NOT_COMMITTED)
    refusal = Internal("the commit could not be written")
    refusal.__cause__ = error
    return refusal
