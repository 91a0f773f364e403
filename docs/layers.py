"""Write docs/layers.txt: which package of siis imports which, from the source."""

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "siis"
SMALL = ("_types", "errors", "files", "parameters", "plain_data", "progress", "result_table", "results", "texts")


def packages():
    """Packages and modules that CONTRIBUTING.md puts on a layer, the highest first, but for small helpers."""
    page = (ROOT / "CONTRIBUTING.md").read_text()
    rows = re.findall(r"^\| \d+ \| (.*?) \|", page, re.MULTILINE)
    names = [name.removesuffix("/").removesuffix(".py") for row in rows for name in re.findall(r"`([\w./]+)`", row)]
    return [name for name in names if name not in SMALL]


def imported(name, names):
    """The packages that a package imports, in the order of the layers; those inside of it count as others."""
    path = SOURCE / name
    files = path.rglob("*.py") if path.is_dir() else [path.with_suffix(".py")]
    found = set()
    for file in files:
        if owner(str(file.relative_to(SOURCE).with_suffix("")), names) != name:
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("siis."):
                found.add(owner(node.module.removeprefix("siis.").replace(".", "/"), names))
    return [other for other in names if other in found - {name}]


def owner(module, names):
    """The package of a module: the longest name that its path begins with."""
    return max((n for n in names if f"{module}/".startswith(f"{n}/")), key=len, default="")


def diagram():
    """One line for each package."""
    names = packages()
    width = max(map(len, names))
    lines = [f"{name:{width}}  {', '.join(imported(name, names))}".rstrip() for name in names]
    return "\n".join(["```text", f"{'package':{width}}  imports", *lines, "```", ""])


if __name__ == "__main__":
    (ROOT / "docs" / "layers.txt").write_text(diagram())
    sys.stdout.write("wrote docs/layers.txt\n")
