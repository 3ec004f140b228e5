"""Messages to people: how they read, how they leave, when they are tried again.

Here: e-mail and SMS text, the senders (SMTP, the operator's hook), the outbox. Not here: when a message is written
(`operations`) and how it is stored (`storage`).
"""
