"""Measures Keystead on this machine: `python -m bench`. What and how: docs/benchmarks.md."""
