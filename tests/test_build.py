"""What is built is whole: the sdist holds what its tests and pages need, the wheel the package and nothing else.

`make test-install` goes on from here: it installs both into clean environments, with each extra alone, and uses them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import installed
import pytest

from assay import __version__


def test_sdist_and_wheel(tmp_path: Path):
    pytest.importorskip("hatchling", reason="hatchling is not installed")
    sdist, wheel = installed.build(tmp_path, sys.executable)
    assert sdist.name == f"assay-{__version__}.tar.gz"
    assert wheel.name == f"assay-{__version__}-py3-none-any.whl"
    installed.look_into(sdist, wheel)


def test_every_extra_is_tried_and_all_has_every_extra():
    import installed_features

    extras = installed.extras()
    alone = {name for name in extras if name not in ("dev", "docs", "all")}
    assert {name for name in alone if extras[name]} == set(installed_features.EXTRAS)
    (everything,) = extras["all"]
    assert set(everything.removeprefix("assay[").removesuffix("]").split(",")) == alone
