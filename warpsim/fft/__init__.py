"""Fast Fourier transforms of arrays: `wp.fft`, in one and two dimensions, complex and real, batched, differentiable.

    spectrum = wp.fft.rfft(signal)        # (n,) floats -> (n // 2 + 1,) complex numbers
    signal = wp.fft.irfft(spectrum, n=n)

A complex number is a `vec2` (or `vec2d`): its real and its imaginary part, side by side in memory as in NumPy's
complex64 (complex128). So kernels read and write spectra without a type of their own; `from_complex` and `to_complex`
lead to NumPy and back. Names, shapes, signs and `norm` are those of `numpy.fft`.
"""

from .complex_arrays import fft_index, fftfreq, from_complex, rfftfreq, to_complex
from .transforms import fft, fft2, ifft, ifft2, irfft, irfft2, rfft, rfft2

__all__ = ["fft", "fft2", "fft_index", "fftfreq", "from_complex", "ifft", "ifft2", "irfft", "irfft2", "rfft", "rfft2"]
__all__ += ["rfftfreq", "to_complex"]
