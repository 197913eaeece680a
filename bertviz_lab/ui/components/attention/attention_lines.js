// Some tokens look around: the same tokens left and right, and a line for each weight of their rows.

import { h, nextByArrow, svg } from 'lab/client/dom.js';

/** `onPick(row, more)`: a token on the left was chosen; with `more` in addition to those already chosen. */
export function makeLines(host, onPick) {
  const left = h('div', { class: 'side from', role: 'listbox', 'aria-multiselectable': 'true',
    'aria-label': 'The attending tokens; Control and click, or Space, to select several' });
  const right = h('div', { class: 'side to', 'aria-hidden': 'true' });
  const drawing = svg('svg', { preserveAspectRatio: 'none', 'aria-hidden': 'true' });
  const frame = h('div', { class: 'frame' }, left, drawing, right);
  host.append(h('div', { class: 'ends quiet', 'aria-hidden': 'true' }, h('span', {}, 'from'), h('span', {}, 'to')),
    frame);
  const ROW = 24; // pixels, as in the style sheet
  let data = null;
  let names = '';
  let current = 0; // where the keyboard is

  function build() {
    const item = (token, index, role) => h('div', { class: `item mono small seg-${segmentLetter(data.segments[index])}`,
      role,
      'data-index': index, title: token }, h('span', { class: 'cut' }, token));
    left.replaceChildren(...data.tokens.map((token, index) => item(token, index, 'option')));
    right.replaceChildren(...data.tokens.map((token, index) => item(token, index, null)));
    drawing.setAttribute('viewBox', `0 0 100 ${ROW * data.size}`);
    drawing.style.height = `${ROW * data.size}px`;
    current = Math.min(current, data.size - 1);
  }

  const segmentLetter = (segment) => (segment === 1 ? 'b' : 'a');

  /** Lines from each chosen row; on the right the sum of what the rows give to a token. */
  function draw(weights, rows, place, signed) {
    [...left.children].forEach((item, index) => {
      item.setAttribute('aria-selected', String(rows.includes(index)));
      item.setAttribute('tabindex', index === current ? '0' : '-1');
    });
    const sums = new Float32Array(data.size);
    const paths = [];
    for (const row of rows) {
      const from = (row + 0.5) * ROW;
      for (let column = 0; column < data.size; column += 1) {
        const weight = weights[row * data.size + column];
        if (Number.isNaN(weight)) continue;
        sums[column] += weight;
        const strength = Math.min(1, place(Math.abs(weight)));
        if (strength < 0.01) continue;
        const to = (column + 0.5) * ROW;
        paths.push(svg('path', { d: `M0 ${from}C45 ${from} 55 ${to} 100 ${to}`, 'stroke-opacity': strength.toFixed(3),
          'stroke-width': (1 + 3 * strength).toFixed(2), class: signed && weight < 0 ? 'less' : null }));
      }
    }
    drawing.replaceChildren(...paths);
    sums.forEach((sum, column) => {
      const strength = Math.min(1, place(Math.abs(sum) / rows.length));
      right.children[column].style.setProperty('--share', `${(55 * strength).toFixed(1)}%`);
      right.children[column].title = `${data.tokens[column]}: ${(sum * (data.unit ?? 1)).toFixed(4)}${rows.length > 1
        ? ' in sum' : ''}`;
    });
  }

  function pick(index, more) {
    current = index;
    onPick(index, more);
    left.children[index].focus({ preventScroll: true });
  }

  left.addEventListener('click', (event) => {
    const item = event.target.closest('[data-index]');
    if (item) pick(Number(item.dataset.index), event.ctrlKey || event.metaKey || event.shiftKey);
  });
  left.addEventListener('keydown', (event) => {
    if (event.key === ' ') {
      event.preventDefault();
      pick(current, true);
      return;
    }
    const next = nextByArrow(event.key, current, data.size);
    if (next === null) return;
    event.preventDefault();
    if (event.ctrlKey) {
      current = next;
      [...left.children].forEach((item, index) => item.setAttribute('tabindex', index === next ? '0' : '-1'));
      left.children[next].focus();
    } else {
      pick(next, event.shiftKey);
    }
  });

  return {
    show(newData, weights, rows, place) {
      data = newData;
      // Rebuilding costs more than redrawing: only for other tokens.
      const newNames = JSON.stringify([data.tokens, data.segments]);
      if (newNames !== names) build();
      names = newNames;
      draw(weights, rows, place, data.signed);
    },
  };
}
