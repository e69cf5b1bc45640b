"""How long each example takes with its own settings [s]: `warpsim run` tells it, scaled to the machine.

Measured as processor time with compiled kernels: what one thread does alone, and what all threads share. `PROBE` is the
time of `warpsim.gallery.probe` where that was.
"""

PROBE = 0.0028

SECONDS = {
    "block_tower": (12.0, 3.0),
    "boat": (20.0, 6.0),
    "bounce_to_target": (4.1, 2.0),
    "bucket": (33.0, 24.0),
    "cartpole": (6.2, 0.0),
    "cloth_drop": (11.8, 3.0),
    "cloth_on_mesh": (11.1, 9.2),
    "cloth_throw": (15.9, 1.2),
    "dam_obstacle": (15.7, 61.9),
    "dem_grains": (10.7, 40.8),
    "flag": (16.6, 3.6),
    "fountain": (28.0, 44.0),
    "garment": (12.4, 3.4),
    "grain_drum": (32.0, 3.6),
    "grain_friction": (20.0, 0.0),
    "grain_wheel": (19.0, 3.0),
    "grains_mpi": (3.9, 0.0),
    "hourglass": (14.2, 17.4),
    "implicit_cloth": (26.0, 0.4),
    "net_catch": (21.4, 0.0),
    "ocean": (11.3, 3.8),
    "ocean_cloth": (11.0, 2.2),
    "ocean_float": (13.9, 2.8),
    "ocean_inverse": (4.1, 0.8),
    "pendulums_jax": (2.3, 10.8),
    "plank_bridge": (8.6, 0.0),
    "radius_aggregation": (4.1, 2.6),
    "raymarch": (5.5, 0.8),
    "soft_gripper": (10.5, 0.0),
    "soft_identify": (37.4, 1.6),
    "soft_squash": (7.6, 2.0),
    "soft_stack": (8.1, 2.0),
    "sph_dam": (12.8, 1.0),
    "spring_cage": (8.0, 1.4),
    "steer_jet": (28.8, 1.6),
    "water_drop": (7.4, 12.4),
    "water_float": (18.0, 22.4),
    "walker": (41.0, 0.5),
    "wave": (4.3, 2.0),
    "wave_inverse": (4.1, 0.4),
    "wave_mpi": (1.8, 0.0),
    "windy_throws": (24.0, 4.0),
}
