// A text with stretches of it marked, a legend of their types, and under it answers that can be shown in their place.

import { barRow, elements, h, nextByArrow, payloadView, setText } from 'lab/client/dom.js';
import { percent, plural, whole } from 'lab/client/format.js';
import { saveDrawing } from 'lab/client/saving.js';

export default payloadView('Nothing has been marked yet.', (content, { savePage }) => {
  const ANSWER = 'answer'; // the type of its mark
  let payload = null;
  let letters = []; // the text's code points: offsets count these, not JavaScript's units of 16 bits
  let types = []; // names of the marks, in the order of their colors
  let marks = []; // the spans on show
  let chosen = null; // place of the answer that is marked
  let current = 0; // the mark that the arrow keys are on

  const [heading, sentence, legend] = elements('p.heading', 'p.quiet', 'div.keys');
  const running = h('div.running.card', { tabindex: '0', role: 'group' });
  const readout = h('p.readout', { 'aria-live': 'polite' });
  const answers = h('div.answers', { role: 'group', 'aria-label': 'Top answers' });
  const buttons = saveDrawing('the marks', () => payload.file, {
    rows: () => [['kind', 'start', 'end', 'label', 'text', 'score'],
      ...payload.spans.map((span) => ['mark', span.start, span.end, span.label, textOf(span), span.score]),
      ...payload.alternatives.map((one) => ['answer', one.start, one.end, ANSWER, one.text, one.probability])],
    body: () => payload,
    savePage,
  });
  content.append(h('div.bar', heading, buttons), sentence, running, readout, legend, answers);

  /** By the first letter. "auto" would not do: it passes over what is marked. */
  const directionOf = (text) =>
    (/[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/.test(text.match(/\p{L}/u)?.[0] ?? '') ? 'rtl' : 'ltr');
  const textOf = ({ start, end }) => letters.slice(start, end).join('');
  const kindOf = (type) => `kind-${types.indexOf(type) % 4}`;

  function show(body) {
    payload = body;
    letters = [...body.text];
    chosen = body.chosen;
    running.dir = directionOf(body.text);
    types = [...new Set([...body.spans.map((span) => span.label), ...(body.alternatives.length ? [ANSWER] : [])])];
    heading.textContent = body.title;
    setText(sentence, body.sentence);
    answers.replaceChildren(...(body.alternatives.length ? [h('p.heading', 'Top answers')] : []),
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
    let at = 0;
    const nodes = marks.flatMap((span, place) => {
      const before = letters.slice(at, span.start).join('');
      at = span.end;
      // Isolated: the label must not turn with a text written from right to left. The space is for those who hear it.
      return [before, h(`mark.${kindOf(span.label)}`, { 'data-place': place }, h('bdi.words', textOf(span)),
        h('bdi.type', ` ${span.label}`))];
    });
    running.replaceChildren(...nodes, letters.slice(at).join(''));
    const count = (type) => marks.filter(({ label }) => label === type).length;
    const used = types.filter(count);
    legend.replaceChildren(...used.map((type) =>
      h('span.key', h(`i.${kindOf(type)}`), `${type}: ${whole(count(type))}`)));
    legend.hidden = used.length < 2;
    running.setAttribute('aria-label',
      `Text, ${marks.length ? `${plural(marks.length, 'mark')}. Arrow keys go from mark to mark.` : 'nothing marked'}`);
    readout.replaceChildren(h('span.quiet', marks.length ? 'Point at a mark, or use the arrow keys, to read it.'
      : payload.alternatives.length ? 'No answer is marked in the text.' : 'Nothing is marked in this text.'));
  }

  function tell(place) {
    current = place;
    running.querySelectorAll('mark').forEach((node, at) => node.classList.toggle('now', at === place));
    const { start, end, label, score } = marks[place];
    const sure = Number.isFinite(score) ? `, ${percent(score)}` : '';
    readout.replaceChildren(h('b', { dir: 'auto' }, textOf(marks[place])),
      `: ${label}${sure}. Characters ${whole(start)} to ${whole(end)}.`);
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

  function drawAnswer({ text, probability }, place) {
    const name = text || 'no answer in this text';
    return barRow(h(text ? 'span' : 'span.quiet', { dir: 'auto' }, name), probability, percent(probability),
      'button.bar-row.answer', { 'aria-pressed': String(place === chosen),
      'aria-label': `${name}, ${percent(probability)}`, onclick: () => choose(place) });
  }

  function choose(place) {
    chosen = place;
    answers.querySelectorAll('.answer')
      .forEach((node, other) => node.setAttribute('aria-pressed', String(other === place)));
    drawText();
    const mark = marks.findIndex((span) => span.label === ANSWER && span.start === payload.alternatives[place].start);
    if (mark < 0) return;
    tell(mark);
    const node = running.querySelector('.now');
    running.scrollTo({ top: node.offsetTop - running.offsetTop - running.clientHeight / 3 }); // the page itself stays
  }

  return show;
});
