"""Built-ins of tiles that the front end translates: memory, arithmetic, shapes (floor 5.35)."""
