"""Sphinx extension: mathematics in docstrings is shown as it is typed.

In this house an equation in a docstring is an indented paragraph, easy to read in an editor and in `help()`. The
markup of Sphinx would read ``||P U A||_{2,1}`` as a reference. So indented paragraphs are marked as literal before it
sees them, and bars elsewhere are escaped.
"""

import re


def _indent(line):
    return len(line) - len(line.lstrip())


def _escaped(line):
    """Escape bars outside of ``code``."""
    parts = re.split(r"(``.*?``)", line)
    return "".join(part if part.startswith("``") else part.replace("|", r"\|") for part in parts)


def marked(lines):
    """Mark the equations above the first section as literal, and escape bars in all other text.

    Parameters
    ----------
    lines : list of str

    Returns
    -------
    list of str
    """
    found = []
    is_literal = in_sections = False
    for at, line in enumerate(lines):
        if at + 1 < len(lines) and line.strip() and set(lines[at + 1].strip()) == {"-"}:
            in_sections = True
        if line.strip():
            starts = _indent(line) >= 4 and at > 0 and not lines[at - 1].strip() and not in_sections
            if starts and not is_literal:
                found += ["::", ""]
            is_literal = _indent(line) >= 4 and (is_literal or starts)
        found.append(line if is_literal or line.startswith((">>>", "...")) else _escaped(line))
    return found


def process(app, what, name, obj, options, lines):
    """Mark one docstring, in place."""
    lines[:] = marked(lines)


def setup(app):
    """Come before numpydoc, which has the usual priority of 500."""
    app.connect("autodoc-process-docstring", process, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
