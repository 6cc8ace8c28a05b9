"""What `pip` calls to build from source: maturin, with a sentence where there is no Rust.

Where there is no cargo, maturin fetches a toolchain for the build. If that fails too, for want of a
network, the end of the output says what to install.
"""

import shutil
from collections.abc import Callable
from typing import Any

import maturin  # type: ignore[import-untyped]

MISSING = (
    "\nHeadwater is being built from source, which needs a Rust toolchain. There is none here, and"
    " none could be fetched. Install a wheel instead (pip install --only-binary headwater"
    " headwater), or Rust from https://rustup.rs.\n"
)


def said(hook: Callable[..., Any]) -> Callable[..., Any]:
    """The hook of maturin, with the sentence if it fails where there is no cargo."""

    def call(*given: Any, **named: Any) -> Any:
        try:
            return hook(*given, **named)
        except Exception:
            if shutil.which("cargo") is not None:
                raise
            raise SystemExit(MISSING) from None

    return call


get_requires_for_build_wheel = said(maturin.get_requires_for_build_wheel)
get_requires_for_build_editable = said(maturin.get_requires_for_build_editable)
get_requires_for_build_sdist = said(maturin.get_requires_for_build_sdist)
prepare_metadata_for_build_wheel = said(maturin.prepare_metadata_for_build_wheel)
prepare_metadata_for_build_editable = said(maturin.prepare_metadata_for_build_editable)
build_wheel = said(maturin.build_wheel)
build_editable = said(maturin.build_editable)
build_sdist = said(maturin.build_sdist)
