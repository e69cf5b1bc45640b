"""Loggers: where messages go that are neither errors nor warnings, and from which level on.

The default is the logger `warpsim` of Python's `logging`; `set_logger` puts any object with its four methods in its
place. Levels are those of `logging`.
"""

from __future__ import annotations

import logging
from typing import Any, Protocol, runtime_checkable

from ..config import config
from ..errors import ArgumentTypeError

LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR = logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR


@runtime_checkable
class Logger(Protocol):
    """What takes messages."""

    def debug(self, message: str) -> Any:
        """What helps to find a fault in warpsim."""

    def info(self, message: str) -> Any:
        """What happens."""

    def warning(self, message: str) -> Any:
        """What may be a mistake."""

    def error(self, message: str) -> Any:
        """What went wrong."""


_default = logging.getLogger("warpsim")
_current: list[Logger] = [_default]


def get_logger() -> Logger:
    """The logger that is in use."""
    return _current[0]


def set_logger(logger: Logger | None) -> None:
    """Send messages to another logger; None: to the default one. Raises `ArgumentTypeError` for what is none."""
    if logger is not None and not isinstance(logger, Logger):
        raise ArgumentTypeError(
            f"logger is {type(logger).__name__}\nexpected: an object with the methods debug, info, warning and error"
        )
    _current[0] = _default if logger is None else logger


class ScopedLogger:
    """`with ScopedLogger(logger):` sends messages to it for a block."""

    def __init__(self, logger: Logger | None):
        self.logger = logger

    def __enter__(self) -> Logger | None:
        self.before = get_logger()
        set_logger(self.logger)
        return self.logger

    def __exit__(self, *error: object) -> None:
        set_logger(self.before)


class ScopedLogLevel:
    """`with ScopedLogLevel(wp.LOG_DEBUG):` sets `config.log_level` for a block."""

    def __init__(self, log_level: int | str):
        self.log_level = log_level

    def __enter__(self) -> ScopedLogLevel:
        self.before = config.log_level
        config.log_level = self.log_level
        return self

    def __exit__(self, *error: object) -> None:
        config.log_level = self.before
