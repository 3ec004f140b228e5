"""Metrics for Prometheus.

`measurements` has the metrics, `sampling` copies counters into them, `serving` answers Prometheus.

Not here: what counts as a problem of an installation (`server.installation.status`).
"""
