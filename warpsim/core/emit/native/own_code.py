"""Our own native code, written as LLVM text: from the disk cache, else assembled and cached."""

from __future__ import annotations

import hashlib

from ..disk.cache import object_cache
from .native import assemble, host_signature


def own_object_code(source: str, label: str, opt: int = 3) -> bytes:
    """Object code of LLVM text for this machine. label: what it is, for people who look at the cache."""
    store = object_cache()
    if store is None:
        return assemble(source, opt)
    key = hashlib.sha256(f"{source}\n{opt}\n{host_signature()}".encode()).hexdigest()
    code = store.load(key)
    if code is None:
        code = assemble(source, opt)
        store.store(key, code, label)
    return code
