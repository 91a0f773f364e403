"""Which units of siis a source file imports, in whatever form it does."""

import ast
import re

UNKNOWN = "a name that is put together"  # f"siis.{name}": no floor, so that the house test refuses it


def imported_units(source, module, units):
    """Units of siis (``siis.unit``) that a source names, with the line of each.

    Imports inside functions and under TYPE_CHECKING count like any other. So do strings that name a module, because
    ``import_module`` may be given them. A public name of siis itself counts as the unit ``__init__``; ``__version__``
    does not, for the package is imported by whatever imports a part of it.

    Parameters
    ----------
    source : str
    module : str
        Its full name, such as ``siis.graph.weights``; packages end in ``.__init__``.
    units : collection of str
        All there are.
    """
    package = module.split(".")[:-1]
    for node in ast.walk(ast.parse(source)):
        for name in _named(node, package):
            if name.split(".")[0] == "siis" and name != "siis.__version__":
                yield node.lineno, unit_of(name, units)


def unit_of(name, units):
    """The unit of a module or of a name in it: the longest one that its name begins with, such as ``app.cli``."""
    parts = name.split(".")[1:]
    known = (".".join(parts[:k]) for k in range(len(parts), 0, -1))
    return next((unit for unit in known if unit in (*units, UNKNOWN)), "__init__")


def _named(node, package):
    """Full names of what a node imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        base = _absolute("." * node.level + (node.module or ""), package)
        return [f"{base}.{alias.name}" for alias in node.names]
    if isinstance(node, ast.Call) and _is_import(node.func):
        return [_absolute(text, package) for text in _texts(node) if text.startswith(".")]
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"siis(\.\w+)+", node.value):
        return [node.value]
    if isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
        begins = re.fullmatch(r"siis\.((\w+)\..*)?", str(node.values[0].value))
        return [f"siis.{begins[2] or UNKNOWN}"] if begins and len(node.values) > 1 else []
    return []


def _absolute(name, package):
    dots = len(name) - len(name.lstrip("."))
    base = package[: len(package) - dots + 1] if dots else []
    return ".".join([*base, *filter(None, [name.lstrip(".")])])


def _is_import(function):
    return getattr(function, "attr", getattr(function, "id", "")) in ("import_module", "__import__", "resolve_name")


def _texts(call):
    return [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
