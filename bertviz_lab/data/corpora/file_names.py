"""File names in messages: a name is text from outside and may hold anything."""


def printable(name: str, longest: int = 120) -> str:
    """`name` without characters that break a line or cannot be encoded; a long one loses its middle."""
    name = "".join(c if c.isprintable() else "\ufffd" for c in name)
    if len(name) > longest:
        keep = longest // 2
        name = f"{name[:keep]}…{name[-keep:]}"
    return name


def quoted(name: str) -> str:
    """`name` in quotation marks; angle brackets become ‹ and ›, so that no page takes a name for markup."""
    return '"' + printable(name).replace("<", "\u2039").replace(">", "\u203a").replace('"', "'") + '"'
