"""The durable store. `open.open_store` returns a `base.DatabaseStore`; `schema.migrate` creates the tables.

Here: tables, statements, commits and reads, for SQLite and PostgreSQL. Not here: the interface and its guarantees
(`pipeline.store`), keys (`signer`).
"""
