// Some tokens look around: the same tokens left and right, and a line for each weight of their rows.

import { h, svg, walkWithKeys } from 'lab/client/dom.js';

/** `onPick(row, more)`: a token on the left was chosen; with `more` in addition to those already chosen. */
export function makeLines(host, onPick) {
  const ROW = 24; // pixels, as in the style sheet
  const left = h('div.side.from', { role: 'listbox', 'aria-multiselectable': 'true',
    'aria-label': 'The attending tokens; Control and click, or Space, to select several' });
  const right = h('div.side.to', { 'aria-hidden': 'true' });
  const drawing = svg('svg', { preserveAspectRatio: 'none', 'aria-hidden': 'true' });
  host.append(h('div.ends.quiet', { 'aria-hidden': 'true' }, h('span', 'from'), h('span', 'to')),
    h('div.frame', left, drawing, right));
  let names = '';
  const walk = walkWithKeys(left, {
    choose: (row, { key, ctrlKey, metaKey, shiftKey }) => onPick(row, key === ' ' || ctrlKey || metaKey || shiftKey),
    onMove: (row, { ctrlKey, shiftKey }) => ctrlKey || onPick(row, shiftKey),
  });

  function build({ tokens, segments, size }) {
    const item = (role) => (token, index) => h(`div.item.mono.small.seg-${segments[index] === 1 ? 'b' : 'a'}`,
      { role, title: token }, h('span.cut', token));
    left.replaceChildren(...tokens.map(item('option')));
    right.replaceChildren(...tokens.map(item(null)));
    drawing.setAttribute('viewBox', `0 0 100 ${ROW * size}`);
    drawing.style.height = `${ROW * size}px`;
    walk.moveTo(Math.min(walk.current, size - 1), false);
  }

  /** Lines from each chosen row; on the right the sum of what the rows give to a token. */
  return function show(data, weights, rows, place) {
    // Rebuilding costs more than redrawing: only for other tokens.
    const newNames = JSON.stringify([data.tokens, data.segments]);
    if (newNames !== names) build(data);
    names = newNames;
    [...left.children].forEach((item, index) => item.setAttribute('aria-selected', String(rows.includes(index))));
    const sums = new Float32Array(data.size);
    const paths = [];
    for (const row of rows) {
      const from = (row + 0.5) * ROW;
      weights.subarray(row * data.size, (row + 1) * data.size).forEach((weight, column) => {
        if (Number.isNaN(weight)) return;
        sums[column] += weight;
        const strength = Math.min(1, place(Math.abs(weight)));
        if (strength < 0.01) return;
        const to = (column + 0.5) * ROW;
        paths.push(svg('path', { d: `M0 ${from}C45 ${from} 55 ${to} 100 ${to}`, 'stroke-opacity': strength.toFixed(3),
          'stroke-width': (1 + 3 * strength).toFixed(2), class: data.signed && weight < 0 ? 'less' : null }));
      });
    }
    drawing.replaceChildren(...paths);
    sums.forEach((sum, column) => {
      const item = right.children[column];
      item.style.setProperty('--share', `${(55 * Math.min(1, place(Math.abs(sum) / rows.length))).toFixed(1)}%`);
      item.title = `${data.tokens[column]}: ${(sum * (data.unit ?? 1)).toFixed(4)}${rows.length > 1 ? ' in sum' : ''}`;
    });
  };
}
