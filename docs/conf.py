"""How the site is built: ``make docs``. Pages are Markdown, the API docstrings."""

import sys
from pathlib import Path

import rhokit

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "rhokit"
author = "The rhokit developers"
copyright = author
version = release = rhokit.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "repository_links",
    "sphinx-mathjax-offline",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_ext", "pictures", "playground", "gallery/*.ipynb"]
templates_path = ["_templates"]
suppress_warnings = ["config.cache"]  # the gallery is configured by functions

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_class_members_toctree = False
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples" / "gallery"),
    "gallery_dirs": "gallery",
    "filename_pattern": "/plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "show_memory": False,
    "plot_gallery": "True",
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_signature": False,
    "image_srcset": ["2x"],
}

html_theme = "pydata_sphinx_theme"
html_title = "rhokit"
html_static_path = ["_static"]
html_extra_path = ["playground"]
html_css_files = ["rhokit.css"]
html_show_sourcelink = False
html_theme_options = {
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "default",
}
html_sidebars = {"index": [], "changelog": []}
html_context = {"default_mode": "auto"}
