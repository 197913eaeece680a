"""How many cores a process may use: fewer than the machine has where a container or an affinity limits them."""


def available_cores() -> int:
    """Return the cores that this process may use, by its affinity and by its container's quota, such as a Space's."""
    from joblib import cpu_count  # takes 0.2 s to import

    return cpu_count()
