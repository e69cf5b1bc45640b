"""PTX to machine code (a cubin) for one generation of GPUs, by nvJitLink: neither a GPU nor a driver is needed."""

from __future__ import annotations

from collections.abc import Sequence

from ....errors import CompilerError, DeviceError
from . import tools


def assemble(
    parts: Sequence[bytes],
    arch: tuple[int, int],
    *,
    lto: bool = False,
    lineinfo: bool = False,
    more: Sequence[str] = (),
) -> bytes:
    """Machine code of texts in PTX (or, with `lto`, of modules in NVIDIA's form for link time), linked together.

    `lineinfo` keeps the relation to source lines; `more` are options of the linker. Raises `ImportError` without
    nvidia-nvjitlink, `DeviceError` for an `arch` that it does not know, and `CompilerError` with the assembler's
    words when it refuses a text.
    """
    linker = tools.binding("nvJitLink")
    kind = linker.InputType.LTOIR if lto else linker.InputType.PTX
    options = [f"-arch=sm_{arch[0]}{arch[1]}", *["-lto"] * lto, *["-lineinfo"] * lineinfo, *more]
    try:
        handle = linker.create(len(options), options)
    except linker.nvJitLinkError as error:
        raise DeviceError(
            f"nvJitLink has no assembler for compute capability {arch[0]}.{arch[1]}: {error}\n"
            "help: newer GPUs need a newer nvidia-nvjitlink"
        ) from error
    try:
        for part in parts:
            linker.add_data(handle, kind, part, len(part), "kernel")
        linker.complete(handle)
        code = bytearray(linker.get_linked_cubin_size(handle))
        linker.get_linked_cubin(handle, code)
    except linker.nvJitLinkError as error:
        log = bytearray(linker.get_error_log_size(handle))
        linker.get_error_log(handle, log)
        raise CompilerError(f"the assembler refuses this PTX: {error}\n{log.decode().rstrip(chr(0))}") from error
    finally:
        linker.destroy(handle)
    return bytes(code)
