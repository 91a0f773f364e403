"""From files to arrays: tables, NPZ files and folders of images."""

from siis.tables.checked_labels import read_corrections as read_corrections
from siis.tables.choosing import ColumnUse
from siis.tables.examples import Data as Data
from siis.tables.examples import NewData as NewData
from siis.tables.examples import Roles as Roles
from siis.tables.read_data import read as read
from siis.tables.recipe import Recipe as Recipe
from siis.tables.table_encoder import TableEncoder

__all__ = ["ColumnUse", "TableEncoder"]
