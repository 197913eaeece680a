"""Label check: doubted training examples of a run (`view`), decided one by one, and a training on the corrections."""
