"""The operations on keys: wallets, private keys, import, export, signing, smart contract interfaces."""
