"""Language-model agents: policy, reward model, and the loop that trains them together."""
