"""HTTP on a connection: from bytes to a request and back. Not here: what a request asks for (`application`)."""
