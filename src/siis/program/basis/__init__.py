"""Graph -> basis of smooth functions on its vertices, U and Sigma of (M1)."""

from siis.program.basis.bases import Basis as Basis
from siis.program.basis.bases import IdentityBasis as IdentityBasis
from siis.program.basis.bases import SmoothBasis
from siis.program.basis.smooth import identity_basis as identity_basis
from siis.program.basis.smooth import smooth_basis

__all__ = ["SmoothBasis", "smooth_basis"]
