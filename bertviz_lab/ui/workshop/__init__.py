"""A workshop: a leader, their page, and a room of participants whose predictions are counted without their names.

In reading order: `machine` (whether this machine can carry the page, as `bertviz-lab doctor` prints it), `room` (what
is known, in memory alone), `access` (who is the leader, and where participants find the page, with QR codes), `plans`
(what is done when, and who trains when), `pages` (the leader's page, and the screen for the projector; their templates
are beside them), and `routes`.
"""
