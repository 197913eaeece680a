// What the model says at the step of the slider: the sentence with its masked tokens filled, bars, and the tracked
// words over time.

import { barRow, choices, elements, h } from 'lab/client/dom.js';
import { percent, readable, short } from 'lab/client/format.js';
import { pictureOf, saveDrawing } from 'lab/client/saving.js';
import { makeTimeline, sentenceNodes } from 'lab/views/dynamics/charts.js';

export function makePredictions(scene) {
  const look = { blank: 0, kind: 'tracked' };
  const [sentence, title, bars, follows] = elements('p.sentence', 'p.heading', 'div.guesses', 'div.guesses');
  const blankChoice = h('div', { 'data-noexport': '' });
  const kindChoice = choices('', [['tracked', 'probability', 'The predicted probability of each word'],
    ['rank', 'rank', 'The rank of each word in the vocabulary; 1 is the top prediction']], look.kind, (kind) => {
    look.kind = kind;
    drawLines();
  });
  const said = h('div.said', bars, follows);
  const lines = makeTimeline(scene, { knobs: [kindChoice.node] });
  const saves = saveDrawing('this picture', () => 'predictions', {
    picture: () => pictureOf(said, [scene.opening.title, scene.shown().grid.title, title.textContent].join(' · ')),
    rows: () => [['step', 'masked_token', 'rank', 'token', 'probability'],
      ...scene.frames().flatMap(({ step, masked_tokens }) => masked_tokens.flatMap(({ candidates }, number) =>
        candidates.map(([token, probability], rank) => [step, number + 1, rank + 1, token, probability])))],
  });
  const watched = h('div.watched', lines.node);
  const node = h('div', sentence, h('div.two.tiles',
    h('div.part', h('div.bar', title, blankChoice, saves), said), watched));

  function begin() {
    const { masked_tokens: masked } = scene.shown();
    look.blank = Math.min(look.blank, Math.max(0, masked.length - 1));
    const names = masked.map((_, place) => [String(place), String(place + 1), `Masked token ${place + 1}`]);
    blankChoice.replaceChildren(masked.length < 2 ? '' : choices('Masked token', names, String(look.blank), (place) => {
      look.blank = Number(place);
      move(scene.shown());
      drawLines();
      scene.drawFold('lens');
    }).node);
    kindChoice.node.hidden = scene.opening.follows !== 'words';
    watched.hidden = !scene.opening.follows;
  }

  /** A bar; the one of a line that is followed has its color. */
  function bar(name, share, line, write = percent) {
    const paint = scene.charts.tracked.keys[line]?.[1];
    return barRow(h('span.mono', name), Math.min(1, Math.max(0, share)), write(share), 'div.bar-row',
      { style: paint && `--paint: ${paint}` });
  }

  /** A heading, and what stands under it. */
  function reading({ masked_tokens: masked, labels, words, answer, is_next }) {
    const { opening } = scene;
    if (masked.length) return [masked.length > 1 ? `Predictions for masked token ${look.blank + 1}` : 'Predictions',
      ...masked[look.blank].candidates.map(([token, probability]) =>
        bar(readable(token), probability, opening.watched.indexOf(token)))];
    if (labels.length === 1) return ['Predicted value', bar(opening.labels[0], labels[0], 0, short)];
    if (labels.length) return ['Predicted label', ...labels.map((share, at) => bar(opening.labels[at], share, at))];
    if (words.length) return ['Predicted labels', h('p.tagged', ...words.flatMap(([label, sure], place) => [
      h('span', { class: label === 'O' ? 'tag' : 'tag tinted kind-0', title: `${label}, ${percent(sure)}` },
        opening.words[place], h('small', label)), ' ']))];
    if (answer) return ['Predicted answer', h('p.answer', answer.text || '(none)'),
      h('p.quiet', `Its best span has ${percent(answer.probability)}.`)];
    return is_next === null ? ['No masked token in this sentence',
      h('p.quiet', 'Put [MASK] in place of a word to see how its prediction develops.')] : [''];
  }

  function move(frame) {
    const { masked_tokens: masked, is_next: next } = frame;
    sentence.replaceChildren(...sentenceNodes(scene.opening, (text, position) => {
      const best = masked.find((one) => one.position === position)?.candidates[0];
      return best ? h('span.hole', { style: `--sure: ${Math.round(15 + 85 * best[1])}%`,
        title: `Probability ${percent(best[1])}` }, readable(best[0])) : h('span', text);
    }));
    const [heading, ...nodes] = reading(frame);
    title.textContent = heading;
    bars.replaceChildren(...nodes);
    follows.replaceChildren(...(next === null ? [] : [h('p.heading', 'Does sentence B follow A? (NSP)'),
      bar(next > 0.5 ? 'is next' : 'not next', Math.max(next, 1 - next))]));
    lines.move();
  }

  /** What is followed over the steps, from a frame: a value for each line. */
  const FOLLOWED = {
    words: (frame) => frame.masked_tokens[look.blank].watched.map((pair) => pair[look.kind === 'rank' ? 1 : 0]),
    next: ({ is_next }) => [is_next],
    answer: ({ answer }) => [answer.probability],
  };

  function drawLines() {
    const { charts, opening: { follows: kind } } = scene;
    if (kind) lines.show(charts[kind === 'words' ? look.kind : 'tracked'], FOLLOWED[kind] ?? (({ labels }) => labels));
  }

  return { node, begin, move, drawLines, look };
}
