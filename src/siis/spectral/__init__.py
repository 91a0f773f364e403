"""Graph -> basis of smooth functions on its vertices."""

from siis.spectral.basis import Basis as Basis
from siis.spectral.basis import IdentityBasis as IdentityBasis
from siis.spectral.basis import SmoothBasis
from siis.spectral.smooth import identity_basis as identity_basis
from siis.spectral.smooth import smooth_basis

__all__ = ["SmoothBasis", "smooth_basis"]
