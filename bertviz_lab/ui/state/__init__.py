"""What the server keeps for all visitors: `app_state` is the whole of it.

In reading order: `models` (find, list and open; `hub`: those of the hub), `snapshots` (of a training), `examples`
(texts to try), `file_reading` (by confined processes), `forecast` (time and memory of a training), `lru_cache`.
"""
