"""What runs inside a box; it imports nothing of ours from outside this folder."""
