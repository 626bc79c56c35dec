"""How Sphinx builds the site: `make docs`. Nothing in it is fetched, and nothing it shows is."""

import sys
from importlib.metadata import version as installed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "RLAnything"
copyright = "the RLAnything contributors"
release = version = installed("rlanything")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "from_code"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_ext"]

# Headings can be linked to from other pages.
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
# Both the class's text and the constructor's; the latter says "see the class".
autoclass_content = "class"
autodoc_default_options = {"show-inheritance": True}
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["wide.css"]
html_title = "RLAnything"
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": True}
# The light and the dark style of code, both with enough contrast to read.
pygments_style = "a11y-light"
pygments_dark_style = "a11y-dark"
