"""Learn from streams whose features come and go and whose labels are scarce.

The names in `__init__.pyi` are imported on first use, so that `import headwater` is fast.
"""

import sys as _sys

import lazy_loader as _lazy

if hasattr(_sys, "_is_gil_enabled"):  # from Python 3.13 on there are builds without the lock
    from sysconfig import get_config_var as _get_config_var

    if not _sys._is_gil_enabled() or _get_config_var("Py_GIL_DISABLED"):
        raise ImportError(
            "headwater: free-threaded Python is not supported, as learners are made for an"
            " interpreter with its global lock; use the usual build (python3.13, not python3.13t)."
        )

_get, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    """A public name, imported now; of another, the nearest that there is."""
    if name in __all__:
        return _get(name)
    if name.startswith("_"):
        raise AttributeError(f"module 'headwater' has no attribute {name!r}")
    from headwater.parameters import did_you_mean

    cure = did_you_mean(name, __all__, "; headwater.__all__ lists the names.")
    raise AttributeError(f"headwater: there is no {name!r}{cure}")
