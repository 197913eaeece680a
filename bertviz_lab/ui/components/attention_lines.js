// One token looks around: the same tokens left and right, and a line for each weight of its row.

/** `onPick(row)`: another token on the left was chosen. */
function makeLines(host, onPick) {
  const left = h('div', { class: 'side from', role: 'listbox', 'aria-label': 'The token that looks' });
  const right = h('div', { class: 'side to', 'aria-hidden': 'true' });
  const drawing = svg('svg', { preserveAspectRatio: 'none', 'aria-hidden': 'true' });
  const frame = h('div', { class: 'frame' }, left, drawing, right);
  host.append(h('div', { class: 'ends', 'aria-hidden': 'true' }, h('span', {}, 'from'), h('span', {}, 'to')), frame);
  const ROW = 24; // pixels, as in the style sheet
  let data = null;
  let names = '';
  let picked = 0;
  let paths = [];

  function build() {
    const item = (token, index, role) => h('div', { class: `item seg-${segmentLetter(data.segments[index])}`, role,
      'data-index': index, title: token }, h('span', {}, token));
    left.replaceChildren(...data.tokens.map((token, index) => item(token, index, 'option')));
    right.replaceChildren(...data.tokens.map((token, index) => item(token, index, null)));
    paths = data.tokens.map(() => svg('path'));
    drawing.setAttribute('viewBox', `0 0 100 ${ROW * data.size}`);
    drawing.style.height = `${ROW * data.size}px`;
    drawing.replaceChildren(...paths);
    picked = Math.min(picked, data.size - 1);
  }

  const segmentLetter = (segment) => (segment === 1 ? 'b' : 'a');

  function draw(layer, head, row, place) {
    left.children[picked]?.setAttribute('aria-selected', 'false');
    left.children[picked]?.setAttribute('tabindex', '-1');
    picked = row;
    left.children[picked].setAttribute('aria-selected', 'true');
    left.children[picked].setAttribute('tabindex', '0');
    const from = (row + 0.5) * ROW;
    for (let column = 0; column < data.size; column += 1) {
      const weight = weightAt(data, layer, head, row, column);
      const strength = Math.min(1, place(weight));
      const to = (column + 0.5) * ROW;
      const path = paths[column];
      path.setAttribute('d', `M0 ${from}C45 ${from} 55 ${to} 100 ${to}`);
      path.setAttribute('stroke-opacity', strength.toFixed(3));
      path.setAttribute('stroke-width', (1 + 3 * strength).toFixed(2));
      right.children[column].style.setProperty('--share', `${(55 * strength).toFixed(1)}%`);
      right.children[column].title = `${data.tokens[column]}: ${weight.toFixed(4)}`;
    }
  }

  left.addEventListener('click', (event) => {
    const item = event.target.closest('[data-index]');
    if (!item) return;
    onPick(Number(item.dataset.index));
    item.focus({ preventScroll: true });
  });
  left.addEventListener('keydown', (event) => {
    const next = nextByArrow(event.key, picked, data.size);
    if (next === null) return;
    event.preventDefault();
    onPick(next);
    left.children[next].focus();
  });

  return {
    show(newData, layer, head, row, place) {
      data = newData;
      // Rebuilding costs more than redrawing: only for other tokens.
      const newNames = JSON.stringify([data.tokens, data.segments]);
      if (newNames !== names) build();
      names = newNames;
      draw(layer, head, row, place);
    },
    frame,
  };
}
