"""The door of the server: what every request passes before Gradio sees it, and every answer before it leaves.

In reading order: `middleware` (the steps in order), `addresses` (hosts, origins and proxies), `bodies` (sizes, types
and times of what is sent), `headers` (what browsers are told not to do), `event_queue` (whose turn it is in Gradio's
queue), `unread_answers` (what waits in it to be fetched), `passwords` and `logins`.
"""
