"""Every table, as SQLAlchemy Core metadata: what the migrations must lead to and what statements are built from.

Here: names, types, keys, indexes, and why they are so. Not here: statements, or what the bodies hold (`rows`).
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Index, LargeBinary, MetaData, Table, Text
from sqlalchemy.dialects import postgresql

metadata = MetaData()

# Order by code point, whatever the locale of the database: pages are cut by comparing ids.
_Name = Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")
# Text of callers is stored as its UTF-8 bytes: PostgreSQL's text cannot hold U+0000, JSON's can.
_Body = LargeBinary()

# organization_id leads every key, so that the tables can be distributed by it as they are. The exceptions are
# `lookup`, which is asked across organizations, and `instance`, which belongs to none.

organization = Table(
    "organization",
    metadata,
    Column("id", _Name, primary_key=True),
    Column("parent_id", _Name, nullable=True),
    Column("version", BigInteger, nullable=False),
    Column("changed_by", _Name, nullable=False),
    # A page of a parent's sub-organizations. A dissolved one has no parent here.
    Index("organization_by_parent", "parent_id", "id"),
    sqlite_with_rowid=False,
)

record = Table(
    "record",
    metadata,
    Column("organization_id", _Name, primary_key=True),
    Column("kind", _Name, primary_key=True),
    Column("id", _Name, primary_key=True),
    # A record that was taken away leaves its row, with an empty body, for those who ask what changed.
    Column("version", BigInteger, nullable=False),
    Column("body", _Body, nullable=False),
    # What changed since version N.
    Index("record_by_version", "organization_id", "version"),
)

activity = Table(
    "activity",
    metadata,
    Column("organization_id", _Name, primary_key=True),
    Column("id", _Name, primary_key=True),
    Column("fingerprint", _Name, nullable=False),
    Column("type", _Name, nullable=False),
    Column("submitter_id", _Name, nullable=False),
    Column("created_at_ms", BigInteger, nullable=False),
    Column("request", _Body, nullable=False),
    Column("status", _Name, nullable=False),
    Column("result", _Body, nullable=False),
    Column("app_proofs", _Body, nullable=True),
    Column("failure", _Body, nullable=True),
    Column("proofs", _Body, nullable=False),
    Column("approvals_since_ms", BigInteger, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("updated_at_ms", BigInteger, nullable=False),
    Index("activity_by_fingerprint", "organization_id", "fingerprint", unique=True),
    # A page of any statuses merges one walk of this index per status; of any types and statuses, one walk of
    # the next per pair. So a page costs the same however many activities there are.
    Index("activity_by_status", "organization_id", "status", "id"),
    Index("activity_by_type", "organization_id", "type", "status", "id"),
)

# What many rows say in the same words, once: who a voter was, what the policies said. It grows with what changes,
# not with every activity; rows name it by the SHA-256 of the body.
shared_body = Table(
    "shared_body",
    metadata,
    Column("organization_id", _Name, primary_key=True),
    Column("digest", LargeBinary, primary_key=True),
    Column("body", _Body, nullable=False),
)

vote = Table(
    "vote",
    metadata,
    Column("organization_id", _Name, primary_key=True),
    Column("activity_id", _Name, primary_key=True),
    Column("user_id", _Name, primary_key=True),
    Column("id", _Name, nullable=False),
    Column("selection", _Name, nullable=False),
    # What the voter signed; null where it is the activity's request, as it is for whoever submitted it.
    Column("message", _Body, nullable=True),
    Column("public_key", _Name, nullable=False),
    Column("signature", _Name, nullable=False),
    Column("scheme", _Name, nullable=False),
    Column("created_at_ms", BigInteger, nullable=False),
    # The voter as of then, in `shared_body`.
    Column("user_digest", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

policy_evaluation = Table(
    "policy_evaluation",
    metadata,
    Column("organization_id", _Name, primary_key=True),
    # Of an activity on record, or of a submission that was denied and left none.
    Column("activity_id", _Name, primary_key=True),
    Column("id", _Name, primary_key=True),
    Column("vote_id", _Name, nullable=False),
    Column("created_at_ms", BigInteger, nullable=False),
    # What the rules said, in `shared_body`.
    Column("judgement_digest", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

interface_text = Table(
    "interface_text",
    metadata,
    Column("organization_id", _Name, primary_key=True),
    Column("id", _Name, primary_key=True),
    Column("text", _Body, nullable=False),
)

wallet_account = Table(
    "wallet_account",
    metadata,
    Column("organization_id", _Name, primary_key=True),
    Column("id", _Name, primary_key=True),
    Column("wallet_id", _Name, nullable=False),
    Column("normalized_path", _Name, nullable=False),
    Column("curve", _Name, nullable=False),
    Column("address_format", _Name, nullable=False),
    # As `organizations.addresses` has it: one form for all spellings.
    Column("address", _Name, nullable=False),
    Column("name", _Name, nullable=True),
    # Whether the key of this account has left on its own. Not part of the record, which callers see.
    Column("exported", Boolean, nullable=False),
    Column("body", _Body, nullable=False),
    Index("wallet_account_by_wallet", "organization_id", "wallet_id", "id"),
    # Across wallets: what signs is named by its address alone.
    Index("wallet_account_by_address", "organization_id", "address", "id"),
    Index("wallet_account_by_name", "organization_id", "name", unique=True),
    # The path stands before the curve, so that an account is found by its path alone.
    Index(
        "wallet_account_by_path",
        "organization_id",
        "wallet_id",
        "normalized_path",
        "curve",
        "address_format",
        unique=True,
    ),
)

sealed_secret = Table(
    "sealed_secret",
    metadata,
    Column("organization_id", _Name, primary_key=True),
    Column("record_id", _Name, primary_key=True),
    Column("purpose", _Name, primary_key=True),
    Column("key_id", _Name, nullable=False),
    Column("ciphertext", LargeBinary, nullable=False),
)

lookup = Table(
    "lookup",
    metadata,
    Column("kind", _Name, primary_key=True),
    Column("value", _Name, primary_key=True),
    # "" for an organization without a parent: null could not be part of the key.
    Column("parent_id", _Name, primary_key=True),
    Column("organization_id", _Name, primary_key=True),
    # Two holders in one organization may share a value.
    Column("holder_id", _Name, primary_key=True),
    # What goes with an organization that is dissolved.
    Index("lookup_by_organization", "organization_id"),
    sqlite_with_rowid=False,
)

instance = Table(
    "instance",
    metadata,
    Column("name", _Name, primary_key=True),
    Column("value", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)
