// Attention at the step of the slider: all heads small, one of them large, and what that one does in words.

import { elements, h } from 'lab/client/dom.js';
import { percent, whole } from 'lab/client/format.js';
import { pictureOf, saveButtons, saveDrawing, savePng } from 'lab/client/saving.js';
import { NO_LENS, headWeights, peakOf, readAttention, throughLens } from 'lab/components/attention/attention_data.js';
import { makeHeatmap } from 'lab/components/attention/attention_heatmap.js';
import { makeOverview } from 'lab/components/attention/attention_overview.js';

export const SHARES = { previous: 'to the previous token', next: 'to the next token', same: 'to the token itself',
  special: 'to special tokens', across: 'to the other sentence' };

export function makeAttention(scene, onHead) {
  const gridHost = h('div.grid', { role: 'grid',
    'aria-label': 'All heads; arrow keys move, each choice shows the head in detail' });
  const [mapHost, headName, does] = elements('div.map', 'p.heading', 'p.quiet');
  const readout = h('p.readout', { 'aria-live': 'polite' });
  const state = { layer: 0, head: 0, row: 1, column: 0 };
  let [data, frame] = [null, null];
  let settled = false; // somebody, or a link, has chosen the head and the row
  const overview = makeOverview(gridHost, choose, () => {});
  const heatmap = makeHeatmap(mapHost, move);
  const SCALE = 'Colors: square-root scale from 0 to 1, which makes small weights visible.';

  const about = (what) => `${scene.opening.title} · step ${whole(frame.step)} · ${what}`;
  const file = () => `attention-step${frame.step}-layer${state.layer + 1}-head${state.head + 1}`;
  const saveGrid = saveButtons('the picture of all heads', {
    PNG: () => savePng(`attention-step${frame.step}.png`, pictureOf(gridHost, about(SCALE)), 4) });
  const saveHead = saveDrawing('this head', file, {
    picture: () => heatmap.picture(about(headName.textContent), SCALE),
    rows: () => [['from_position', 'from', 'to_position', 'to', 'weight'],
      ...Array.from(headWeights(data, state.layer, state.head), (weight, place) => {
        const [row, column] = [Math.floor(place / data.size), place % data.size];
        return [row, data.tokens[row], column, data.tokens[column], Number(weight.toFixed(4))];
      })],
  });
  const node = h('div.lab-attention', h('div.split',
    h('div.all', h('div.bar', h('p.heading', 'Attention of every head'), saveGrid), gridHost, h('p.quiet.small',
        'Layers go down, heads across. Rows attend, columns are attended to; yellow is a weight of 1.')),
    h('div.one', h('div.bar', headName, saveHead), does, mapHost, readout)));

  /** The attention of a frame in the form in which the other views of attention read it. */
  function dataOf(one) {
    const { tokens, segments, special, layers, heads, windows } = scene.opening;
    one.data ??= readAttention({ tokens, segments, special, layers, heads, windows, bits: 8, cells: one.cells,
      sent: Array.from({ length: layers }, (_, layer) => layer) });
    return one.data;
  }

  /** What is looked at first: the head that looks most at a neighbour in the end, and the first blank. */
  function begin(last, linked) {
    const { layers, heads, tokens } = scene.opening;
    settled ||= linked;
    if (!settled) {
      const { previous, next } = last.metrics;
      const all = previous.flatMap((row, layer) => row.map((share, head) =>
        [Math.max(share, next[layer][head]), layer, head]));
      [, state.layer, state.head] = all.sort((one, other) => other[0] - one[0])[0];
    }
    if (last.masked_tokens.length) state.row = last.masked_tokens[0].position;
    state.layer = Math.min(state.layer, layers - 1);
    state.head = Math.min(state.head, heads - 1);
    state.row = Math.min(state.row, tokens.length - 1);
    const weights = headWeights(dataOf(last), state.layer, state.head);
    const row = weights.subarray(state.row * tokens.length, (state.row + 1) * tokens.length);
    state.column = row.indexOf(Math.max(...row));
  }

  function choose(layer, head) {
    settled = true;
    Object.assign(state, { layer, head });
    drawHead();
    onHead(state);
  }

  function draw(newFrame) {
    frame = newFrame;
    data = dataOf(frame);
    overview.show(data, { scale: 'sqrt', lens: NO_LENS, order: '' });
    drawHead();
  }

  function drawHead() {
    const { layer, head, row, column } = state;
    overview.mark(layer, head);
    headName.textContent = `Layer ${layer + 1}, head ${head + 1}`;
    does.textContent = frame.joined[layer] === false
      ? 'This layer has not joined the training yet (progressive stacking): its heads add nothing.'
      : headWords(frame.metrics);
    heatmap.show(data, { name: headName.textContent, peak: peakOf(data, layer, head), scale: 'sqrt',
      weights: throughLens(data, headWeights(data, layer, head), NO_LENS, layer) }, row, column);
    tell(row, column);
  }

  function move(row, column, chosen) {
    if (row === null) heatmap.moveTo(state.row, state.column);
    else if (chosen) Object.assign(state, { row, column });
    tell(row ?? state.row, column ?? state.column);
  }

  function tell(row, column) {
    const weight = headWeights(data, state.layer, state.head)[row * data.size + column];
    readout.replaceChildren('from ', h('b', data.tokens[row]), ' to ', h('b', data.tokens[column]), ': ',
      percent(weight, weight < 0.1 ? 1 : 0), ' of its attention');
  }

  /** What a head does most, in words: its shares of attention, the largest first. */
  function headWords(metrics) {
    const shareOf = (name) => metrics[name][state.layer][state.head];
    const shares = Object.keys(SHARES).filter((name) => name !== 'across' || scene.opening.segments.includes(1))
      .sort((one, other) => shareOf(other) - shareOf(one));
    const most = shares.filter((name, place) => place === 0 || shareOf(name) >= 0.1).slice(0, 3);
    const words = most.map((name) => `${percent(shareOf(name), 0)} ${SHARES[name]}`).join(', ');
    return `Attention: ${words}; mean distance ${shareOf('distance').toFixed(1)} tokens.`;
  }

  return { node, begin, draw, choose, state };
}
