"""The operations on users, their tags, credentials and MFA policies."""
