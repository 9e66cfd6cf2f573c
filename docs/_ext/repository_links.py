"""Links between pages and files beside ``docs/``, as they are in the repository.

Guides link to ``../CONTRIBUTING.md``, and that file, which is a page of the site, too,
to ``docs/design.md``, so that they can be followed where the files are read. Here such
a link leads to the page that shows the file, if there is one, and is plain text
otherwise.
"""

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

ROOT = Path(__file__).resolve().parents[2]
PAGES = {"CHANGELOG": "changelog", "CONTRIBUTING": "contributing", "README": "index"}


class RepositoryLinks(SphinxPostTransform):
    """Resolves what leads out of ``docs/``."""

    default_priority = 5  # before MyST looks for pages

    def run(self, **kwargs: Any) -> None:
        for node in list(self.document.findall(addnodes.pending_xref)):
            path = ROOT / node["reftarget"].split("#")[0]  # absolute ones stay
            if node.get("reftype") == "myst" and path.is_relative_to(ROOT):
                self._resolve(node, path.relative_to(ROOT))

    def _resolve(self, node: Any, inside: Path) -> None:
        page = PAGES.get(str(inside.with_suffix("")))
        if inside.parts[:1] == ("docs",):
            page = str(Path(*inside.parts[1:]).with_suffix(""))
        if page is not None and page in self.env.found_docs:
            builder, here = self.app.builder, self.env.docname
            children = list(node.children)
            node.replace_self(make_refnode(builder, here, page, "", children))
        elif (ROOT / inside).exists() and inside.parts:
            node.replace_self(nodes.literal("", str(inside)))


def skip_foreign(
    app: Any, what: str, name: str, member: Any, skip: bool, options: Any
) -> bool | None:
    """Methods of other packages are documented there."""
    home = getattr(member, "__module__", None) or ""
    return True if home and not home.startswith("rhokit") else None


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_post_transform(RepositoryLinks)
    app.connect("autodoc-skip-member", skip_foreign)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
