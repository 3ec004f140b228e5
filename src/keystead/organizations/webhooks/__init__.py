"""Webhook endpoints, the events for them, and the queue of deliveries."""
