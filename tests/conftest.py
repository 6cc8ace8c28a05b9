"""For all tests: the same made-up examples in every run, and no test that fails by the clock."""

from hypothesis import settings

settings.register_profile("headwater", deadline=None, derandomize=True)
settings.load_profile("headwater")
