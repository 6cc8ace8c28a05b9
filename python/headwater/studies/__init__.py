"""Studies: many runs that compare learners, as data, and the reports that show them."""
