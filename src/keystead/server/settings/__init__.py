"""The settings of a server, from the environment or a file, and the configuration made from them."""
