"""Webhooks: events of activities, delivered to the addresses that organizations have registered.

Here: who delivers to which endpoint and when, connecting, the signed request. Not here: which events are written
(`pipeline.decide`), the rows (`organizations.webhooks.webhooks`), their storage (`storage`)."""
