"""Accuracy on BLiMP's files, per phenomenon and over all."""

import json
from pathlib import Path

from benchmarks.blimp import measure, table


def test_a_phenomenon_and_the_whole_have_their_share_and_their_standard_error(tmp_path: Path) -> None:
    pairs = [("She is here.", "She are here."), ("They are here.", "They is here."), ("He is old.", "He are old.")]
    for paradigm in ("first", "second"):
        good = pairs if paradigm == "first" else [(bad, fine) for fine, bad in pairs]
        lines = (
            {"sentence_good": one, "sentence_bad": other, "linguistics_term": f"{paradigm}_term"} for one, other in good
        )
        (tmp_path / f"{paradigm}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    result = measure(["wiki-mini"], tmp_path)
    text = table(result)
    assert "2 of 67 paradigms, on average the first 3 of 1,000 pairs" in text
    assert "| first term | 3 | 100.0 ± 0.0 |" in text
    assert "| second term | 3 | 0.0 ± 0.0 |" in text
    assert "| **all** | 6 | **50.0 ± 20.4** |" in text
