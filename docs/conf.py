"""How `make docs` builds these pages: Sphinx reads the Markdown as it stands, and every warning is an error.

The source folder is the repository, so that a page may link to README.md, SECURITY.md or a file in examples/ by the
same relative path that works on a code host. The reference is written anew by reference.py before each build.
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]

import reference  # noqa: E402

import assay  # noqa: E402

project, author = "Assay", "the Assay authors"
version = release = assay.__version__
extensions = ["myst_parser"]
root_doc = "docs/index"
include_patterns = ["docs/**", "README.md", "SECURITY.md", "CHANGELOG.md", "CONTRIBUTING.md", "AGENTS.md"]
exclude_patterns = ["docs/_site"]
source_suffix = {".md": "markdown"}
nitpicky = True
suppress_warnings = ["myst.header"]  # README opens with what it is, and some pages go from ## to ####
myst_heading_anchors = 4
html_theme = "furo"
html_title = f"Assay {release}"
html_extra_path = ["_root"]
html_show_sphinx = False

reference.write(HERE / "reference")
