"""Alembic's folder: `env.py` is its entry, `versions/` holds the steps."""
