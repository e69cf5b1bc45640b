"""Renderers under the names and methods that scripts written for Warp use: `wp.render.UsdRenderer`."""

from .usd_renderer import UsdRenderer

__all__ = ["UsdRenderer"]
