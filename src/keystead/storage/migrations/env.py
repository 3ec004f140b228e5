"""How Alembic runs here: to write SQL (`schema.migrate`), or on a connection it is given (new revisions, tests).

Not here: the steps (`versions`), and running the SQL (`schema`).
"""

from __future__ import annotations

from alembic import context

from keystead.storage.declared.tables import metadata

attributes = context.config.attributes
if context.is_offline_mode():
    # The caller opens the transaction: it holds a lock around reading the revision and running the steps.
    context.configure(
        dialect_name=attributes["dialect"], target_metadata=metadata, literal_binds=True, transactional_ddl=False
    )
else:
    context.configure(connection=attributes["connection"], target_metadata=metadata, render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
