"""Velocity controls: what an activity adds to each, the counters, and how much is left."""
