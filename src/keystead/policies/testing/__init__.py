"""Test cases of policies: `keystead policy test` runs them without a server. Pure.

Not here: files and printing (`cli`).
"""
