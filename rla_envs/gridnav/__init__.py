"""GridNav: a robot finds its way to a goal on a grid; the smallest adaptive environment, in numbers."""
