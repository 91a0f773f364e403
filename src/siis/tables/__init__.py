"""From files to arrays: tables, NPZ files and folders of images."""

from siis.tables.checked_labels import read_corrections
from siis.tables.column_uses import ColumnUse
from siis.tables.examples import Data, NewData, Roles
from siis.tables.read_data import read
from siis.tables.recipe import Recipe
from siis.tables.table_encoder import TableEncoder

__all__ = ["ColumnUse", "Data", "NewData", "Recipe", "Roles", "TableEncoder", "read", "read_corrections"]
