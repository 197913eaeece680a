// A text with stretches of it marked, a legend of their types, and under it answers that can be shown in their place.

import { barRow, h, payloadView, walkWithKeys } from 'lab/client/dom.js';
import { percent, plural, whole } from 'lab/client/format.js';
import { makeFrame } from 'lab/client/saving.js';

export default payloadView('Nothing has been marked yet.', (content, { savePage, captionOf }) => {
  const ANSWER = 'answer'; // the type of its mark
  let payload = null;
  let letters = []; // the text's code points: offsets count these, not JavaScript's units of 16 bits
  let marks = []; // the spans on show

  const running = h('div.running.card.box', { role: 'group' });
  const readout = h('p.readout', { 'aria-live': 'polite' });
  const legend = h('div.keys');
  const answers = h('div.answers', { role: 'group', 'aria-label': 'Top answers' });
  const nodes = () => [...running.querySelectorAll('mark')];
  const walk = walkWithKeys(running, { items: nodes });
  const frame = makeFrame('the marks', { savePage, captionOf, rows: ({ spans, alternatives }) => [
    ['kind', 'start', 'end', 'label', 'text', 'score'],
    ...spans.map((span) => ['mark', span.start, span.end, span.label, textOf(span), span.score]),
    ...alternatives.map((one) => ['answer', one.start, one.end, ANSWER, one.text, one.probability])] });
  content.append(...frame.top, running, readout, legend, answers);

  const textOf = ({ start, end }) => letters.slice(start, end).join('');

  function show(body) {
    payload = body;
    letters = [...body.text];
    running.dir = body.direction; // "auto" would not do: it passes over what is marked
    frame.caption(body);
    answers.replaceChildren(...(body.alternatives.length ? [h('p.heading', 'Top answers')] : []),
      ...body.alternatives.map(drawAnswer));
    mark(body.chosen);
  }

  // ---- the text

  /** Mark the spans, and in place of those that it covers an answer, if one is chosen. */
  function mark(place) {
    answers.querySelectorAll('.answer')
      .forEach((node, other) => node.setAttribute('aria-pressed', String(other === place)));
    const answer = payload.alternatives[place];
    marks = !answer?.text ? payload.spans
      : [...payload.spans.filter((span) => span.end <= answer.start || span.start >= answer.end),
        { ...answer, label: ANSWER, score: answer.probability }].sort((one, other) => one.start - other.start);
    const types = [...new Set([...payload.spans.map(({ label }) => label), ANSWER])]; // in the order of their colors
    const kindOf = (type) => `kind-${types.indexOf(type) % 4}`;
    let at = 0;
    const parts = marks.flatMap((span) => {
      const before = letters.slice(at, span.start).join('');
      at = span.end;
      // Isolated: the label must not turn with a text written from right to left. The space is for those who hear it.
      return [before, h(`mark.${kindOf(span.label)}`, h('bdi.words', textOf(span)), h('bdi.type', ` ${span.label}`))];
    });
    running.replaceChildren(...parts, letters.slice(at).join(''));
    walk.moveTo(0, false);
    running.tabIndex = marks.length ? -1 : 0; // a long text is scrolled by keys: from mark to mark, or by itself
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
    walk.moveTo(place, false);
    nodes().forEach((node, at) => node.classList.toggle('now', at === place));
    const { start, end, label, score } = marks[place];
    const sure = Number.isFinite(score) ? `, ${percent(score)}` : '';
    readout.replaceChildren(h('b', { dir: 'auto' }, textOf(marks[place])),
      `: ${label}${sure}. Characters ${whole(start)} to ${whole(end)}.`);
  }

  for (const event of ['pointermove', 'focusin']) running.addEventListener(event, ({ target }) => {
    const place = nodes().indexOf(target.closest('mark'));
    if (place >= 0) tell(place);
  });

  // ---- answers

  function drawAnswer({ text, probability, start }, place) {
    const name = text || 'no answer in this text';
    const choose = () => {
      mark(place);
      const at = marks.findIndex((span) => span.label === ANSWER && span.start === start);
      if (at < 0) return;
      tell(at);
      const top = nodes()[at].offsetTop - running.offsetTop - running.clientHeight / 3;
      running.scrollTo({ top }); // the page itself stays
    };
    return barRow(h(text ? 'span' : 'span.quiet', { dir: 'auto' }, name), probability, percent(probability),
      'button.bar-row.answer', { 'aria-pressed': 'false', 'aria-label': `${name}, ${percent(probability)}`,
        onclick: choose });
  }

  return show;
});
