"""Tron: transactions and their protobuf messages."""
