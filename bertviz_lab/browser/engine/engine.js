// The engine as the page sees it: a worker that answers questions of views.

const OLD = 'This page computes in the browser and needs WebAssembly and module workers: open it in a current Chrome, '
  + 'Edge, Firefox or Safari.';

/** The engine of a published page, which has in itself what the engine needs. */
export function publishedEngine() {
  const site = JSON.parse(document.getElementById('lab-published').textContent);
  return makeEngine(site, Object.fromEntries(['base', 'worker', 'runtime', 'tokenizers']
    .map((name) => [name, document.querySelector(`meta[name=lab-${name}]`).content])));
}

/** Start an engine: `site` is what it knows, `addresses` are those of {base, worker, runtime, tokenizers}, of which the
 * libraries' are relative to the worker. It answers like the server does ({answer, progress, cancel} of
 * client/ask.js), with `broken` in the answer where it never will. `know(facts)` adds a model. */
export function makeEngine(site, { base, worker, runtime, tokenizers }) {
  const waiting = new Map(); // ticket -> the function that takes the answer
  const shares = new Map(); // ticket -> how far its question is
  let broken = ''; // why nothing can be answered

  function fail(reason) {
    broken = reason;
    for (const take of waiting.values()) take({ error: reason, broken: true });
    waiting.clear();
  }

  function start() {
    if (['WebAssembly', 'DecompressionStream', 'Worker'].some((needed) => !(needed in globalThis))) {
      broken = OLD;
      return null;
    }
    // In a single file modules have no addresses that lead to others: a classic worker puts them together.
    const engine = new Worker(worker, { type: worker.startsWith('blob:') ? 'classic' : 'module' });
    engine.onerror = () => fail(OLD);
    engine.onmessage = ({ data: { kind, ticket, share, answer, error } }) => {
      if (kind === 'progress') shares.set(ticket, share);
      if (kind === 'answer') {
        shares.delete(ticket);
        waiting.get(ticket)?.({ answer, error });
        waiting.delete(ticket);
      }
    };
    const packed = Object.fromEntries([...document.querySelectorAll('script[data-file]')]
      .map((file) => [file.dataset.file, file.textContent])); // the files of a page that has them in itself
    const isWhole = Object.keys(packed).length > 0; // in a frame of a notebook it may have no address at all
    engine.postMessage({ kind: 'start', site, base: isWhole ? '' : new URL(base, document.baseURI).href, packed,
      libraries: { runtime, tokenizers } });
    return engine;
  }

  const engine = start();

  return {
    know: (facts) => engine?.postMessage({ kind: 'know', facts }),
    answer(ticket, view, question, args) {
      if (broken) return { error: broken, broken: true };
      return new Promise((resolve) => {
        waiting.set(ticket, resolve);
        engine.postMessage({ kind: 'ask', ticket, view, question, args });
      });
    },
    progress: async (ticket) => ({ share: shares.get(ticket) ?? 0 }),
    cancel: (ticket) => engine?.postMessage({ kind: 'cancel', ticket }),
  };
}
