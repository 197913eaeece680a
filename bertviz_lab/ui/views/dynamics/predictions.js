// What the model says at the step of the slider: the sentence with its masked tokens filled, bars, and the tracked
// words over time.

import { choices, elements, h } from 'lab/client/dom.js';
import { percent, short, whole } from 'lab/client/format.js';
import { pictureOf, saveDrawing } from 'lab/client/saving.js';
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
        h('span.seam', { title: 'sentence B starts here' }, '|'));
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
  const [name, fill, share] = elements('span.name.mono', 'span.fill', 'span.share');
  const node = h('div.guess.bar-row', name, h('span.track', fill), share);
  return { node, show(text, value, paint = '', write = percent) {
    name.textContent = text;
    fill.style.width = `${100 * Math.min(1, Math.max(0, value))}%`;
    fill.style.background = name.style.color = paint;
    share.textContent = write(value);
  } };
}

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
    picture: () => pictureOf(said, `${scene.opening.title} · step ${whole(scene.shown().step)} · ${title.textContent}`),
    rows: () => [['step', 'masked_token', 'rank', 'token', 'probability'],
      ...scene.frames.all().flatMap(({ step, masked_tokens }) => masked_tokens.flatMap(({ candidates }, number) =>
        candidates.map(([token, probability], rank) => [step, number + 1, rank + 1, token, probability])))],
  });
  const watched = h('div.watched', lines.node);
  const node = h('div', sentence, h('div.two.tiles',
    h('div.part', h('div.bar', title, blankChoice, saves), said), watched));
  let [holes, rows, nextRow] = [[], [], null];

  function begin() {
    const { masked_tokens: masked, labels, is_next } = scene.frames.nearest(scene.opening.steps.length - 1);
    look.blank = Math.min(look.blank, Math.max(0, masked.length - 1));
    const choose = (place) => {
      look.blank = Number(place);
      move(scene.shown());
      drawLines();
      scene.drawFold('lens');
    };
    const blanks = masked.map((_, place) => [String(place), String(place + 1), `Masked token ${place + 1}`]);
    blankChoice.replaceChildren(...(masked.length > 1
      ? [choices('Masked token', blanks, String(look.blank), choose).node] : []));
    holes = masked.map(() => h('span.hole'));
    sentence.replaceChildren(...sentenceNodes(scene.opening, (token, position) =>
      holes[masked.findIndex((one) => one.position === position)] ?? h('span', readable(token))));
    rows = (masked.length ? masked[0].candidates : labels).map(() => makeGuess());
    bars.replaceChildren(...rows.map((row) => row.node));
    nextRow = is_next === null ? null : makeGuess();
    follows.replaceChildren(...(nextRow ? [h('p.heading', 'Does sentence B follow A? (NSP)'), nextRow.node] : []));
    kindChoice.node.hidden = scene.opening.follows !== 'words';
    watched.hidden = !scene.opening.follows;
  }

  const paintOf = (place) => scene.opening.charts.tracked.keys[place]?.[1];

  /** Only texts and widths change here: this is what dragging waits for. */
  function move({ masked_tokens: masked, labels, words: tags, answer, is_next }) {
    const { opening } = scene;
    masked.forEach(({ candidates: [[token, probability]] }, place) => {
      holes[place].textContent = readable(token);
      holes[place].style.setProperty('--sure', `${Math.round(15 + 85 * probability)}%`);
      holes[place].title = `Probability ${percent(probability)}`;
    });
    const tell = (heading, ...nodes) => {
      title.textContent = heading;
      if (nodes.length) bars.replaceChildren(...nodes);
    };
    if (masked.length) {
      tell(masked.length > 1 ? `Predictions for masked token ${look.blank + 1}` : 'Predictions');
      masked[look.blank].candidates.forEach(([token, probability], place) =>
        rows[place].show(readable(token), probability, paintOf(opening.watched.indexOf(token))));
    } else if (labels.length) {
      const isClass = opening.labels.length > 1;
      tell(isClass ? 'Predicted label' : 'Predicted value');
      rows.forEach((row, place) => row.show(opening.labels[place], labels[place], paintOf(place),
        isClass ? percent : short));
    } else if (tags.length) {
      tell('Predicted labels', h('p.tagged', ...tags.flatMap(([label, sure], place) => [
        h('span', { class: label === 'O' ? 'tag' : 'tag tinted kind-0', title: `${label}, ${percent(sure)}` },
          opening.words[place], h('small', label)), ' '])));
    } else if (answer) {
      tell('Predicted answer', h('p.answer', answer.none ? '(none)' : answer.text),
        h('p.quiet', `Its best span has ${percent(answer.probability)}.`));
    } else if (is_next === null) {
      tell('No masked token in this sentence', h('p.quiet',
        'Put [MASK] in place of a word to see how its prediction develops.'));
    } else tell('', h('p.quiet'));
    nextRow?.show(is_next > 0.5 ? 'is next' : 'not next', Math.max(is_next, 1 - is_next));
    lines.move();
  }

  /** What is followed over the steps, from a frame and the place of its line. */
  function follow(frame, place) {
    switch (scene.opening.follows) {
      case 'words': return frame.masked_tokens[look.blank]?.watched[place]?.[look.kind === 'rank' ? 1 : 0];
      case 'next': return frame.is_next;
      case 'answer': return frame.answer.probability;
      default: return frame.labels[place];
    }
  }

  function drawLines() {
    const { charts, follows: kind, names } = scene.opening;
    if (!kind) return;
    lines.show(charts[kind === 'words' ? look.kind : 'tracked'],
      names.map((_, place) => scene.frames.over((frame) => follow(frame, place))));
  }

  /** The same in a few words, for a screen reader. */
  function words({ masked_tokens: masked, labels, is_next }) {
    const told = masked.map(({ candidates: [[token, probability]] }) =>
      `${readable(token)} ${percent(probability, 0)}`);
    if (labels.length > 1) {
      const best = labels.indexOf(Math.max(...labels));
      told.push(`${scene.opening.labels[best]} ${percent(labels[best], 0)}`);
    }
    if (is_next !== null) told.push(`B ${is_next > 0.5 ? 'follows' : 'does not follow'} A ${
      percent(Math.max(is_next, 1 - is_next), 0)}`);
    return told.join(', ');
  }

  return { node, begin, move, drawLines, words, look };
}
