"""Put measured results into the pages: each block between fill marks becomes the file that it names.

<!-- fill: docs/demo/demo.md -->
...
<!-- end -->
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
BLOCK = re.compile(r"(<!-- fill: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(text):
    """Replace the content of every block by its file."""
    return BLOCK.sub(lambda m: m[1] + (ROOT / m[2]).read_text() + m[3], text)


def main():
    """Fill all pages in place."""
    for page in PAGES:
        text = page.read_text()
        if (new := filled(text)) != text:
            page.write_text(new)
            sys.stdout.write(f"filled {page.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
