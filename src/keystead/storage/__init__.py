"""The database: `open.open_store` opens one, `schema.migrate` makes or updates its tables.

Here: tables, migrations, the two engines, the organization cache. Not here: any rule about what is stored.
SQL is declared in `declared` with SQLAlchemy, and generated into `sql`, which is all that a server reads.
"""
