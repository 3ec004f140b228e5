"""The durable store. `open.open_store` gives a `base.DatabaseStore`; `schema.migrate` makes the tables.

Here: tables, statements, commits and reads, for SQLite and PostgreSQL. Not here: what the rows mean to an operation
(`pipeline.store` has the promises), keys (`signer`).
"""
