"""An organization as one immutable value: its records, the changes between versions, rules, limits. Pure.

`organization` is the value, `kinds` declares what it consists of. Rows that are too large or too many for the
value are `attachments`. Not here: who may make a change (`policies`), the database (`storage`).
"""
