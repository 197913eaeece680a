"""Pictures in a notebook: pages that need nothing but a browser."""

import re

from playwright.sync_api import Page, expect

from bertviz_lab import Checkpoint, interpret, show
from bertviz_lab.ui.components.assemble import PLOTLY, source
from tests.little import little_checkpoint
from tests.ui.components.harness import events

TEXT = "the red [MASK] sat on the mat"


def views(checkpoint: Checkpoint) -> dict[str, show.View]:
    pair = [interpret.trace_text(checkpoint, "the red cat", "a small dog", causal=causal) for causal in (False, True)]
    return {
        "difference": show.difference(*pair),
        "attention_comparison": show.attention_comparison(
            interpret.compare_attention(checkpoint, interpret.untrained(checkpoint), "the red cat")
        ),
        "next_sentence": show.next_sentence(interpret.next_sentence(checkpoint, "the red cat", "a small dog")),
        "similarity": show.similarity(interpret.similarity(checkpoint, ["the red cat", "a small dog"])),
        "attention": show.attention(interpret.trace_text(checkpoint, "the red cat", "a small dog"), "little"),
        "tokens": show.tokens(checkpoint.tokenizer.encode(TEXT)),
        "masking": show.masking(interpret.mask_text(checkpoint.tokenizer, TEXT, seed=1)),
        "fill_mask": show.fill_mask(interpret.fill_mask(checkpoint, TEXT)),
        "attribution": show.attribution(interpret.attribute(checkpoint, TEXT)),
        "ablate_heads": show.head_ablation(interpret.ablate_heads(checkpoint, TEXT)),
        "logit_lens": show.logit_lens(interpret.logit_lens(checkpoint, TEXT)),
        "learning_curves": show.learning_curves(events(40)),
        "pseudo-log-likelihood": show.pseudo_log_likelihood(interpret.pseudo_log_likelihood(checkpoint, TEXT)),
    }


def test_a_view_asks_nothing_of_the_net_and_can_be_saved(tmp_path) -> None:
    for name, view in views(little_checkpoint()).items():
        ours = view.page.replace(source(PLOTLY), "")  # whose comments and namespaces name addresses
        addresses = set(re.findall(r"https?://[^'\"` ]+", ours))
        assert addresses <= {"http://www.w3.org/2000/svg"}, name
        assert view.save(tmp_path / f"{name}.html").read_text(encoding="utf-8") == view.page
        assert view._repr_html_().startswith("<iframe")


def test_hostile_tokens_do_not_leave_their_strings() -> None:
    page = show.tokens(little_checkpoint().tokenizer.encode("</script><img src=x onerror=alert(1)>")).page
    assert page.count("</script>") == 2


def test_each_view_draws_itself_without_a_server(page: Page, tmp_path) -> None:
    for name, view in views(little_checkpoint()).items():
        page.goto(view.save(tmp_path / "view.html").as_uri())
        expect(page.locator(".lab"), name).to_contain_text(re.compile(r"\w{3}"))
        assert page.locator(".lab .empty").is_hidden(), name
        drawn = page.locator(".lab :is(canvas, svg, td, button)")
        assert drawn.count() > 3, name
