"""Middleware around the server: what every request passes before Gradio sees it, and every response before it leaves.

In reading order: `middleware` (the steps in order, the headers of every response), `routes` (the addresses that are
answered), `addresses` (hosts, origins and proxies), `bodies` (sizes, types and times of bodies), `connections` (how
many at a time), `passwords`, `logins`.
"""
