"""Learn from streams whose features come and go and whose labels are scarce.

What `__init__.pyi` lists is imported when it is first used, so that `import headwater` costs little.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
