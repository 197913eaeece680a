// The worker of a single file. `globalThis.parts` has its modules as texts, [[name, text], ...], each after those that
// it imports, and its libraries. They get addresses here: the worker of a document from a disk cannot load those that
// the document makes.

const early = []; // messages that come before the modules are there
globalThis.onmessage = (event) => early.push(event);
const addressOf = (text) => URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));

async function begin({ texts, libraries }) {
  const addresses = new Map();
  for (const [name, text] of texts) {
    const linked = text.replace(/ from '\.\/([\w.]+)';/g, (_, other) => ` from '${addresses.get(other)}';`);
    addresses.set(name, addressOf(linked));
  }
  globalThis.libraries = Object.fromEntries(Object.entries(libraries).map(([name, text]) => [name, addressOf(text)]));
  await import(addresses.get(texts.at(-1)[0]));
  early.forEach((event) => globalThis.onmessage(event));
}
begin(globalThis.parts);
