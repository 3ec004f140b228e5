"""What a process does about failures that it survives: it logs them, and waits longer after each failure in a row.

Not here: refusals, which callers get (`api.errors`), when a message is sent again (`delivery.outbox`)."""
