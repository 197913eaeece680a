"""Write docs/api.md from the docstrings of the public names: `make docs`."""

import dataclasses
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import bertviz_lab
from bertviz_lab import interpret, show

_HEAD = """# API reference

Generated from the docstrings by `make docs`; a test holds that it is current. Examples are in [python.md](python.md).
"""
_MODULES = {"bertviz_lab": bertviz_lab, "bertviz_lab.interpret": interpret, "bertviz_lab.show": show}


def reference() -> str:
    """The whole page as Markdown."""
    parts = [_HEAD]
    for name, module in _MODULES.items():
        parts.append(f"\n## {name}\n\n{_text(module)}\n")
        parts += [_entry(*member) for member in members(module)]
    return "".join(parts)


def members(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Public classes and functions of a module, in the order of the alphabet."""
    names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    for name in sorted(names, key=str.lower):
        value = getattr(module, name)
        own = hasattr(module, "__path__") or getattr(value, "__module__", "") == module.__name__
        if own and (inspect.isclass(value) or inspect.isfunction(value)):
            yield name, value


def _entry(name: str, value: Any) -> str:
    """Heading, signature and docstring of a class or function, and the public methods of a class."""
    lines = [f"\n### {name}\n", f"```python\n{_signature(name, value)}\n```\n", f"{_text(value)}\n"]
    if inspect.isclass(value):
        for method, raw in vars(value).items():
            function = raw.__func__ if isinstance(raw, classmethod | staticmethod) else raw
            if inspect.isfunction(function) and not method.startswith("_") and function.__doc__:
                first = inspect.cleandoc(function.__doc__).partition("\n\n")[0].replace("\n", " ")
                lines.append(f"- `.{method}()`: {first}\n")
    return "\n".join(lines)


def _signature(name: str, value: Any) -> str:
    if dataclasses.is_dataclass(value):
        fields = [f"    {field.name}: {_type(field.type)}" for field in dataclasses.fields(value)]
        return "\n".join([f"class {name}:", *fields]) if fields else f"class {name}"
    if inspect.isclass(value):
        return f"class {name}{_parameters(value)}"
    return f"{name}{_parameters(value)}"


def _parameters(value: Any) -> str:
    try:
        text = str(inspect.signature(value))
    except (TypeError, ValueError):
        return "(...)"
    text = re.sub(r"<([\w.]+) object at 0x[0-9a-f]+>|<(?:function|class) '?([\w.<>]+)'?[^>]*>", r"\1\2", text)
    return _type(re.sub(r"^\((?:self|cls)(?:, )?", "(", text))


def _type(annotation: Any) -> str:
    """Names without the modules that they come from."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    text = re.sub(r"Literal\[[^]]*\]", lambda choices: choices[0].replace("'", '"'), text)  # these stay in quotes
    return re.sub(r"\b(?:[A-Za-z_]\w*\.)+(?=[A-Za-z_])", "", text.replace("'", ""))


def _text(value: Any) -> str:
    return inspect.cleandoc(value.__doc__ or "").strip()


if __name__ == "__main__":
    Path(__file__).with_name("api.md").write_text(reference(), encoding="utf-8")
