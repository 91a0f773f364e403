"""Graph -> basis of smooth functions on its vertices."""

from siis.spectral.basis import Basis, IdentityBasis, SmoothBasis
from siis.spectral.smooth import identity_basis, smooth_basis

__all__ = ["Basis", "IdentityBasis", "SmoothBasis", "identity_basis", "smooth_basis"]
