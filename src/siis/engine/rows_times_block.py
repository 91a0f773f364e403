"""Sparse times block on a GPU, by a kernel that adds up each row in a fixed order: results are reproducible.

The library's own product splits rows between threads that add in any order; its last bits change from call to call.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from siis.engine.types import Array

COLUMNS_OF_A_PROGRAM = 128  # columns of one program


@triton.jit  # type: ignore[untyped-decorator]
def _rows(indptr, indices, data, X, out, p, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    row = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = columns < p
    total = tl.zeros((BLOCK,), dtype=out.dtype.element_ty)
    for e in range(tl.load(indptr + row), tl.load(indptr + row + 1)):
        j = tl.load(indices + e).to(tl.int64)
        total += tl.load(data + e) * tl.load(X + j * p + columns, mask=inside, other=0.0)
    tl.store(out + row * p + columns, total, mask=inside)


def rows_times_block(indptr: Array, indices: Array, data: Array, X: Array) -> Array:
    """Multiply compressed rows with a block; indptr: (r + 1,); X: (n, p), of the data's precision; returns (r, p)."""
    X = X.contiguous()
    r, p = indptr.shape[0] - 1, X.shape[1]
    out = torch.empty((r, p), dtype=X.dtype, device=X.device)
    block = min(COLUMNS_OF_A_PROGRAM, triton.next_power_of_2(p))
    _rows[(r, triton.cdiv(p, block))](
        indptr, indices, data, X, out, p, BLOCK=block, num_warps=1 if block <= 64 else 2
    )
    return out
