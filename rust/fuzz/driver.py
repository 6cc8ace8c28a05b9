"""libFuzzer on `tests/fuzzed_TARGET.py`, guided by what happens inside the extension.

`driver.py TARGET ENGINE EXTENSION [libFuzzer's arguments]`: ENGINE is libFuzzer as a shared
library, which must be loaded before EXTENSION, the package's own library built with its hooks.
"""

import ctypes
import importlib
import importlib.util
import os
import sys
import traceback
import warnings
from pathlib import Path

ROOT = Path(__file__).parents[2]


def main() -> None:
    target, engine_path, extension_path, *arguments = sys.argv[1:]
    engine = ctypes.CDLL(engine_path, mode=ctypes.RTLD_GLOBAL)
    spec = importlib.util.spec_from_file_location("headwater._core", extension_path)
    assert spec is not None
    assert spec.loader is not None
    sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests")]
    extension = importlib.util.module_from_spec(spec)
    sys.modules["headwater._core"] = extension  # in place of the one in the package
    spec.loader.exec_module(extension)
    warnings.simplefilter("error")
    module = importlib.import_module(f"fuzzed_{target}")

    def run(data: int | None, size: int) -> int:
        try:
            module.run(ctypes.string_at(data, size) if data and size else b"")
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
            os.abort()  # libFuzzer then keeps the input
        return 0

    callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)(run)
    words = [target.encode(), *map(str.encode, arguments)]
    argv = (ctypes.c_char_p * (len(words) + 1))(*words, None)
    pointer = ctypes.cast(argv, ctypes.POINTER(ctypes.c_char_p))
    sys.exit(
        engine.LLVMFuzzerRunDriver(
            ctypes.byref(ctypes.c_int(len(words))), ctypes.byref(pointer), callback
        )
    )


if __name__ == "__main__":
    main()
