"""Runs that compare learners, as data, and the pages that show them."""
