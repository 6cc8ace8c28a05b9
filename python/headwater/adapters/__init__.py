"""Headwater in the clothes of other libraries, each of them an extra of its own."""
