"""Learn from streams whose features come and go and whose labels are scarce.

What `__init__.pyi` lists is imported when it is first used: `import headwater` costs little.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
