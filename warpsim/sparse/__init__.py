"""Sparse matrices of blocks in compressed rows, differentiable: `BsrMatrix`, products, sums, assembly from triplets.

    A = wp.sparse.bsr_from_triplets(n, n, rows, columns, blocks)  # blocks of one place add up
    y = A @ x + 2.0 * (A.transpose() @ z)

Names and meanings are those of `warp.sparse`.
"""

from .assembly import bsr_compress, bsr_from_triplets, bsr_set_from_triplets
from .conversion import bsr_assign, bsr_copy
from .diagonal import bsr_diag, bsr_get_diag, bsr_identity, bsr_set_diag, bsr_set_identity, bsr_set_zero, bsr_zeros
from .matrix import BSR_STATUS_ROW_CAPACITY_EXCEEDED, BSR_STATUS_SUCCESS, BsrMatrix, bsr_matrix_t
from .matrix_product import bsr_mm, bsr_mm_work_arrays
from .queries import bsr_block_index, bsr_row_index
from .scipy_matrices import bsr_from_scipy, bsr_to_scipy
from .sums import bsr_axpy, bsr_axpy_work_arrays, bsr_scale
from .transposition import bsr_set_transpose, bsr_transposed
from .triplet_map import BsrTripletMap, bsr_set_from_mapped_values
from .vector_product import bsr_mv

__all__ = ["BSR_STATUS_ROW_CAPACITY_EXCEEDED", "BSR_STATUS_SUCCESS", "BsrTripletMap", "bsr_axpy_work_arrays"]
__all__ += ["bsr_mm_work_arrays", "bsr_set_from_mapped_values"]
__all__ += ["BsrMatrix", "bsr_assign", "bsr_axpy", "bsr_block_index", "bsr_compress", "bsr_copy", "bsr_diag"]
__all__ += ["bsr_from_scipy", "bsr_from_triplets", "bsr_get_diag", "bsr_identity", "bsr_matrix_t", "bsr_mm", "bsr_mv"]
__all__ += ["bsr_row_index", "bsr_scale", "bsr_set_diag", "bsr_set_from_triplets", "bsr_set_identity"]
__all__ += ["bsr_set_transpose", "bsr_set_zero", "bsr_to_scipy", "bsr_transposed", "bsr_zeros"]
