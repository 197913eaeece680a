"""The parts of the workspaces Train, Runs and Learn."""
