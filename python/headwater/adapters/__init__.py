"""Adapters for other libraries; each needs an extra."""
