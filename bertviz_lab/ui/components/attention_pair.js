// Why one token looks at another: query times key, dimension by dimension.

/** `ask(layer, head, row, column)` answers with {products, score, weight, rest} or null. */
function makePair(host, ask) {
  const words = h('p', {});
  const plot = h('div', { class: 'products' });
  const read = h('p', { class: 'quiet small', 'aria-live': 'polite' });
  const details = h('details', { 'data-noexport': '' }, h('summary', {}, 'Why this weight? The query-key product, dimension by dimension'), words, plot, read);
  host.append(details);
  let wanted = null;
  let shown = '';

  async function draw() {
    const key = JSON.stringify(wanted);
    if (!details.open || !wanted || key === shown) return;
    shown = key;
    const { layer, head, row, column, tokens } = wanted;
    const found = await ask(layer, head, row, column);
    if (key !== JSON.stringify(wanted)) return;
    plot.replaceChildren();
    read.textContent = '';
    if (!found) {
      words.textContent = GONE;
      shown = '';
      return;
    }
    words.replaceChildren(h('b', { class: 'mono' }, tokens[row]), ': its query times the key of ', h('b', { class: 'mono' }, tokens[column]),
      `: the ${found.products.length} products sum to a score of ${found.score.toFixed(2)}; the softmax over all tokens `
      + `turns it into the weight ${found.weight.toFixed(4)}.`);
    const values = found.products;
    const names = values.map((value, place) => `dimension ${place + 1}: query ${short(found.query[place])} × key ${short(found.key[place])}`
      + ` / √${values.length} = ${short(value)}`);
    const peak = largest(values);
    const { node, items } = drawColumns({ values, words: names, peak }, Math.max(260, host.clientWidth));
    plot.replaceChildren(node);
    node.addEventListener('pointermove', (event) => {
      const item = event.target.closest?.('[data-item]');
      if (item) read.textContent = items[Number(item.dataset.item)].words;
    });
    const strongest = values.map((value, place) => [Math.abs(value), place]).sort((one, other) => other[0] - one[0]);
    read.textContent = `Largest: ${names[strongest[0][1]]}.`;
  }

  details.addEventListener('toggle', draw);
  return {
    /** Another pair; null where there is none, as in an average of heads. */
    show(pair) {
      wanted = pair;
      details.hidden = pair === null;
      draw();
    },
  };
}
