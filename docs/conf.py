"""The site: `make docs` builds it, warnings are errors, and nothing is fetched from a network."""

import sys
from pathlib import Path

from siis import __version__

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # docstrings.py and mathml.py

project = "siis"
author = "The siis developers"
copyright = author
version = release = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "docstrings",
    "mathml",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
root_doc = "index"
exclude_patterns = ["_build", "demo", "reproduction/*.md"]  # parts that other pages hold already
templates_path = ["_templates"]
nitpicky = False  # docstrings name types in words
default_role = "code"
highlight_language = "text"  # equations are not Python

myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_typehints = "none"  # the docstrings say types and shapes
autodoc_member_order = "bysource"
autosummary_generate = True
numpydoc_show_class_members = False  # the templates of autosummary list them

html_theme = "furo"
html_title = f"siis {release}"
html_math_renderer = "mathml"
html_copy_source = False
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
pygments_style = "friendly"
pygments_dark_style = "github-dark"

sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples" / "gallery"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "copyfile_regex": r"$^",
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,  # times of the machine that built the site tell a reader nothing
    "min_reported_time": 86400,
    "capture_repr": (),  # what an example prints is what it shows
    "thumbnail_size": (400, 280),
    "plot_gallery": "True",
    "run_stale_examples": True,  # an example that did not change may print something new
}
