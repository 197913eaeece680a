// What the model says at the step of the slider: the sentence with its masked tokens filled, bars, and the tracked
// words over time.

import { choices, h } from 'lab/client/dom.js';
import { percent, short, whole } from 'lab/client/format.js';
import { pictureOf, saveButtons, savePng, saveSvg } from 'lab/client/picture.js';
import { saveCsv } from 'lab/client/saving.js';
import { makeTimeline } from 'lab/views/dynamics/timeline.js';

export const readable = (token) => token.replace(/^##/, '').replace(/^[Ġ▁]/u, '');
const joins = (token) => token.startsWith('##') || /^[^\p{L}\p{N}[(“"'$]+$/u.test(token);

/** The tokens as a sentence; `write(token, position)` returns the node of each. */
export function sentenceNodes({ tokens, special }, write) {
  const nodes = [];
  const tight = !tokens.some((token) => /^[Ġ▁]/u.test(token)); // the marks of byte-level pieces say where words begin
  tokens.forEach((token, position) => {
    if (special[position]) {
      if (nodes.length && position < tokens.length - 1) nodes.push(
        h('span', { class: 'seam', title: 'sentence B starts here' }, '|'));
      return;
    }
    const apart = tight ? !joins(token) : /^[Ġ▁]/u.test(token) || token === '[MASK]';
    if (nodes.length && apart) nodes.push(' ');
    nodes.push(write(token, position));
  });
  return nodes;
}

/** A name, a bar, a share; made once and then only changed. */
function makeGuess() {
  const name = h('span', { class: 'name mono' });
  const fill = h('span', { class: 'fill' });
  const share = h('span', { class: 'share' });
  const node = h('div', { class: 'guess bar-row' }, name, h('span', { class: 'track' }, fill), share);
  return { node, show(text, value, paint, number = false) {
    name.textContent = text;
    fill.style.width = `${100 * Math.min(1, Math.max(0, value))}%`;
    fill.style.background = paint;
    name.style.color = paint;
    share.textContent = number ? short(value) : percent(value);
  } };
}

export function makePredictions(scene, onJump) {
  const look = { blank: 0, kind: 'tracked' };
  const sentence = h('p', { class: 'sentence' });
  const title = h('p', { class: 'heading' });
  const bars = h('div', { class: 'guesses' });
  const follows = h('div', { class: 'guesses' });
  const blankChoice = h('div', { 'data-noexport': '' });
  const kindChoice = choices('', [['tracked', 'probability', 'The predicted probability of each word'],
    ['rank', 'rank', 'The rank of each word in the vocabulary; 1 is the top prediction']], look.kind,
      (kind) => { look.kind = kind; drawLines(); });
  const said = h('div', { class: 'said' }, bars, follows);
  const lines = makeTimeline(scene, onJump, { knobs: [kindChoice.node] });
  const picture = () =>
    pictureOf(said, `${scene.opening.title} · step ${whole(scene.shown().step)} · ${title.textContent}`);
  const saves = saveButtons('this picture', { PNG: () => savePng('predictions.png', picture()),
    SVG: () => saveSvg('predictions.svg', picture()),
    CSV: () => saveCsv('predictions.csv', [['step', 'masked_token', 'rank', 'token', 'probability'],
      ...scene.frames.all().flatMap(({ step, masked_tokens }) => masked_tokens.flatMap(({ candidates }, number) =>
        candidates.map(([token, probability], rank) => [step, number + 1, rank + 1, token, probability])))]) });
  const watched = h('div', { class: 'watched' }, lines.node);
  const node = h('div', {}, sentence, h('div', { class: 'two tiles' },
    h('div', { class: 'part' }, h('div', { class: 'bar' }, title, blankChoice, saves), said), watched));
  let [holes, rows, nextRow] = [[], [], null];

  function begin() {
    const first = scene.frames.nearest(scene.opening.steps.length - 1);
    look.blank = Math.min(look.blank, Math.max(0, first.masked_tokens.length - 1));
    const choose = (place) => {
      look.blank = Number(place);
      move(scene.shown());
      drawLines();
      scene.drawFold('lens');
    };
    blankChoice.replaceChildren(...(first.masked_tokens.length > 1
      ? [choices('Masked token', first.masked_tokens.map((_, place) =>
      [String(place), String(place + 1), `Masked token ${place + 1}`]), String(look.blank), choose).node] : []));
    holes = [];
    sentence.replaceChildren(...sentenceNodes(scene.opening, (token, position) => {
      const blank = first.masked_tokens.findIndex((one) => one.position === position);
      if (blank < 0) return h('span', {}, readable(token));
      holes[blank] = h('span', { class: 'hole' });
      return holes[blank];
    }));
    const count = first.masked_tokens.length ? first.masked_tokens[0].candidates.length : first.labels.length;
    rows = Array.from({ length: count }, () => makeGuess());
    bars.replaceChildren(...rows.map((row) => row.node));
    nextRow = first.is_next === null ? null : makeGuess();
    follows.replaceChildren(...(nextRow ? [h('p', { class: 'heading' }, 'Does sentence B follow A? (NSP)'),
      nextRow.node] : []));
    kindChoice.node.hidden = scene.opening.follows !== 'words';
    watched.hidden = !scene.opening.follows;
  }

  const paintOf = (place) => scene.opening.charts.tracked.keys[place]?.[1] ?? '';

  /** Only texts and widths change here: this is what dragging waits for. */
  function move(frame) {
    frame.masked_tokens.forEach(({ candidates: [[token, probability]] }, place) => {
      holes[place].textContent = readable(token);
      holes[place].style.setProperty('--sure', `${Math.round(15 + 85 * probability)}%`);
      holes[place].title = `Probability ${percent(probability)}`;
    });
    const blank = frame.masked_tokens[look.blank];
    if (blank) {
      title.textContent = frame.masked_tokens.length > 1 ? `Predictions for masked token ${look.blank + 1}`
        : 'Predictions';
      rows.forEach((row, place) => {
        const [token, probability] = blank.candidates[place];
        row.show(readable(token), probability, paintOf(scene.opening.watched.indexOf(token)));
      });
    } else if (frame.labels.length) {
      title.textContent = scene.opening.labels.length > 1 ? 'Predicted label' : 'Predicted value';
      rows.forEach((row, place) => row.show(scene.opening.labels[place], frame.labels[place], paintOf(place),
        scene.opening.labels.length === 1));
    } else if (frame.words.length) {
      title.textContent = 'Predicted labels';
      bars.replaceChildren(h('p', { class: 'tagged' }, ...frame.words
        .flatMap(([label, sure], place) => [h('span', { class: label === 'O' ? 'tag' : 'tag tinted kind-0',
        title: `${label}, ${percent(sure)}` }, scene.opening.words[place], h('small', {}, label)), ' '])));
    } else if (frame.answer) {
      title.textContent = 'Predicted answer';
      bars.replaceChildren(h('p', { class: 'answer' }, frame.answer.none ? '(none)' : frame.answer.text),
        h('p', { class: 'quiet' },
        `Its best span has ${percent(frame.answer.probability)}.`));
    } else {
      title.textContent = frame.is_next === null ? 'No masked token in this sentence' : '';
      bars.replaceChildren(h('p', { class: 'quiet' }, frame.is_next === null
        ? 'Put [MASK] in place of a word to see how its prediction develops.' : ''));
    }
    nextRow?.show(frame.is_next > 0.5 ? 'is next' : 'not next', Math.max(frame.is_next, 1 - frame.is_next), '');
    lines.moveTo(scene.current.index);
  }

  /** What is followed over the steps, from a frame and the place of its line. */
  function follow(frame, place) {
    const way = look.kind === 'rank' ? 1 : 0;
    if (scene.opening.follows === 'words') return frame.masked_tokens[look.blank]?.watched[place]?.[way];
    if (scene.opening.follows === 'next') return frame.is_next;
    return scene.opening.follows === 'answer' ? frame.answer.probability : frame.labels[place];
  }

  function drawLines() {
    if (!scene.opening.follows) return;
    lines.show(scene.opening.charts[scene.opening.follows === 'words' ? look.kind : 'tracked'], scene.opening.names
      .map((_, place) => scene.frames.over((frame) => follow(frame, place))));
  }

  /** The same in a few words, for a screen reader. */
  function words(frame) {
    const told = frame.masked_tokens.map(({ candidates: [[token, probability]] }) =>
      `${readable(token)} ${percent(probability, 0)}`);
    if (frame.labels.length > 1) {
      const best = frame.labels.indexOf(Math.max(...frame.labels));
      told.push(`${scene.opening.labels[best]} ${percent(frame.labels[best], 0)}`);
    }
    if (frame.is_next !== null) told.push(
      `B ${frame.is_next > 0.5 ? 'follows' : 'does not follow'} A ${percent(Math.max(frame.is_next, 1 - frame.is_next),
      0)}`);
    return told.join(', ');
  }

  return { node, begin, move, drawLines, words, look };
}
