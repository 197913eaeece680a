// A text with stretches of it marked, a legend of their types, and under it answers that can be shown in their place.

import { barRow, h, nextByArrow, payloadView, setText } from 'lab/client/dom.js';
import { percent, plural, whole } from 'lab/client/format.js';
import { saveDrawing } from 'lab/client/picture.js';

export default function markedText(root, first, { label, savePage } = {}) {
  const ANSWER = 'answer'; // the type of its mark
  const view = payloadView(root, label, 'Nothing has been marked yet.', show);
  const heading = h('p', { class: 'heading' });
  const sentence = h('p', { class: 'quiet' });
  const running = h('div', { class: 'running card', tabindex: '0', role: 'group' });
  const readout = h('p', { class: 'readout', 'aria-live': 'polite' });
  const legend = h('div', { class: 'keys' });
  const answers = h('div', { class: 'answers', role: 'group' });
  let payload = null;
  let letters = []; // the text's code points: offsets count these, not JavaScript's units of 16 bits
  let types = []; // names of the marks, in the order of their colors
  let marks = []; // the spans on show
  let chosen = null; // place of the answer that is marked
  let current = 0; // the mark that the arrow keys are on

  const buttons = saveDrawing('the marks', () => payload.file, {
    rows: () => [['kind', 'start', 'end', 'label', 'text', 'score'],
      ...payload.spans.map((span) => ['mark', span.start, span.end, span.label, textOf(span), span.score]),
      ...payload.alternatives.map((one) => ['answer', one.start, one.end, ANSWER, one.text, one.probability])],
    body: () => payload,
    savePage,
  });
  view.content.append(h('div', { class: 'bar' }, heading, buttons), sentence, running, readout, legend, answers);

  /** By the first letter. "auto" would not do: it passes over what is marked. */
  const directionOf = (text) => (/[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/.test(text.match(/\p{L}/u)?.[0] ?? '')
    ? 'rtl' : 'ltr');
  const textOf = ({ start, end }) => letters.slice(start, end).join('');

  function show(body) {
    payload = body;
    letters = [...body.text];
    chosen = body.chosen;
    running.dir = directionOf(body.text);
    types = [...new Set([...body.spans.map((span) => span.label), ...(body.alternatives.length ? [ANSWER] : [])])];
    heading.textContent = body.title;
    setText(sentence, body.sentence);
    answers.setAttribute('aria-label', 'Top answers');
    answers.replaceChildren(...(body.alternatives.length ? [h('p', { class: 'heading' }, 'Top answers')] : []),
      ...body.alternatives.map(drawAnswer));
    drawText();
  }

  // ---- the text

  /** The spans to be marked: the chosen answer, and every other span that it does not cover. */
  function spansNow() {
    const answer = payload.alternatives[chosen];
    if (!answer?.text) return payload.spans;
    const mark = { ...answer, label: ANSWER, score: answer.probability };
    return [...payload.spans.filter((span) => span.end <= mark.start || span.start >= mark.end), mark]
      .sort((one, other) => one.start - other.start);
  }

  function drawText() {
    marks = spansNow();
    current = 0;
    const nodes = [];
    let at = 0;
    marks.forEach((span, place) => {
      nodes.push(letters.slice(at, span.start).join(''), drawMark(span, place));
      at = span.end;
    });
    running.replaceChildren(...nodes, letters.slice(at).join(''));
    const used = types.filter((type) => marks.some((span) => span.label === type));
    legend.replaceChildren(...used.map((type) => h('span', { class: 'key' },
      h('i', { class: `kind-${types.indexOf(type) % 4}` }),
      `${type}: ${whole(marks.filter((span) => span.label === type).length)}`)));
    legend.hidden = used.length < 2;
    running.setAttribute('aria-label',
      `Text, ${marks.length ? `${plural(marks.length, 'mark')}. Arrow keys go from mark to mark.` : 'nothing marked'}`);
    readout.replaceChildren(h('span', { class: 'quiet' }, marks.length
      ? 'Point at a mark, or use the arrow keys, to read it.'
      : payload.alternatives.length ? 'No answer is marked in the text.' : 'Nothing is marked in this text.'));
  }

  function drawMark(span, place) {
    // Isolated: the label must not turn with a text that is written from right to left.
    return h('mark', { class: `kind-${types.indexOf(span.label) % 4}`, 'data-place': place },
      h('bdi', { class: 'words' }, textOf(span)),
      h('bdi', { class: 'type' }, ` ${span.label}`)); // a space, for those who hear it
  }

  function tell(place) {
    for (const node of running.querySelectorAll('.now')) node.classList.remove('now');
    current = place;
    running.querySelector(`[data-place="${place}"]`)?.classList.add('now');
    const span = marks[place];
    const sure = Number.isFinite(span.score) ? `, ${percent(span.score)}` : '';
    readout.replaceChildren(h('b', { dir: 'auto' }, textOf(span)),
      `: ${span.label}${sure}. Characters ${whole(span.start)} to ${whole(span.end)}.`);
  }

  running.addEventListener('pointermove', (event) => {
    const node = event.target.closest('mark');
    if (node) tell(Number(node.dataset.place));
  });
  running.addEventListener('focus', () => marks.length && running.matches(':focus-visible') && tell(current));
  running.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowUp' || event.key === 'ArrowDown') return; // these scroll a long text
    const next = nextByArrow(event.key, current, marks.length);
    if (next === null || !marks.length) return;
    event.preventDefault();
    tell(next);
    running.querySelector('.now').scrollIntoView({ block: 'nearest' });
  });

  // ---- answers

  function drawAnswer(answer, place) {
    const name = answer.text || 'no answer in this text';
    return barRow(h('span', { class: answer.text ? null : 'quiet', dir: 'auto' }, name), answer.probability,
      percent(answer.probability), 'button', { type: 'button', class: 'answer',
        'aria-pressed': String(place === chosen),
        'aria-label': `${name}, ${percent(answer.probability)}`, onclick: () => choose(place) });
  }

  function choose(place) {
    chosen = place;
    answers.querySelectorAll('.answer').forEach((node, other) => node.setAttribute('aria-pressed',
      String(other === place)));
    drawText();
    const mark = marks.findIndex((span) => span.label === ANSWER && span.start === payload.alternatives[place].start);
    if (mark >= 0) {
      tell(mark);
      const node = running.querySelector('.now');
      // the page itself stays where it is
      running.scrollTo({ top: node.offsetTop - running.offsetTop - running.clientHeight / 3 });
    }
  }

  return view.start(first);
}
