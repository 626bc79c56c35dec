"""Studies: claims of the paper and choices of this project, checked by numbers."""
