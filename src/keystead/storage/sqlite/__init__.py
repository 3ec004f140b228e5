"""SQLite: the database in one file. `database` implements `storage.database.Database`."""
