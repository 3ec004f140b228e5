"""PostgreSQL. `database` implements `storage.database.Database`, `schema` runs migrations."""
