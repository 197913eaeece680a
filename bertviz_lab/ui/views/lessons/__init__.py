"""Learn: the lessons, each with a question to predict before its answer is measured. Their texts are in `ui/lessons`.

`view.py` answers what the page asks. `lessons.js` is the list of lessons, `lesson.js` one of them; `memory.js` keeps
what is done, `words.js` makes nodes of texts. `bar.js` is the line above the place that a lesson has opened, which
leads back; `room.js` joins the room of a workshop.
"""
