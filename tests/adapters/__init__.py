"""Tests of the adapters, with the suites of the libraries that they adapt to."""
