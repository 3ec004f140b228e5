"""Unsigned transactions: what each chain's bytes say, which messages are signed, how signatures go back in.

Pure. One module per chain behind the values of `transaction`. Not here: keys, and whether anything may be signed.
"""
