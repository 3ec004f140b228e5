"""The errors of the store: what a caller is told when the database does not do what it was asked to.

The messages never repeat the database's own, which can quote values and names.
"""

from __future__ import annotations

from keystead.api.errors import AlreadyExists, DatabaseUnavailable, Internal, ServiceError, Unavailable


class NotMigrated(Unavailable):
    """The database answers, but the tables are not there."""

    def __init__(self) -> None:
        super().__init__("the database has no tables yet; run `keystead migrate`")


def unavailable(cause: str) -> DatabaseUnavailable:
    """For any operation that the database did not do, or may not have done."""
    return DatabaseUnavailable(f"the database {cause}; sending the same request again is safe")


def already_there(error: Exception) -> ServiceError:
    """For a row whose key exists already."""
    refusal: ServiceError = Internal("the commit contradicts what is stored")
    if "wallet_account.name" in str(error) or "wallet_account_by_name" in str(error):
        refusal = AlreadyExists("a wallet account of this organization already has this name")
    elif "wallet_account" in str(error):
        refusal = AlreadyExists("the wallet already has an account of this path, curve and address format")
    refusal.__cause__ = error
    return refusal


def unwritten(error: Exception) -> ServiceError:
    """For a commit that failed for a reason that is not the database's."""
    refusal = Internal("the commit could not be written")
    refusal.__cause__ = error
    return refusal
