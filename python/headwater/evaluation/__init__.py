"""How good a learner was: scores of its margins, and the width at which it asks enough."""
