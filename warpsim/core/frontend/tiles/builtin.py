"""Built-ins of tiles: functions of a translator and operands, public under the same name, which the host refuses."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ....errors import LaunchError
from ..rules.tiles import require_one_lane
from ..translate.forms import form
from ..translate.translator import Translator


def tile_builtin(rule: Callable[..., Any], on_host: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Decorator: the public function that a rule translates. Its first parameter, the translator, is not public.

    on_host: what it does on the host, if it has a meaning there.
    """
    name = rule.__name__
    signature = inspect.signature(rule)

    def builtin(*args: Any, **keywords: Any) -> Any:
        if on_host is not None:
            return on_host(*args, **keywords)
        raise LaunchError(f"wp.{name} has a meaning in kernels only")

    builtin.__name__ = builtin.__qualname__ = name
    builtin.__doc__, builtin.__module__ = rule.__doc__, rule.__module__
    builtin.__signature__ = signature.replace(parameters=list(signature.parameters.values())[1:])  # type: ignore[attr-defined]
    builtin.kernel_form = name  # type: ignore[attr-defined]

    @form(name)
    def translate(tr: Translator, callee: object, args: list[Any], keywords: dict[str, Any]) -> Any:
        require_one_lane(tr)
        return rule(tr, *args, **keywords)

    return builtin
