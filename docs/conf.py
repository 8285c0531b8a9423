"""How the site is built. One command: `python docs/build.py`."""

from __future__ import annotations

import sys
from pathlib import Path

import outsample

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

project = "outsample"
author = "The outsample developers"
release = version = outsample.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "site_pages",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates", "*.inv", "reference/names.py"]
# Search finds a page that no list of contents names; every link is checked after the build.
suppress_warnings = ["config.cache", "toc.not_included"]

# Pages of other projects are linked where their inventories lie beside this file (docs/scikit-learn.inv), and are
# plain names elsewhere: no build reaches for the network.
PEERS = {
    "scikit-learn": "https://scikit-learn.org/stable/",
    "numpy": "https://numpy.org/doc/stable/",
    "pandas": "https://pandas.pydata.org/docs/",
}
intersphinx_mapping = {
    name: (address, str(HERE / f"{name}.inv")) for name, address in PEERS.items() if (HERE / f"{name}.inv").exists()
}

myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]

# A name in single backticks is a link where it is a public one.
default_role = "py:obj"
autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"/plot_",
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("outsample",),
    "within_subsection_order": "site_pages.GalleryOrder",
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1,
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "outsample"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["llms.txt"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "which-criterion": [], "gallery/plot_start_here": []}
copyright = "the outsample developers, BSD-3-Clause"
