// Who answers the questions of a published page: an engine in a worker. It takes the place of the server.

const OLD = 'This page computes in the browser and needs WebAssembly and module workers: open it in a current Chrome, '
  + 'Edge, Firefox or Safari.';
const published = JSON.parse(document.getElementById('lab-published').textContent);
const [base, worker, runtime, tokenizers] = ['base', 'worker', 'runtime', 'tokenizers']
  .map((name) => document.querySelector(`meta[name=lab-${name}]`).content);

const waiting = new Map(); // ticket -> the function that takes the answer
const shares = new Map(); // ticket -> how far its question is
let broken = ''; // why nothing can be answered

function fail(reason) {
  broken = reason;
  for (const take of waiting.values()) take({ error: reason });
  waiting.clear();
}

/** A file of the page: within the document as base64, or beside it. */
async function bring(name) {
  const packed = document.querySelector(`script[data-file="${name}"]`);
  if (packed) return { content: packed.textContent };
  const answer = await fetch(base + name).catch(() => null);
  if (!answer?.ok) return { error: `The file ${name} of this page could not be loaded: reload the page.` };
  return { content: await answer.arrayBuffer() };
}

function start() {
  if (typeof WebAssembly !== 'object' || typeof DecompressionStream !== 'function') {
    broken = OLD;
    return null;
  }
  // In a single file modules have no addresses that lead to others: a classic worker puts them together.
  const engine = new Worker(worker, { type: worker.startsWith('blob:') ? 'classic' : 'module' });
  engine.onerror = () => fail(OLD);
  engine.onmessage = async ({ data }) => {
    const { kind, ticket, name } = data;
    if (kind === 'need') {
      const file = await bring(name);
      engine.postMessage({ kind: 'file', name, ...file }, file.content instanceof ArrayBuffer ? [file.content] : []);
    }
    if (kind === 'progress') shares.set(ticket, data.share);
    if (kind === 'answer') {
      shares.delete(ticket);
      waiting.get(ticket)?.({ answer: data.answer, error: data.error });
      waiting.delete(ticket);
    }
  };
  engine.postMessage({ kind: 'start', site: published, libraries: { runtime, tokenizers } });
  return engine;
}

const engine = start();

/** A page that shows one drawing, without this one. */
async function standalonePage({ drawing, label }) {
  const { content, error } = await bring(`${published.files.drawings}${drawing}.html`);
  if (error) return { error: 'This page cannot save a drawing as a page: save it as a picture.' };
  const escaped = label.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return { answer: new TextDecoder().decode(content).replace('<title></title>', () => `<title>${escaped}</title>`) };
}

export const answerer = {
  answer(ticket, view, question, args) {
    if (broken) return { error: broken };
    if (question === 'standalone_page') return standalonePage(args);
    return new Promise((resolve) => {
      waiting.set(ticket, resolve);
      engine.postMessage({ kind: 'ask', ticket, view, question, args });
    });
  },
  progress: async (ticket) => ({ share: shares.get(ticket) ?? 0 }),
  cancel: (ticket) => engine?.postMessage({ kind: 'cancel', ticket }),
};
