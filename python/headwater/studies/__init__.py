"""Studies: many runs that compare learners, and their reports."""
