"""The first tables.

Revision: 0001, after nothing. Becomes SQL before it runs: it cannot read the database.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_NAME = sa.Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "organization",
        sa.Column("id", _NAME, nullable=False),
        sa.Column("parent_id", _NAME, nullable=True),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("changed_by", _NAME, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sqlite_with_rowid=False,
    )
    op.create_index("organization_by_parent", "organization", ["parent_id", "id"], unique=False)
    op.create_table(
        "record",
        sa.Column("organization_id", _NAME, nullable=False),
        sa.Column("kind", _NAME, nullable=False),
        sa.Column("id", _NAME, nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("organization_id", "kind", "id"),
    )
    op.create_index("record_by_version", "record", ["organization_id", "version"], unique=False)
    op.create_table(
        "activity",
        sa.Column("organization_id", _NAME, nullable=False),
        sa.Column("id", _NAME, nullable=False),
        sa.Column("fingerprint", _NAME, nullable=False),
        sa.Column("type", _NAME, nullable=False),
        sa.Column("submitter_id", _NAME, nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("request", sa.LargeBinary(), nullable=False),
        sa.Column("status", _NAME, nullable=False),
        sa.Column("result", sa.LargeBinary(), nullable=False),
        sa.Column("app_proofs", sa.LargeBinary(), nullable=True),
        sa.Column("failure", sa.LargeBinary(), nullable=True),
        sa.Column("proofs", sa.LargeBinary(), nullable=False),
        sa.Column("approvals_since_ms", sa.BigInteger(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("updated_at_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("organization_id", "id"),
    )
    op.create_index("activity_by_fingerprint", "activity", ["organization_id", "fingerprint"], unique=True)
    op.create_index("activity_by_status", "activity", ["organization_id", "status", "id"], unique=False)
    op.create_index("activity_by_type", "activity", ["organization_id", "type", "status", "id"], unique=False)
    op.create_table(
        "shared_body",
        sa.Column("organization_id", _NAME, nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("organization_id", "digest"),
    )
    op.create_table(
        "vote",
        sa.Column("organization_id", _NAME, nullable=False),
        sa.Column("activity_id", _NAME, nullable=False),
        sa.Column("user_id", _NAME, nullable=False),
        sa.Column("id", _NAME, nullable=False),
        sa.Column("selection", _NAME, nullable=False),
        sa.Column("message", sa.LargeBinary(), nullable=True),
        sa.Column("public_key", _NAME, nullable=False),
        sa.Column("signature", _NAME, nullable=False),
        sa.Column("scheme", _NAME, nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("user_digest", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("organization_id", "activity_id", "user_id"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "policy_evaluation",
        sa.Column("organization_id", _NAME, nullable=False),
        sa.Column("activity_id", _NAME, nullable=False),
        sa.Column("id", _NAME, nullable=False),
        sa.Column("vote_id", _NAME, nullable=False),
        sa.Column("created_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("judgement_digest", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("organization_id", "activity_id", "id"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "interface_text",
        sa.Column("organization_id", _NAME, nullable=False),
        sa.Column("id", _NAME, nullable=False),
        sa.Column("text", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("organization_id", "id"),
    )
    op.create_table(
        "wallet_account",
        sa.Column("organization_id", _NAME, nullable=False),
        sa.Column("id", _NAME, nullable=False),
        sa.Column("wallet_id", _NAME, nullable=False),
        sa.Column("normalized_path", _NAME, nullable=False),
        sa.Column("curve", _NAME, nullable=False),
        sa.Column("address_format", _NAME, nullable=False),
        sa.Column("address", _NAME, nullable=False),
        sa.Column("name", _NAME, nullable=True),
        sa.Column("exported", sa.Boolean(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("organization_id", "id"),
    )
    op.create_index(
        "wallet_account_by_address",
        "wallet_account",
        ["organization_id", "address", "id"],
        unique=False,
    )
    op.create_index("wallet_account_by_name", "wallet_account", ["organization_id", "name"], unique=True)
    op.create_index(
        "wallet_account_by_path",
        "wallet_account",
        ["organization_id", "wallet_id", "normalized_path", "curve", "address_format"],
        unique=True,
    )
    op.create_index(
        "wallet_account_by_wallet", "wallet_account", ["organization_id", "wallet_id", "id"], unique=False
    )
    op.create_table(
        "sealed_secret",
        sa.Column("organization_id", _NAME, nullable=False),
        sa.Column("record_id", _NAME, nullable=False),
        sa.Column("purpose", _NAME, nullable=False),
        sa.Column("key_id", _NAME, nullable=False),
        sa.Column("ciphertext", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("organization_id", "record_id", "purpose"),
    )
    op.create_table(
        "lookup",
        sa.Column("kind", _NAME, nullable=False),
        sa.Column("value", _NAME, nullable=False),
        sa.Column("parent_id", _NAME, nullable=False),
        sa.Column("organization_id", _NAME, nullable=False),
        sa.Column("holder_id", _NAME, nullable=False),
        sa.PrimaryKeyConstraint("kind", "value", "parent_id", "organization_id", "holder_id"),
        sqlite_with_rowid=False,
    )
    op.create_index("lookup_by_organization", "lookup", ["organization_id"], unique=False)
    op.create_table(
        "instance",
        sa.Column("name", _NAME, nullable=False),
        sa.Column("value", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    op.drop_table("instance")
    op.drop_table("lookup")
    op.drop_table("sealed_secret")
    op.drop_table("wallet_account")
    op.drop_table("interface_text")
    op.drop_table("policy_evaluation")
    op.drop_table("vote")
    op.drop_table("shared_body")
    op.drop_table("activity")
    op.drop_table("record")
    op.drop_table("organization")
