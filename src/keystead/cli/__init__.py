"""What users type. Each module is one subject; none is imported by another room."""
