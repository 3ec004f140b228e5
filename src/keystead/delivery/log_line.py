"""Sends a message to the log of this server: a line for the operator that an activity wrote in its transaction."""

from __future__ import annotations

import logging

from keystead.delivery.message import Message

logger = logging.getLogger("keystead.delivery")


class LogSender:
    """Implements `sender.Sender` for the channel `log`."""

    async def send(self, message: Message) -> str:
        logger.warning("%s", message.text, extra={"organization_id": message.organization_id})
        return ""
