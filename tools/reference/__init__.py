"""The API reference in docs/reference, written from the operation catalogue: `python -m tools.reference`.

Fields and types come from the structs, examples from requests that a server answered.
"""
