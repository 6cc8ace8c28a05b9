"""Install a wheel where there is no Rust, with every Python that is found, and use it.

    python tools/check_wheel.py dist/headwater-*.whl

Each interpreter gets an environment of its own in a temporary folder, and a PATH without cargo.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

OLDEST = (3, 11)

PROGRAM = """
import shutil
import headwater as hw

assert shutil.which("cargo") is None, "cargo is on the PATH: this shows nothing"
model = hw.Spring(label_rate=0.2)
for event, incident in hw.streams.SensorNetwork(300, seed=1):
    decision = model.decide_one(event)
    if decision.asked:
        model.answer(decision, incident)
again = hw.from_bytes(model.to_bytes())
assert again.margin_one(event) == model.margin_one(event)
print(f"{model.seen} events, {model.asked} labels asked for")
"""


def version_of(interpreter: str) -> tuple[int, int] | None:
    """Major and minor version; None if it does not run, or has other bits than the usual ones."""
    asked = (
        "import sys; print(*sys.version_info[:2], getattr(sys, '_is_gil_enabled', lambda: True)())"
    )
    done = subprocess.run([interpreter, "-c", asked], capture_output=True, text=True, check=False)
    words = done.stdout.split()
    if done.returncode or len(words) != 3 or words[2] != "True":
        return None
    return int(words[0]), int(words[1])


def interpreters() -> dict[tuple[int, int], str]:
    """One interpreter per version from 3.11 on: those on the PATH, then those of pyenv."""
    names = re.compile(r"python3(\.\d+)?")
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    folders += sorted(pyenv.glob("*/bin"))
    found: dict[tuple[int, int], str] = {}
    for folder in folders:
        for path in sorted(folder.glob("python3*")) if folder.is_dir() else []:
            version = version_of(str(path)) if names.fullmatch(path.name) else None
            if version is not None and version >= OLDEST:
                found.setdefault(version, str(path))
    return dict(sorted(found.items()))


def without_rust() -> dict[str, str]:
    """The environment, less every folder of the PATH that has cargo, and what Python was told."""
    folders = os.environ.get("PATH", "").split(os.pathsep)
    path = [folder for folder in folders if not shutil.which("cargo", path=folder)]
    left_out = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PATH"}
    return {k: v for k, v in os.environ.items() if k not in left_out} | {
        "PATH": os.pathsep.join(path)
    }


def check(wheel: Path, interpreter: str) -> str:
    """Install and use the wheel; what the program printed."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([interpreter, "-m", "venv", folder], check=True)
        python = str(Path(folder, "bin", "python"))
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, str(wheel)], check=True, env=without_rust())
        program = [python, "-c", PROGRAM]
        done = subprocess.run(
            program, check=True, env=without_rust(), cwd=folder, capture_output=True, text=True
        )
        command = subprocess.run(
            [str(Path(folder, "bin", "headwater")), "--version"],
            check=True,
            env=without_rust(),
            capture_output=True,
            text=True,
        )
        return f"{done.stdout.strip()}; {command.stdout.strip()}"


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or not arguments[0].endswith(".whl"):
        print("check_wheel: expected one wheel, dist/headwater-....whl", file=sys.stderr)
        return 2
    wheel = Path(arguments[0]).resolve()
    found = interpreters()
    if not found:
        print("check_wheel: there is no Python 3.11 or newer to test with", file=sys.stderr)
        return 1
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
    for version, interpreter in found.items():
        print(f"  Python {'.'.join(map(str, version))} without Rust: {check(wheel, interpreter)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
