"""The credentials of an organization's users, and their sessions."""
