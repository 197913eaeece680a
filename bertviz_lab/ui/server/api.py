"""The endpoints that programs call, as Gradio serves them: the page's answers as JSON."""

import inspect
import logging
import weakref
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any

import gradio as gr
from gradio import queueing
from gradio.server_messages import EventMessage, ProcessCompletedMessage
from gradio.state_holder import SessionState

from bertviz_lab.errors import InputError, panics_as_errors
from bertviz_lab.ui.lazy import Checkpoint, interpret
from bertviz_lab.ui.server.error_handling import sentence_of, where
from bertviz_lab.ui.server.scheduler import report_progress
from bertviz_lab.ui.server.visitors import NOBODY, visitor_of
from bertviz_lab.ui.state.app_state import AppState
from bertviz_lab.ui.view import MOST_CHARACTERS

_log = logging.getLogger(__name__)

MOST_WEIGHTS = 2_000_000  # in one answer of `/attention`; as text they take some ten bytes each
MOST_TEXTS = 256  # in one question to `/embed`
MOST_PREDICTIONS = 1_000  # for one [MASK]
_MOST_WAITING = 500  # calls of all visitors that Gradio holds; the scheduler holds fewer
_MOST_UNREAD = 4 * MOST_WEIGHTS  # numbers in answers that nobody has fetched, some 40 bytes each
_WITHDRAWN = "This answer was not fetched, and newer ones have taken its place; ask again and fetch the answer at once."


def add_endpoints(session: AppState) -> None:
    """Publish the endpoints; `model` is a name from `/models`, a run, a folder or a hub id, "" the default.

    A text or model that cannot be used is an error whose message is one plain sentence.
    """

    def opened(model: str) -> Checkpoint:
        """Open a model; one of the hub is downloaded first, since a program that names it is not a link."""
        model = _checked(model, "model")
        session.models.download(model)
        return session.models.open(model)

    def pair(text_a: str, text_b: str) -> tuple[str, str | None]:
        return _checked(text_a, "text_a"), _checked(text_b, "text_b") or None

    def models() -> dict[str, Any]:
        """Return the models that can be asked; runs of visitors are listed on one's own machine only."""
        found = [
            {"name": name, "title": name, "kind": "shipped", "status": "finished"} for name in session.models.shipped()
        ]
        for run_id in session.models.visible_runs(NOBODY):
            status = session.runs.state(run_id).status
            found.append({"name": run_id, "title": session.runs.name(run_id), "kind": "run", "status": status})
        return {"default": session.models.default(), "models": found}

    def tokenize(text_a: str, text_b: str = "", model: str = "") -> dict[str, Any]:
        """Return a text, or a pair, as the model is given it: tokens, ids, segments, attention mask, offsets."""
        from bertviz_lab.interpret.inputs import encode_inputs

        encoding = encode_inputs(opened(model), *pair(text_a, text_b)).encoding
        names = ("tokens", "ids", "token_type_ids", "attention_mask", "special_tokens_mask", "offsets", "word_ids")
        return {name: list(getattr(encoding, name)) for name in names}

    def fill_mask(text: str, model: str = "", top_k: int = 5) -> dict[str, Any]:
        """For each [MASK] the `top_k` likeliest tokens with their probabilities."""
        found = interpret.fill_mask(opened(model), _checked(text), _count(top_k))
        return {"tokens": list(found.encoding.tokens), "masks": [asdict(mask) for mask in found.masks]}

    def next_sentence(text_a: str, text_b: str, model: str = "") -> dict[str, Any]:
        """Return the probabilities that B follows A and that it comes from elsewhere."""
        found = interpret.next_sentence(opened(model), _checked(text_a, "text_a"), _checked(text_b, "text_b"))
        return {"is_next": found.is_next, "is_random": found.is_random}

    def attention(text_a: str, text_b: str = "", model: str = "") -> dict[str, Any]:
        """Return the weights of every head: attentions[layer][head][from][to], each row adding up to 1."""
        trace = interpret.trace_text(opened(model), *pair(text_a, text_b))
        weights = trace.attentions
        if weights.size > MOST_WEIGHTS:
            raise InputError(f"This text has {weights.size:,} attention weights; shorten it to {MOST_WEIGHTS:,}.")
        return {
            "tokens": list(trace.tokens),
            "token_type_ids": list(trace.encoding.token_type_ids),
            "attentions": [[head.tolist() for head in layer] for layer in weights],
        }

    def classify(text_a: str, text_b: str = "", model: str = "") -> dict[str, Any]:
        """Return the labels of a text, or a pair, from a model that was fine-tuned to label, the likeliest first.

        `predicted` names those that apply: several, or none, where the model is multi-label.
        """
        prediction = interpret.classify(opened(model), *pair(text_a, text_b))
        return {"labels": [asdict(label) for label in prediction.labels], "predicted": list(prediction.predicted)}

    def embed(texts: list[str], model: str = "") -> dict[str, Any]:
        """Return a vector for each text: its sentence embedding, pooled as the model says, by default the mean."""
        if not isinstance(texts, list) or not 1 <= len(texts) <= MOST_TEXTS:
            raise InputError(f"texts must be a list of 1 to {MOST_TEXTS:,} texts.")
        checkpoint = opened(model)
        vectors = interpret.encode(checkpoint, [_checked(text) for text in texts])
        return {"vectors": vectors.tolist(), "pooling": checkpoint.pooling or "mean"}

    def attribute(
        text_a: str, text_b: str = "", model: str = "", method: str = "integrated gradients"
    ) -> dict[str, Any]:
        """Return what each token contributes to the prediction that suits the text, in nats of log-probability.

        `method` is integrated gradients, gradient x input or occlusion. The scores of integrated gradients add up to
        `change`, the score of the text minus that of its baseline, up to `error`.
        """
        chosen: Any = _checked(method, "method")  # `explain` names those that there are
        found = interpret.attribute(opened(model), *pair(text_a, text_b), method=chosen, on_progress=report_progress)
        target = {"kind": found.target.kind, "position": found.target.position, "name": found.target.title}
        body = {"tokens": list(found.encoding.tokens), "scores": found.scores.tolist(), "target": target}
        return body | {"method": found.method, "change": found.change, "error": found.error}

    for endpoint in (models, tokenize, fill_mask, next_sentence, attention, classify, embed, attribute):
        # All calls go to the scheduler at once, where visitors take turns; Gradio's queue is first come, first served.
        gr.api(_scheduled(endpoint, session), api_name=endpoint.__name__, concurrency_limit=None)


def _scheduled(endpoint: Callable[..., dict[str, Any]], session: AppState) -> Callable[..., Awaitable[dict[str, Any]]]:
    """Return the endpoint as a job of the scheduler whose errors reach the caller as sentences."""
    name = endpoint.__name__

    async def answer(*arguments: Any) -> dict[str, Any]:
        *given, request = arguments

        def compute() -> dict[str, Any]:
            with panics_as_errors():
                return endpoint(*given)

        try:
            with session.monitor.question(f"/{name}"):
                return await session.scheduler.answer(compute, visitor_of(request), f"api.{name}")
        except Exception as error:
            raise gr.Error(sentence_of(error, shared=session.settings.shared), print_exception=False) from None

    # Gradio reads names and types of arguments, and passes the request to the argument of its type.
    signature = inspect.signature(endpoint)
    request = inspect.Parameter("request", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation=gr.Request)
    answer.__name__, answer.__doc__ = name, endpoint.__doc__
    answer.__signature__ = signature.replace(parameters=[*signature.parameters.values(), request])  # type: ignore[attr-defined]
    answer.__annotations__ = endpoint.__annotations__ | {"request": gr.Request}
    return answer


class EndpointQueue(queueing.Queue):
    """Gradio's queue with a limit of what answers hold that nobody has fetched: Gradio keeps any number of them."""

    def __init__(self, page: gr.Blocks) -> None:
        limits = {"concurrency_count": page.max_threads, "max_size": _MOST_WAITING}
        super().__init__(live_updates=True, update_intervals=1, blocks=page, **limits)
        self._unread: list[tuple[weakref.ref[ProcessCompletedMessage], int]] = []  # with their sizes, the oldest first

    def send_message(self, event: queueing.Event, event_message: EventMessage) -> None:
        """Keep a message until it is fetched; the oldest answers are withdrawn where all are too large."""
        super().send_message(event, event_message)
        if isinstance(event_message, ProcessCompletedMessage):
            self._unread = [(message, size) for message, size in self._unread if message() is not None]
            self._unread.append((weakref.ref(event_message), _size_of(event_message.output)))
            while sum(size for _, size in self._unread) > _MOST_UNREAD:
                oldest = self._unread.pop(0)[0]()
                if oldest is not None:
                    oldest.success, oldest.output = False, {"error": _WITHDRAWN}


def _size_of(value: Any) -> int:
    """Return how many numbers and characters an answer has."""
    if isinstance(value, dict):
        return sum(map(_size_of, value.values()))
    if isinstance(value, list) and value and not isinstance(value[0], float):
        return sum(map(_size_of, value))
    return len(value) if isinstance(value, (str, list)) else 1


class Page(gr.Blocks):
    """Blocks of Gradio whose failures are one sentence for the visitor and one line in the log, never a traceback.

    Nor does it keep what was answered, as Gradio does for deep links, which are closed here: an answer of `/attention`
    takes 76 MB, and each call that names no session is a session of its own.
    """

    async def process_api(self, *arguments: Any, **named: Any) -> dict[str, Any]:
        """Call an endpoint. Raises `gr.Error` only."""
        state: SessionState | None = named.get("state")
        try:
            return await super().process_api(*arguments, **named)
        except gr.Error as error:
            error.print_exception = False
            raise
        except Exception as error:
            _log.error("a call failed: %s", where(error))
            raise gr.Error("This server could not read the arguments of the call.", print_exception=False) from None
        finally:
            if state is not None:
                state.config_values.clear()


def _checked(text: Any, name: str = "text") -> str:
    """Return a text, None as "". Raises `InputError` for another type, a lone surrogate, or a text that is too long."""
    if text is None:
        return ""
    if not isinstance(text, str):
        raise InputError(f"{name} must be a string.")
    if len(text) > MOST_CHARACTERS:
        raise InputError(
            f"The text has {len(text):,} characters; shorten it to {MOST_CHARACTERS:,}, of which a model reads the "
            "first few hundred words."
        )
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"{name} has half of a character (a lone surrogate); send whole characters.") from None
    return text


def _count(number: Any) -> int:
    if isinstance(number, bool) or number not in range(1, MOST_PREDICTIONS + 1):
        raise InputError(f"top_k must be a whole number from 1 to {MOST_PREDICTIONS}.")
    return int(number)
