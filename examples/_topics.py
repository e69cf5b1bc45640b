"""Examples by topic, in the order in which `warpsim run` and the gallery show them."""

TOPICS = {
    "Cloth and soft bodies": (
        "garment", "cloth_drop", "cloth_on_mesh", "flag", "implicit_cloth", "soft_squash", "soft_stack",
    ),
    "Rigid bodies": ("block_tower", "plank_bridge", "soft_gripper", "grain_wheel", "bucket"),
    "Grains and fluids": (
        "dem_grains", "hourglass", "grain_drum", "sph_dam", "dam_obstacle", "fountain", "water_drop", "water_float",
        "grains_mpi",
    ),
    "Oceans and waves": ("ocean", "ocean_float", "ocean_cloth", "boat", "wave", "wave_mpi"),
    "Found by gradients": (
        "cloth_throw", "net_catch", "windy_throws", "bounce_to_target", "spring_cage", "wave_inverse", "soft_identify",
        "grain_friction", "walker", "ocean_inverse", "steer_jet", "cartpole", "pendulums_jax",
    ),
    "Points and volumes": ("radius_aggregation", "raymarch"),
}  # fmt: skip
