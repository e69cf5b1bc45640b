"""Scripts cell by cell, as in a notebook, for tests of what names from outside mean."""

import linecache
import textwrap
import types

import numpy as np

import warpsim as wp


class Notebook:
    """Cells of text that share one namespace, each its own file, as in a notebook."""

    count = 0

    def __init__(self):
        self.space = {"wp": wp, "np": np, "__name__": f"notebook_{Notebook.count}"}

    def run(self, text):
        Notebook.count += 1
        text, file = textwrap.dedent(text), f"<cell {Notebook.count}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        exec(compile(text, file, "exec"), self.space)
        return types.SimpleNamespace(**{k: v for k, v in self.space.items() if k.isidentifier()})


def value(kernel, device="cpu"):
    a = wp.zeros(1, dtype=float, device=device)
    wp.launch(kernel, dim=1, inputs=[a], device=device)
    return float(a.numpy()[0])
