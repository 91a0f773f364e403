"""Sphinx extension: LaTeX in the pages becomes MathML when the site is built.

Browsers draw MathML themselves, so that a page needs no script and no network. The converter is docutils' own.
"""

from docutils.nodes import SkipNode
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

logger = logging.getLogger(__name__)


def _mathml(node, as_block):
    try:
        return tex2mathml(node.astext(), as_block=as_block)
    except MathError as problem:
        logger.warning("mathematics that cannot be converted: %s", problem, location=node)
        return ""


def inline(self, node):
    """Write a formula in a line, and nothing after it."""
    self.body.append(_mathml(node, as_block=False))
    raise SkipNode


def block(self, node):
    """Write a formula of its own lines, with the anchor that references to it go to."""
    self.body.append(self.starttag(node, "div", CLASS="math"))
    self.body.append(_mathml(node, as_block=True))
    self.body.append("</div>\n")
    raise SkipNode


def setup(app):
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
