"""Pictures without a display: ray-cast triangle meshes and balls, one panel per moment, as a PNG.

Needs `matplotlib`.  Nothing here touches pyplot or any other state of the process.
"""

from warpsim.plot.picture import mesh_images, render_meshes
from warpsim.plot.scene import Balls, PlotError, Surface, sphere
from warpsim.plot.shapes import box, box_edges, coil, copies, tube

__all__ = ["Balls", "PlotError", "Surface", "box", "box_edges", "coil", "copies", "mesh_images", "render_meshes"]
__all__ += ["sphere", "tube"]
