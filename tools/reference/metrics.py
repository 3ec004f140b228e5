"""The page of the metrics. Not here: the metrics (`keystead.server.metrics`), alerts (deploy/prometheus)."""

from __future__ import annotations

from keystead.server.metrics.measurements import Measurements
from keystead.server.metrics.serving import SIGNER_METRICS

WHAT = """\
Every metric that a server serves for Prometheus ([monitoring](../monitoring.md)). No label contains an id, an
address or text from a caller, so the number of series is bounded."""


def metrics_page(mark: str) -> str:
    """The text of the page. `mark`: its first line."""
    lines = [mark, "# Metrics", "", WHAT, "", "| metric | labels | meaning |", "|---|---|---|"]
    for metric in Measurements().described:
        labels = ", ".join(f"`{label}`" for label in metric.labels)
        lines.append(f"| `{metric.name}` | {labels} | {metric.text} |")
    for name, text in SIGNER_METRICS.items():
        ending = "" if name.endswith("_bytes") else "_total"
        lines.append(f"| `{name}{ending}` | | {text} |")
    return "\n".join(lines) + "\n"
