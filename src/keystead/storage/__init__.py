"""The durable store. Enter by `open.open_store`, which gives a `base.DatabaseStore`; make tables with `schema.migrate`.

Here: tables, statements, commits and reads, for SQLite and PostgreSQL. Not here: what the rows mean to an operation
(`pipeline.store` has the promises), keys (`signer`).
"""
