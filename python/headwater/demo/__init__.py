"""The demo: five learners on one sensor network, and the page that shows them."""
