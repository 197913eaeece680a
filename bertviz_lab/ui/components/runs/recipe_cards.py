"""The cards of the ablation study: tick, predict, and reveal the result.

Their value comes from `figures.training.ablation_study.recipe_payload`. They ask their `server` for `look(runs)`, the
state of each run, every two seconds while one is under way and somebody looks; and for `reveal(ablation, whole, run,
predicted)`, the outcome. What a person predicts stays in their browser. Events: `train_request` {names} when the ticked
ones are to be trained, `compare_request` {runs} to see their curves side by side.
"""

from bertviz_lab.ui.components.assemble import Assembly

RECIPE_CARDS = Assembly("recipe", ("recipe_card.js", "recipe_cards.js"), ("recipe_cards.css",))
