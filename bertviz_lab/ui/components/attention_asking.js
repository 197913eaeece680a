// What the attention view asks of the server: exact weights, further layers, queries and keys.

const GONE = 'The server no longer keeps this computation: change the text, or reload the page.';

/** Replace the rounded weights of the head on show by the exact ones, where the server has them. */
async function fetchExact() {
  const [owner, layer, head] = [data, state.layer, state.head];
  if (!server?.exact_values || !owner.key || isPrecise(owner, layer, head)) return;
  try {
    const text = await server.exact_values(owner.key, layer, head);
    if (!text) return;
    owner.exact.set(headId(layer, head), new Float32Array(decodeBase64(text).buffer));
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
    const text = await server.layer_values(owner.key, layer);
    if (owner !== data) return;
    if (!text) throw new Error('no answer');
    owner.stored.set(layer, decodeBase64(text));
    note.textContent = '';
    overview.show(owner, look());
    chooseHead(layer, state.head);
  } catch {
    note.textContent = GONE;
  }
}
