"""Ethereum and its family: transactions, RLP, contract ABIs, typed data, Tempo."""
