"""Pictures without a display: shaded triangle meshes, one panel per moment, as a PNG.

Needs `matplotlib`.  Nothing here touches pyplot or any other state of the process.
"""

from warpsim.plot.picture import render_meshes
from warpsim.plot.scene import PlotError, Surface, sphere

__all__ = ["PlotError", "Surface", "render_meshes", "sphere"]
