"""Middleware around the server: what every request passes before Gradio sees it, and every response before it leaves.

In reading order: `middleware` (the steps in order), `routes` (the addresses that are answered), `addresses` (hosts,
origins and proxies), `bodies` (sizes, types and times of bodies), `headers` (of every response), `passwords`, `logins`.
"""
