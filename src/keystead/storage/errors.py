"""The errors that the store raises for callers, after the database failed or refused.

The messages never repeat the database's own messages, which can quote values and names.
"""

from __future__ import annotations

import logging
import traceback
from typing import Final

from keystead.api.errors import AlreadyExists, DatabaseUnavailable, Internal, ServiceError, Unavailable

logger = logging.getLogger("keystead.storage")

AGAIN: Final = "; sending the same request again is safe"
"""The end of a message to a caller of the API. Commands and starts leave it out (`operator_messages`)."""


class NotMigrated(Unavailable):
    """The database answers, but has no tables."""

    def __init__(self) -> None:
        super().__init__("the database has no tables yet; run `keystead migrate`")


def unavailable(cause: str) -> DatabaseUnavailable:
    """The error for any operation that the database did not carry out, or may not have."""
    return DatabaseUnavailable(f"the database {cause}{AGAIN}")


def already_there(error: Exception) -> ServiceError:
    """The error for a row whose key exists already."""
    refusal: ServiceError
    if "wallet_account.name" in str(error) or "wallet_account_by_name" in str(error):
        refusal = AlreadyExists("a wallet account of this organization already has this name")
    elif "wallet_account" in str(error):
        refusal = AlreadyExists("the wallet already has an account of this path, curve and address format")
    else:
        _log_defect(error)
        refusal = Internal("the commit contradicts what is stored")
    refusal.__cause__ = error
    return refusal


def unwritten(error: Exception) -> ServiceError:
    """The error for a commit that failed, although the database works."""
    _log_defect(error)
    refusal = Internal("the commit could not be written")
    refusal.__cause__ = error
    return refusal


def _log_defect(error: Exception) -> None:
    """Log where an error comes from, without its message, which can quote values."""
    frames = "".join(traceback.format_tb(error.__traceback__))
    logger.error("a commit failed because of a defect of the server: %s\n%s", type(error).__name__, frames)
