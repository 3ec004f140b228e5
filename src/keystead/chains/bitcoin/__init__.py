"""Bitcoin: PSBTs, scripts, digests."""
