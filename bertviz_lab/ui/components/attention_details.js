// Details on demand: exact weights, further layers, and the query-key product behind a weight.

const GONE = 'The server no longer keeps this computation: change the text, or reload the page.';

/** Replace the rounded weights of the head on show by the exact ones, where the server has them. */
async function fetchExact() {
  const [owner, layer, head] = [data, state.layer, state.head];
  if (!server?.exact_values || !owner.key || isPrecise(owner, layer, head)) return;
  try {
    const { weights } = (await server.exact_values(owner.key, layer, head)) ?? {};
    if (!weights) return;
    owner.exact.set(headId(layer, head), weights);
    if (owner === data && state.of === 'head' && layer === state.layer && head === state.head) {
      readWeights();
      tell(state.rows[0], state.column);
      drawTop();
    }
  } catch {
    // The picture stays; the read-out keeps saying "about".
  }
}

async function askPair(layer, head, row, column) {
  try {
    const answer = await server.query_key(data.key, layer, head, row, column);
    return answer && typeof answer === 'string' ? JSON.parse(answer) : answer || null;
  } catch {
    return null;
  }
}

async function wantLayer(layer) {
  if (!server?.layer_values || !data.key) {
    trigger('layer_request', { layer });
    return;
  }
  const owner = data;
  note.hidden = false;
  note.textContent = `Fetching layer ${layer + 1} …`;
  try {
    const { codes } = (await server.layer_values(owner.key, layer)) ?? {};
    if (owner !== data) return;
    if (!codes) throw new Error(GONE);
    owner.stored.set(layer, codes);
    note.textContent = '';
    overview.show(owner, look());
    chooseHead(layer, state.head);
  } catch {
    note.textContent = GONE;
  }
}

// ---- query times key, dimension by dimension

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
