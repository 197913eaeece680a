"""Texts for hypothesis: anything that Unicode has, mixed with what a tokenizer must tell apart."""

from hypothesis import strategies as st

_PIECES = st.one_of(
    st.text(max_size=6),
    st.text(alphabet=st.characters(categories=["Mn", "Zs", "Po", "Cc", "Cf", "So"]), max_size=4),
    st.sampled_from(["[MASK]", "[CLS]", "[UNK]", " [SEP]", "[MASK", "MASK]", "[mask]", "##ing", "Ġ", "\u200d"]),
    st.sampled_from(["walking", "unhappily", "the ", "Cat", "a" * 101, "e\u0301", "\uff21", "İ", "ß"]),
    st.sampled_from(["東京", "👩\u200d👧", "\t\n", "\x1f", "\u3000"]),
)
# Whole texts, mostly a few words long.
texts = st.lists(_PIECES, max_size=12).map("".join)
