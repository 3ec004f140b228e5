"""The operations on an organization itself, on its sub-organizations and webhook endpoints."""
