"""Modules that a study names: found beside its file, and sent along to workers elsewhere."""

import atexit
import hashlib
import io
import shutil
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from headwater.errors import ParameterError
from headwater.studies.plan import Study

INSTALLED = {
    Path(sysconfig.get_path(kind)).resolve()
    for kind in ("stdlib", "platstdlib", "purelib", "platlib")
}
"""Where what is installed lies; workers have their own."""


def named_modules(study: Study) -> list[str]:
    """The modules that a study names as `module:name`, without what is inside of them."""
    places = [plan.source for plan in study.data] + [plan.algorithm for plan in study.learners]
    modules = (place.partition(":")[0].partition(".")[0] for place in places if ":" in place)
    return sorted(set(modules) - {"headwater"})


def make_importable(study: Study, folder: Path) -> None:
    """Let a study's modules be imported from a folder, after everything that is installed.

    Whatever else lies there is not imported in place of an installed module of its name.
    """
    named = named_modules(study)
    if named and str(folder) not in sys.path:
        sys.path.append(str(folder))
    for name in named:
        if (folder / f"{name}.py").exists() or (folder / name / "__init__.py").exists():
            found = find_spec(name)
            if found is None or not found.origin or folder not in Path(found.origin).parents:
                other = "another module" if found is None or not found.origin else found.origin
                raise ParameterError(
                    f"{study.name}: {name} beside the study is hidden by {other}; give it another"
                    " name."
                )


class ModuleArchive(NamedTuple):
    """Modules of a study's own, as a zip file."""

    data: bytes

    def install(self) -> None:
        """Let them be imported in this process, after everything that is installed."""
        digest = hashlib.sha256(self.data).hexdigest()
        if not self.data or digest in _DIGESTS:
            return
        _DIGESTS.add(digest)
        folder = tempfile.mkdtemp()
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        path = Path(folder, "modules.zip")
        path.write_bytes(self.data)
        sys.path.append(str(path))


_DIGESTS: set[str] = set()
"""Of the archives that this process has installed."""


def pack(study: Study) -> ModuleArchive:
    """The modules that a study names, and what they have imported from beside them."""
    files: dict[str, Path] = {}
    for name in named_modules(study):
        try:
            module = import_module(name)
        except ImportError as error:
            raise ParameterError(f"{study.name}: {name} cannot be imported: {error}.") from error
        if (home := _home(module)) is not None:
            files |= dict(_files(home))
    if not files:
        return ModuleArchive(b"")
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for place, path in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(place), path.read_bytes())
    return ModuleArchive(data.getvalue())


def _home(module: ModuleType) -> Path | None:
    """The folder that a top-level module lies in; None if it is installed."""
    if not module.__file__:
        return None
    path = Path(module.__file__).resolve()
    home = path.parents[1] if path.name == "__init__.py" else path.parent
    return None if INSTALLED & {home, *home.parents} else home


def _files(home: Path) -> Iterator[tuple[str, Path]]:
    """The files of all modules that were imported from a folder, by their place in it."""
    for name, module in list(sys.modules.items()):
        if "." in name or name in ("__main__", "headwater") or _home_of(module) != home:
            continue
        path = Path(str(module.__file__)).resolve()
        whole = path.parent.rglob("*.py") if path.name == "__init__.py" else [path]
        yield from ((str(one.relative_to(home)), one) for one in whole)


def _home_of(module: ModuleType) -> Path | None:
    file = getattr(module, "__file__", None)
    return _home(module) if isinstance(file, str) and file.endswith(".py") else None
