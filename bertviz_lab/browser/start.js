// The start of a published page. `?view=attention&text_a=...&bare=1` shows one view without the frame, for an iframe of
// another page, which receives messages {labHeight} in pixels.

const night = matchMedia('(prefers-color-scheme: dark)');
const paint = () => document.body.classList.toggle('dark', night.matches);
night.addEventListener('change', paint);
paint();
const begin = document.querySelector('meta[name=lab-start]'); // what the page reads
const asked = new URLSearchParams(location.search || begin.content);
const view = asked.get('view');
if (view && !asked.has('explore.open')) asked.set('explore.open', view); // as the page keeps it
begin.content = String(asked);
const { mount } = await import('lab/client/main.js');
const { model } = JSON.parse(document.getElementById('lab-published').textContent);
document.getElementById('lab-waiting').remove();
mount(document.body, { value: JSON.stringify({ model, published: true }) });
if (asked.has('bare')) {
  document.body.classList.add('bare');
  document.getElementById(`panel-${view}`)?.closest('.slot').classList.add('only');
  new ResizeObserver(() => window.parent.postMessage({ labHeight: document.body.scrollHeight }, '*'))
    .observe(document.body);
}
