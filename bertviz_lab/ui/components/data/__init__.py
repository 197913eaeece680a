"""What was uploaded: its first rows, its health, its examples."""
