"""warpsim beside the strongest compiled code of each field, scene by scene."""
