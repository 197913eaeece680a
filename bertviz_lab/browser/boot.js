// Unpacks a single file: its modules get addresses, an import map leads to them, and the page starts. It is no module
// itself: where one has been loaded, Firefox takes no import map any more.

async function boot() {
  const bytes = Uint8Array.from(atob(document.getElementById('lab-pack').textContent), (one) => one.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  const { modules, worker, loader } = await new Response(stream).json();
  const addressOf = (text) => URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));
  const imports = Object.fromEntries(Object.entries(modules).map(([name, text]) => [`lab/${name}`, addressOf(text)]));
  const map = document.createElement('script');
  Object.assign(map, { type: 'importmap', nonce: 'lab', textContent: JSON.stringify({ imports }) });
  document.head.append(map);
  document.querySelector('meta[name=lab-worker]').content =
    addressOf(`globalThis.parts = ${JSON.stringify(worker)};\n${loader}`);
  await import('lab/browser/start.js');
}
boot();
