"""Put measured results into the pages: each block between fill marks becomes the file that it names, if there is one.

<!-- fill: docs/demo/demo.md -->
...
<!-- end -->
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
BLOCK = re.compile(r"(<!-- fill: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(text):
    """Replace the content of every block by its file; a block whose file is not measured yet stays."""

    def content(m):
        file = ROOT / m[2]
        return m[1] + file.read_text() + m[3] if file.exists() else m[0]

    return BLOCK.sub(content, text)


def main():
    """Fill all pages in place."""
    for page in PAGES:
        text = page.read_text()
        if (new := filled(text)) != text:
            page.write_text(new)
            sys.stdout.write(f"filled {page.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
