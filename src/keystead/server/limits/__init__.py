"""The limits on requests: rates for each caller, and work at one time."""
