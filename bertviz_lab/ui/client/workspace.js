// The panels of a workspace, in two slots beside each other. A slot shows one of its views, chosen by a tab; a view is
// drawn when it first comes near the window.

import { pause } from 'lab/client/ask.js';
import { h, makeTabs } from 'lab/client/dom.js';
import { page } from 'lab/client/page.js';
import { makePanel } from 'lab/client/panel.js';
import { VIEWS } from 'lab/site.js';

export const NEAR = '300px'; // panels this close to the window are drawn already
const PATIENCE = 100; // milliseconds that the second slot waits for the answers of the first
const FOLLOWED = 10000; // milliseconds in which an opened panel is kept in sight

/** The views of a workspace, added to `root`. Which are open, one in each slot, is kept in the address; `openFirst` are
 * the defaults. `missing()` returns what they need before they can be drawn, "" if nothing. */
export function makeWorkspace(name, root, openFirst, missing = () => '') {
  const setting = `${name}.open`;
  const asked = page.kept(setting).split(',');
  const views = VIEWS.filter((view) => view.workspace === name);
  const bench = h(`div.bench.bench-${name}`);
  root.classList.add('workspace');
  root.append(bench);
  const open = []; // the view of each slot
  const panels = [0, 1].flatMap((slot) => makeSlot(slot, views.filter((view) => view.slot === slot)));
  /** Something that they draw may have come into sight. */
  const look = () => panels.forEach((panel) => panel.look());
  page.on('space', look);
  page.on('settings',
    (ids) => panels.filter(({ view }) => ids.includes(view.id)).forEach((panel) => panel.clear()));
  page.on('open', () => {
    look();
    revealAsked();
  });
  revealAsked(); // the place that was asked for may be why this workspace is opened

  function revealAsked() {
    const { show, part, lesson } = page.asked;
    const panel = panels.find(({ view }) => view.id === show);
    if (!panel) return;
    page.asked = {};
    setTimeout(() => panel.reveal(part, !lesson)); // a lesson's line above the panel takes the focus
  }

  function makeSlot(slot, own) {
    if (!own.length) return []; // on a page of some views
    const made = own.map((view, place) => makeView(view, (focus) => tabs.select(place, focus)));
    const list = h('div.tab-wrapper', { role: 'tablist', 'aria-label': own.map(({ title }) => title).join(', ') },
      ...own.map(({ id, title, gloss }) =>
        h('button', { role: 'tab', id: `tab-${id}`, 'aria-controls': `panel-${id}`, title: gloss }, title)));
    bench.append(h('div.slot', list, ...made.map(({ node }) => node)));
    const tabs = makeTabs([...list.children], (place) => {
      open[slot] = own[place].id;
      if (open.length === 2) page.keep(setting, open.join() === openFirst.join() ? '' : open.join());
      made.forEach((panel) => panel.look());
    });
    const firstOf = (names) => own.findIndex(({ id }) => names.includes(id));
    tabs.select([asked, openFirst].map(firstOf).find((place) => place >= 0) ?? 0, false);
    return made;
  }

  function makeView(view, select) {
    const body = h('div.panel-body', { id: `${view.id}-body` });
    const node = h(`section.panel.lab-view-${view.id}`, { id: `panel-${view.id}`, role: 'tabpanel',
      'aria-labelledby': `tab-${view.id}` }, h('h2.hush', view.title), h('p.gloss.quiet.small', view.gloss), body);
    let panel = null;
    let near = false;
    function look() {
      const isSeen = !node.hidden && near;
      if (isSeen && !panel) build();
      panel?.setSeen(isSeen && root.offsetParent !== null);
    }
    async function build() {
      const lacking = missing();
      body.replaceChildren(...(lacking ? [h('p.quiet', lacking)] : []));
      if (lacking) return;
      const { mount } = await import(`lab/views/${view.id}/view.js`);
      if (panel) return; // built meanwhile
      panel = makePanel(view, body);
      mount(panel);
      if (view.explanation) {
        const words = h('div.explanation');
        words.innerHTML = view.explanation; // our own words: explanation.html of the view
        body.append(h('details.fold', h('summary', 'How is this computed?'), words));
      }
      look();
    }
    /** Choose it, and keep it or one of its folds in sight while what is above it is still being drawn. */
    function reveal(part = '', focus = true) {
      select(focus);
      const follower = new ResizeObserver(() => {
        const place = (part && document.getElementById(`${view.id}-${part}`)) || node.parentElement;
        const { top } = place.getBoundingClientRect();
        if (top < 0 || top > window.innerHeight / 2) place.scrollIntoView({ block: 'start' });
      });
      follower.observe(root);
      const stop = () => follower.disconnect();
      setTimeout(stop, FOLLOWED);
      for (const touched of ['wheel', 'touchstart', 'pointerdown', 'keydown'])
        window.addEventListener(touched, stop, { once: true, passive: true });
    }
    /** Its settings were made from outside: it is built again with them when it is next in sight. */
    function clear() {
      panel?.leave();
      panel = null;
      body.replaceChildren();
    }
    new IntersectionObserver((entries) => {
      near = entries.at(-1).isIntersecting;
      look();
    }, { rootMargin: NEAR }).observe(node);
    return { view, node, reveal, clear, look, refresh: () => panel?.refresh() };
  }

  let turn = 0;
  /** Draw again what is in sight, and the rest when it comes into sight. The first slot is answered first: asked at the
   * same time, both would be late. */
  async function refresh() {
    turn += 1;
    const mine = turn;
    const of = (slot) => panels.filter(({ view }) => view.slot === slot);
    const refreshed = (slot) => Promise.all(of(slot).map((panel) => panel.refresh()));
    await Promise.race([refreshed(0), pause(PATIENCE)]);
    if (mine === turn) refreshed(1);
  }
  return { look, refresh };
}
