// Ask the server.

export const LOST = 'The server did not answer. Is it still running?';
const PATIENCE = 300; // milliseconds that a newer question leaves an older one before it is cancelled

/** A request of `fetch` that sends JSON. */
export const posted = (body) => ({
  method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body),
});

/** Return `ask(view, question, arguments, line)`, which resolves to the answer, or to undefined where a newer
 * question of the same `line` has taken its place; it throws an error whose message is for people. `answerer` is
 * {answer(ticket, view, question, arguments), cancel(ticket)}: `answer` resolves to {answer} or {error}.
 * `emit('asked' | 'answered', ticket)` reports each question. */
export function askWith(answerer, emit = () => {}) {
  const lines = new Map(); // name of a line -> { busy, next, ticket }
  return async function ask(view, question, args = {}, line = `${view}.${question}`) {
    const turn = lines.get(line) ?? { busy: false, next: null, ticket: '' };
    lines.set(line, turn);
    if (turn.busy) {
      turn.next?.(false); // replaces an older question that has not been sent yet
      const patience = setTimeout(() => answerer.cancel(turn.ticket), PATIENCE);
      const isNewest = await new Promise((resolve) => { turn.next = resolve; });
      clearTimeout(patience);
      if (!isNewest) return undefined;
    }
    const ticket = Math.random().toString(36).slice(2);
    Object.assign(turn, { busy: true, ticket });
    emit('asked', ticket);
    const { answer, error } = await answerer.answer(ticket, view, question, args);
    emit('answered', ticket);
    const { next } = turn;
    Object.assign(turn, { busy: next !== null, next: null });
    if (next) return next(true); // the line stays busy: a newer question goes on, and its answer is shown instead
    if (error) throw new Error(error);
    return answer;
  };
}

/** Read an answer of packed arrays (`to_bytes` of the server, a file of safetensors): the JSON in its metadata, and the
 * arrays as views of `buffer`. */
export function unpack(buffer) {
  const KINDS = { U8: Uint8Array, U16: Uint16Array, F32: Float32Array };
  const start = 8 + Number(new DataView(buffer).getBigUint64(0, true));
  const header = new TextDecoder().decode(new Uint8Array(buffer, 8, start - 8));
  const { __metadata__: metadata, ...arrays } = JSON.parse(header);
  const body = JSON.parse(metadata.body);
  for (const [name, { dtype, data_offsets: [from, to] }] of Object.entries(arrays))
    body[name] = new KINDS[dtype](buffer, start + from, (to - from) / KINDS[dtype].BYTES_PER_ELEMENT);
  return body;
}

/** The server: posts each question to `lab/ask`; the answer is JSON, or packed arrays. */
export const serverAnswerer = {
  async answer(ticket, view, question, args) {
    try {
      const answer = await fetch('lab/ask', posted({ ticket, view, question, arguments: args }));
      const isPacked = answer.headers.get('Content-Type') === 'application/octet-stream';
      return isPacked ? { answer: unpack(await answer.arrayBuffer()) } : await answer.json();
    } catch {
      return { error: LOST }; // or a proxy has answered with a page of its own
    }
  },
  /** Report how far a question is: {share, before, seconds}, some of them. */
  progress: async (ticket) => (await serverAnswerer.answer('', 'server', 'progress', { ticket })).answer ?? {},
  cancel: (ticket) => serverAnswerer.answer('', 'server', 'cancel', { ticket }),
};

/** What happens when a person, the computer or the network is back: clocks may have stood still meanwhile. */
const RETURNS = [[document, 'visibilitychange'], [document, 'resume'], [window, 'online']];

/** Wait between two questions, not so long where somebody comes back meanwhile, and on while the page is in the
 * background, unless `inBackground`, or `node` is out of sight. */
export async function pause(milliseconds, node = null, inBackground = false) {
  const over = new AbortController();
  await new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
    for (const [target, event] of RETURNS) target.addEventListener(event, resolve, { signal: over.signal });
  });
  over.abort();
  if (document.hidden && !inBackground)
    await new Promise((resolve) => { document.addEventListener('visibilitychange', resolve, { once: true }); });
  if (node) await new Promise((resolve) => {
    new IntersectionObserver((entries, observer) => {
      if (!entries.at(-1).isIntersecting) return;
      observer.disconnect();
      resolve();
    }).observe(node);
  });
}

/** Ask again and again while `isCurrent()`: `take(answer)` returns the milliseconds until the next question, null
 * for none. A lost answer is asked for again, later and later; `lost()` is called then. `node` is as in `pause`, as is
 * what `inBackground()` returns. */
export async function poll(ask, take, isCurrent, { node = null, lost = () => {}, inBackground = () => false } = {}) {
  let failures = 0;
  while (isCurrent()) {
    const answer = await ask().catch(() => undefined);
    if (!isCurrent()) return;
    failures = answer === undefined ? failures + 1 : 0;
    if (failures) lost();
    const wait = failures ? Math.min(10000, 1000 * 2 ** failures) : take(answer);
    if (wait === null) return;
    await pause(wait, node, inBackground());
  }
}
