"""Find the text column of a table, or the text field of a record."""

from collections.abc import Mapping, Sequence

TEXT_NAMES = (
    "text",
    "sentence",
    "sentences",
    "content",
    "body",
    "document",
    "article",
    "paragraph",
    "passage",
    "context",
    "review",
    "message",
    "comment",
    "tweet",
    "post",
    "story",
    "description",
    "abstract",
    "summary",
)


def known_name(names: Sequence[str]) -> int | None:
    """Index in `names` of the first of `TEXT_NAMES` that occurs, ignoring case; None if none does."""
    lower = [name.strip().lower() for name in names]
    return next((lower.index(name) for name in TEXT_NAMES if name in lower), None)


def longest_field(records: Sequence[Mapping[str, object]]) -> str | None:
    """The text field: one of `TEXT_NAMES`, else that with most characters in these records; None without strings."""
    sizes: dict[str, int] = {}
    for record in records:
        for name, value in record.items():
            if isinstance(value, str):
                sizes[name] = sizes.get(name, 0) + len(value)
            elif isinstance(value, list) and value and all(isinstance(item, str) for item in value):
                sizes[name] = sizes.get(name, 0) + sum(map(len, value))
    if not sizes:
        return None
    names = list(sizes)
    known = known_name(names)
    return names[known] if known is not None else max(names, key=lambda name: sizes[name])
