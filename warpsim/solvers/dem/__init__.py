"""The discrete element method: grains as spheres that touch, slide, roll and stick."""
