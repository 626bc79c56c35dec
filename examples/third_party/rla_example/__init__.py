"""What plugs in from outside, by example: the environment ``RLAExample/Guess-v0`` and an agent."""

import gymnasium

# The entry point is a string, so that nothing is imported until the environment is made.
if "RLAExample/Guess-v0" not in gymnasium.registry:
    gymnasium.register("RLAExample/Guess-v0", entry_point="rla_example.env:GuessEnv")
