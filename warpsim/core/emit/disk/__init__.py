"""What lies on disk: machine code under digests of programs, programs under digests of their inputs."""
