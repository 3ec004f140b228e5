"""What a process does about failures that it survives: how a defect is logged.

Here: what other packages use for that. Not here: refusals, which callers get (`api.errors`)."""
