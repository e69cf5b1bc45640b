"""The door for programs written for Warp: names that only they use, and switches that mean nothing here.

Nothing but the face of the package imports this folder, so whatever it holds can be left out of a picture of the whole.
"""
