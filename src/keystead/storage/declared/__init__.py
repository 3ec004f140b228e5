"""Tables and statements, declared in SQLAlchemy Core. `generate` writes them as SQL into the folder `sql`.

Here: what SQLAlchemy is needed for. Not here: anything that a server imports; it reads what was generated.
"""
