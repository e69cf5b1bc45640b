"""The kernel language in one import: all that a module of this package needs to write kernels and to launch them.

    from ...core.language import array, float32, func, kernel, launch, tid, vec3

Users write `import warpsim as wp` instead, and see the same objects under the public names.
"""

from .frontend.translate.forms import adjoint, static
from .frontend.functions.functions import func
from .frontend.functions.gradients import func_grad, func_replay
from .ops import *
from .runtime.algorithms.primitives import array_scan, radix_sort_pairs, runlength_encode
from .runtime.arrays.annotations import array2d, array3d, array4d
from .runtime.arrays.array import array
from .runtime.arrays.creation import clone, empty, empty_like, full, zeros, zeros_like
from .runtime.devices.device import CPU, get_device
from .runtime.launch import launch
from .runtime.launches.kernel import Kernel, kernel
from .types.arrays import array_type
from .types.compounds import matrix as matrix_type
from .types.compounds import standard_names
from .types.compounds import vector as vector_type
from .types.generic_structs import generic_struct
from .types.scalars import bool_, float16, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64
from .types.signatures import Array, Element, Float, Int, Mat, N, Quat, Scalar, Transform, TypeVariable, Vec
from .types.structs import struct

# vec3, mat33d, quath, transform, ...
globals().update(standard_names())
