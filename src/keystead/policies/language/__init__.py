"""The policy language: from text to an expression that can be evaluated, and its values.

The way of an expression: `tokens`, `grammar` (to the tree of `syntax`), `type_checker`, `compiler`.
"""
