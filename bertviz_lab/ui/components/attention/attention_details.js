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
  if (!server?.layer_values || !data.key) return;
  const owner = data;
  setText(note, `Fetching layer ${layer + 1} …`);
  try {
    const { codes } = (await server.layer_values(owner.key, layer)) ?? {};
    if (owner !== data) return;
    if (!codes) throw new Error(GONE);
    owner.stored.set(layer, codes);
    setText(note, '');
    overview.show(owner, look());
    chooseHead(layer, state.head);
  } catch {
    setText(note, GONE);
  }
}

// ---- query times key, dimension by dimension

/** `ask(layer, head, row, column)` answers with the payload of a chart, or null. */
function makePair(host, ask) {
  const words = h('p', {});
  const plot = h('div');
  const details = h('details', { 'data-noexport': '' }, h('summary', {}, 'Why this weight? The query-key product, dimension by dimension'), words, plot);
  const chart = makeChart(plot);
  host.append(details);
  let wanted = null;
  let shown = '';

  async function draw() {
    const key = JSON.stringify(wanted);
    if (!details.open || !wanted || key === shown) return;
    shown = key;
    const { layer, head, row, column, tokens } = wanted;
    const answer = await ask(layer, head, row, column);
    if (key !== JSON.stringify(wanted)) return;
    setText(words, answer ? '' : GONE);
    plot.hidden = !answer;
    if (answer) chart.show({ ...answer, title: `Query of ${tokens[row]} times key of ${tokens[column]}` });
    else shown = '';
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
