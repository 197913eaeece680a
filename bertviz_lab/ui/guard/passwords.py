"""Users and their passwords, of which only slow hashes are kept (scrypt, with OWASP's parameters for 32 MB)."""

import hashlib
import hmac
import os
from collections.abc import Mapping
from pathlib import Path

from bertviz_lab.errors import InputError

_COST, _BLOCK, _PARALLEL = 2**15, 8, 3
_MEMORY = 128 * 1024 * 1024  # bytes that one hash may take
_LONGEST = 1024  # characters of a password


def hash_password(password: str) -> str:
    """Return a hash of a password: method, parameters, salt and result. Raises `InputError` for ""."""
    if not 0 < len(password) <= _LONGEST:
        raise InputError(f"A password must have 1 to {_LONGEST} characters.")
    salt = os.urandom(16)
    digest = _scrypt(password, salt, _COST, _BLOCK, _PARALLEL)
    return f"scrypt${_COST}${_BLOCK}${_PARALLEL}${salt.hex()}${digest.hex()}"


def is_password(password: str, hashed: str) -> bool:
    """Return, in constant time, whether a password has that hash. Raises `InputError` for an invalid hash."""
    cost, block, parallel, salt, digest = _parts(hashed)
    return hmac.compare_digest(_scrypt(password[:_LONGEST], salt, cost, block, parallel), digest)


def read_users(path: Path) -> dict[str, str]:
    """Read the users of a file with a line `user:hash` for each. Raises `InputError` naming an invalid line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {getattr(error, 'strerror', None) or 'it is no text'}.") from None
    users: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        user, colon, hashed = line.strip().partition(":")
        if not (user and colon) or user in users:
            raise InputError(f"{path} line {number} must be a new user, a colon and a hash.")
        try:
            _parts(hashed)
        except InputError as error:
            raise InputError(f"{path} line {number}: {error}") from None
        users[user] = hashed
    if not users:
        raise InputError(f"{path} names no user.")
    return users


def users_of(auth: str | None, auth_file: Path | None, environment: Mapping[str, str]) -> dict[str, str]:
    """Return who may log in, from --auth, the file, or else BERTVIZ_LAB_AUTH; {} leaves the page open to all."""
    users = read_users(auth_file) if auth_file else {}
    pairs = [auth] if auth else [] if users else environment.get("BERTVIZ_LAB_AUTH", "").split()
    for pair in pairs:
        user, colon, password = pair.partition(":")
        if not (user and colon and password):
            raise InputError("--auth and BERTVIZ_LAB_AUTH must be a name and a password with a colon between them.")
        users[user] = password if password.startswith("scrypt$") else hash_password(password)
        _parts(users[user])
    return users


def _scrypt(password: str, salt: bytes, cost: int, block: int, parallel: int) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=cost, r=block, p=parallel, maxmem=_MEMORY, dklen=32)


def _parts(hashed: str) -> tuple[int, int, int, bytes, bytes]:
    """Return cost, block size, parallelism, salt and digest. Raises `InputError` for another format."""
    try:
        method, cost, block, parallel, salt, digest = hashed.split("$")
        parts = int(cost), int(block), int(parallel), bytes.fromhex(salt), bytes.fromhex(digest)
    except ValueError:
        method, parts = "", (0, 0, 0, b"", b"")
    if method != "scrypt" or 128 * parts[0] * parts[1] > _MEMORY // 2 or len(parts[4]) != 32:
        raise InputError("this is not a hash; `bertviz-lab app --hash-password USER` makes one.")
    return parts
