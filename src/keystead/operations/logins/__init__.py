"""The operations that begin sessions, and the codes, messages and tokens that prove who logs in."""
