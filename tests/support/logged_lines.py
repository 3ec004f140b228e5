"""What a server writes to its log for records that a test caught, in both forms."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from keystead.server.logs import JsonFormatter
from keystead.server.pretty_logs import PrettyFormatter


def logged_lines(records: Sequence[logging.LogRecord]) -> str:
    """The lines of these records, first as JSON and then for people."""
    formatters = (JsonFormatter(), PrettyFormatter())
    return "\n".join(formatter.format(record) for formatter in formatters for record in records)
