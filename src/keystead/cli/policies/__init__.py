"""`keystead policy`: to change, explain, check and test policies."""
