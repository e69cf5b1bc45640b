"""What solvers of particles share: inverse masses, origins, nozzles of streams, statistics."""
