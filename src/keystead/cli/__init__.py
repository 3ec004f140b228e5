"""The command line. Each module is one subject; no other package imports them."""
