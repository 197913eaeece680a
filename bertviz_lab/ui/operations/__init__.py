"""What the owner of a server needs besides the page.

`housekeeping` (nothing of visitors stays for longer than it should), `event_log` (a line for each event) and
`monitoring` (health and metrics).
"""
