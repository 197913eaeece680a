// Publish: a model as a web page that needs no server, to download or to send to the hub. Explore and Runs show it.

import { h, makeField, whileBusy } from 'lab/client/dom.js';
import { page } from 'lab/client/page.js';
import { makeDrawing } from 'lab/client/panel.js';

/** Make the fields and buttons: {node, refresh(model)}. `prefix` begins their ids. */
export function makePublisher(prefix) {
  const id = (name) => `${prefix}-publish-${name}`;
  const ask = (question, more) => page.ask('publish', question, { model, ...more }, `${prefix} ${question}`);
  const said = h('p.said.small', { role: 'status', id: id('message') });
  const form = makeField('select', 'Form', 'html', () => {}, { id: id('form'),
    options: [['html', 'one HTML file that opens from disk'], ['zip', 'a folder for a web server (zip)']] });
  const snapshots = makeField('number', 'Snapshots of its training dynamics', 0, unsure,
    { id: id('snapshots'), min: 0, max: 50 });
  const write = h('button.action', { id: id('write'), onclick: download }, 'Publish as a web page');
  const repo = makeField('text', 'Repository on the hub', '', unsure,
    { id: id('repo'), placeholder: 'your-name/page' });
  const kind = makeField('select', 'Kind', 'space', unsure, { id: id('kind'),
    options: [['space', 'static Space'], ['model', 'model, in its folder page']] });
  const open = makeField('checkbox', 'Public: anybody can open it', false, unsure, { id: id('public') });
  const list = h('button.plain', { id: id('list'), onclick: () => toHub(list, true) }, 'Show what would be sent');
  const push = h('button.action', { id: id('send'), disabled: true, onclick: () => toHub(push, false) }, 'Send to hub');
  const files = makeDrawing('facts', 'Files that are sent', { id: id('files') });
  const hub = h('details.fold', { hidden: true, id: id('hub') }, h('summary', 'Send the page to the Hugging Face hub'),
    h('div.fields', repo.node, kind.node, open.node), files.host, h('div.line', list, push));
  const content = () => ({ snapshots: snapshots.value });
  let model = null;

  /** What was listed is no longer what would be sent. */
  function unsure() {
    push.disabled = true;
  }

  /** They are about a model, perhaps another one. */
  async function refresh(now) {
    if (now === model) return;
    model = now;
    unsure();
    said.textContent = '';
    snapshots.set(0);
    files.say('Name a repository to see what would be sent.');
    const about = await ask('about').catch(() => null);
    snapshots.node.hidden = !about?.snapshots;
    hub.hidden = !about?.hub;
  }

  /** Ask something that takes a minute, while `button` is disabled; resolves to its answer. */
  function wait(button, question, more, say) {
    say('Publishing takes about a minute.');
    return whileBusy(button, () => ask(question, more), say);
  }

  async function download() {
    const answer = await wait(write, 'page', { ...content(), form: form.value },
      (text) => { said.textContent = text; });
    if (!answer) return;
    h('a', { href: answer.address, download: answer.name }).click();
    const how = form.value === 'html' ? ' It opens in any browser.' : '';
    said.textContent = `${answer.name} is among your downloads.${how}`;
  }

  async function toHub(button, dry_run) {
    const target = { ...content(), repo: repo.value, kind: kind.value, public: open.value };
    const payload = await wait(button, 'push', { ...target, dry_run }, files.say);
    if (payload) files.show(payload);
    push.disabled = !(payload && dry_run);
  }

  return { node: h('div.publish', h('div.fields', form.node, snapshots.node), write, said, hub), refresh };
}
