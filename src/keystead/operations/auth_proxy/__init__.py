"""The authentication proxy: its configuration, its endpoints, and what they may do in a sub-organization."""
