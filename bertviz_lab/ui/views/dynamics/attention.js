// Attention at the step of the slider: all heads small, one of them large, and what that one does in words.

import { h } from 'lab/client/dom.js';
import { percent, whole } from 'lab/client/format.js';
import { pictureOf, saveButtons, savePng, saveSvg } from 'lab/client/picture.js';
import { saveCsv } from 'lab/client/saving.js';
import { NO_LENS, headWeights, peakOf, throughLens } from 'lab/components/attention/attention_data.js';
import { makeHeatmap } from 'lab/components/attention/attention_heatmap.js';
import { makeOverview } from 'lab/components/attention/attention_overview.js';
import { attentionOf } from 'lab/views/dynamics/frames.js';

export const SHARES = { previous: 'to the previous token', next: 'to the next token', same: 'to the token itself',
  special: 'to special tokens',
  across: 'to the other sentence' };

export function makeAttention(scene, onHead) {
  const gridHost = h('div', { class: 'grid', role: 'grid',
    'aria-label': 'All heads; arrow keys move, each choice shows the head in detail' });
  const mapHost = h('div', { class: 'map' });
  const headName = h('p', { class: 'heading' });
  const does = h('p', { class: 'quiet' });
  const readout = h('p', { class: 'readout', 'aria-live': 'polite' });
  const state = { layer: 0, head: 0, row: 1, column: 0 };
  let [data, frame] = [null, null];
  let settled = false; // somebody, or a link, has chosen the head and the row
  const overview = makeOverview(gridHost, (layer, head) => choose(layer, head), () => {});
  const heatmap = makeHeatmap(mapHost, move);
  const SCALE = 'Colors: square-root scale from 0 to 1, which makes small weights visible.';

  const caption = () => `${scene.opening.title} · step ${whole(frame.step)} · ${headName.textContent}`;
  const file = () => `attention-step${frame.step}-layer${state.layer + 1}-head${state.head + 1}`;
  const saveGrid = saveButtons('the picture of all heads', {
    PNG: () => 
      savePng(`attention-step${frame.step}.png`,
        pictureOf(gridHost, `${scene.opening.title} · step ${whole(frame.step)} · ${SCALE}`), 4) });
  const saveHead = saveButtons('this head', {
    PNG: () => savePng(`${file()}.png`, heatmap.picture(caption(), SCALE)),
    SVG: () => saveSvg(`${file()}.svg`, heatmap.picture(caption(), SCALE)),
    CSV: () => saveCsv(`${file()}.csv`, [['from_position', 'from', 'to_position', 'to', 'weight'],
      ...Array.from(headWeights(data, state.layer, state.head),
      (weight, place) => [Math.floor(place / data.size), data.tokens[Math.floor(place / data.size)], place % data.size,
        data.tokens[place % data.size],
        Number(weight.toFixed(4))])]) });
  const node = h('div', { class: 'lab-attention' }, h('div', { class: 'split' },
    h('div', { class: 'all' }, h('div', { class: 'bar' }, h('p', { class: 'heading' }, 'Attention of every head'),
      saveGrid), gridHost,
      h('p', { class: 'quiet small' },
        'Layers go down, heads across. Rows attend, columns are attended to; yellow is a weight of 1.')),
    h('div', { class: 'one' }, h('div', { class: 'bar' }, headName, saveHead), does, mapHost, readout)));

  /** What is looked at first: the head that looks most at a neighbour in the end, and the first blank. */
  function begin(last, linked) {
    settled ||= linked;
    if (!settled) {
      const heads = last.metrics.previous.flatMap((row, layer) => row
        .map((share, head) => [Math.max(share, last.metrics.next[layer][head]), layer, head]));
      [, state.layer, state.head] = heads.sort((one, other) => other[0] - one[0])[0];
    }
    if (last.masked_tokens.length) state.row = last.masked_tokens[0].position;
    state.layer = Math.min(state.layer, scene.opening.layers - 1);
    state.head = Math.min(state.head, scene.opening.heads - 1);
    state.row = Math.min(state.row, scene.opening.tokens.length - 1);
    const data = attentionOf(scene, last);
    const row = headWeights(data, state.layer, state.head).subarray(state.row * data.size, (state.row + 1) * data.size);
    state.column = row.indexOf(Math.max(...row));
  }

  function choose(layer, head) {
    settled = true;
    Object.assign(state, { layer, head });
    overview.mark(layer, head);
    drawHead();
    onHead(state);
  }

  function draw(newFrame) {
    frame = newFrame;
    data = attentionOf(scene, frame);
    overview.show(data, { scale: 'sqrt', lens: NO_LENS, order: '' });
    overview.mark(state.layer, state.head);
    drawHead();
  }

  function drawHead() {
    headName.textContent = `Layer ${state.layer + 1}, head ${state.head + 1}`;
    does.textContent = frame.joined[state.layer] === false
      ? 'This layer has not joined the training yet (progressive stacking): its heads add nothing.' : headWords(frame,
      state.layer, state.head);
    heatmap.show(data, { name: headName.textContent, weights: throughLens(data, headWeights(data, state.layer,
      state.head), NO_LENS, state.layer),
      peak: peakOf(data, state.layer, state.head), scale: 'sqrt' }, state.row, state.column);
    tell(state.row, state.column);
  }

  function move(row, column, chosen) {
    if (row === null) {
      heatmap.moveTo(state.row, state.column);
      tell(state.row, state.column);
      return;
    }
    if (chosen) Object.assign(state, { row, column });
    tell(row, column);
  }

  function tell(row, column) {
    const weight = headWeights(data, state.layer, state.head)[row * data.size + column];
    readout.replaceChildren('from ', h('b', {}, data.tokens[row]), ' to ', h('b', {}, data.tokens[column]), ': ',
      percent(weight, weight < 0.1 ? 1 : 0), ' of its attention');
  }

  /** What a head does most, in words: its shares of attention, the largest first. */
  function headWords({ metrics }, layer, head) {
    const shares = Object.keys(SHARES).filter((name) => name !== 'across' || scene.opening.segments.includes(1))
      .map((name) => [metrics[name][layer][head], SHARES[name]]).sort((one, other) => other[0] - one[0]);
    const most = shares.filter(([share], place) => place === 0 || share >= 0.1).slice(0, 3);
    return `Attention: ${most.map(([share, where]) => `${percent(share, 0)} ${where}`).join(', ')}; mean distance ${
      metrics.distance[layer][head].toFixed(1)} tokens.`;
  }

  return { node, begin, draw, choose, state };
}
