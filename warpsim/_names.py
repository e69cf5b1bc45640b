from .core.runtime.kernel import *
from .core.runtime.launch import launch
from .core.runtime.kernel import kernel, Kernel
from .core.frontend.functions import func
from .core.runtime.array import array
from .core.runtime.array_ops import *
from .core.ops import *
from .core.types.compounds import standard_names
globals().update(standard_names())
__all__=[n for n in globals() if not n.startswith('_')]
