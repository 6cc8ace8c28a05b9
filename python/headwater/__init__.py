"""Learn from streams whose features come and go and whose labels are scarce.

The names in `__init__.pyi` are imported on first use, so that `import headwater` is fast.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
