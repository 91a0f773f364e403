"""From files to arrays: tables, NPZ files and folders of images."""

from siis.tables.corrections import read_corrections
from siis.tables.data import Data, NewData, Roles
from siis.tables.reading import read
from siis.tables.recipe import Recipe
from siis.tables.transformer import TableEncoder
from siis.tables.understood import ColumnUse

__all__ = ["ColumnUse", "Data", "NewData", "Recipe", "Roles", "TableEncoder", "read", "read_corrections"]
