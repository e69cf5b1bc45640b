"""Steps: what captured graphs, recorded tapes and files hold; `Step` is the interface, and each kind is a class."""
