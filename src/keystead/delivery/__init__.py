"""Messages to people: their text, how they are sent, when a failed one is sent again.

Here: the text of e-mail and SMS, the senders (SMTP, the operator's hook), the outbox. Not here: which operation
writes a message (`operations`), how it is stored (`storage`)."""
