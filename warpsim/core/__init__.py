"""The compiler and the runtime; `README.md` in this folder is the map."""
