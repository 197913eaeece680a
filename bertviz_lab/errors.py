"""The one exception that a person, not a programmer, is meant to read."""


class InputError(ValueError):
    """Something a person supplied cannot be used; the text is one clear sentence that says what to do.

    The command line prints it and exits with code 2; the page shows it where the input was given.
    """
