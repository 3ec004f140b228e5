"""Ethereum and compatible networks: transactions, RLP, contract ABIs, typed data, Tempo."""
