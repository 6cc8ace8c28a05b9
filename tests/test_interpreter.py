"""Which interpreters are refused; one without the global lock is played by a stub."""

import subprocess
import sys

import pytest

STUB = """
import sys, sysconfig
sys._is_gil_enabled = lambda: {enabled}
real = sysconfig.get_config_var
sysconfig.get_config_var = lambda name: {built} if name == "Py_GIL_DISABLED" else real(name)
try:
    import headwater
except ImportError as error:
    print(error)
else:
    print("imported", headwater.PAA())
"""


@pytest.mark.parametrize(
    ("enabled", "built", "said"),
    [
        (False, 1, "free-threaded Python is not supported"),
        (True, 1, "free-threaded Python is not supported"),
        (True, 0, "imported PAA()"),
        (True, None, "imported PAA()"),
    ],
    ids=["without the lock", "with the lock switched on again", "usual", "not known"],
)
def test_free_threaded_python_is_refused_at_import_with_a_sentence(
    enabled: bool, built: int | None, said: str
) -> None:
    code = STUB.format(enabled=enabled, built=built)
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert found.stderr == ""
    assert said in found.stdout
