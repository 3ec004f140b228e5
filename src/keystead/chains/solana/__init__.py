"""Solana: transactions, token instructions, Anchor IDLs, Borsh."""
