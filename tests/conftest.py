"""For all tests: the same made-up examples in every run, and no test that fails by the clock."""

import signal

from hypothesis import settings

settings.register_profile("headwater", deadline=None, derandomize=True)
settings.load_profile("headwater")

# A shell that runs tests in the background has them ignore Ctrl-C, about which there are tests.
signal.signal(signal.SIGINT, signal.default_int_handler)
