"""The record kinds of an organization: one module for each, with its class, its limits and its record.

`organizations.record_kinds` lists them. Not here: the rules of their records (`organizations`).
"""
