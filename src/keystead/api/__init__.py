"""The public API as data: records, enumerations, errors, decoding, rendering, the catalogue of operations.

Here: no rules. Not here: what an operation does (`operations`).
"""
