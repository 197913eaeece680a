"""Learn: the lessons, each with a question to predict before its answer is measured. Their texts are in `ui/lessons`.

`view.py` answers what the page asks; `lesson.html` is one lesson, before its measurement and after it. `lessons.js` has
the list of lessons and shows the one that is open, keeps what is done, joins the room of a workshop, and draws the line
above a place that a lesson has opened, which leads back.
"""
