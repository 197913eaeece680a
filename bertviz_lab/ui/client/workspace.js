// The panels of a workspace: a view each, folded until it is opened and drawn when it first comes near the window.

import { h } from 'lab/client/dom.js';
import { page } from 'lab/client/page.js';
import { makePanel } from 'lab/client/panel.js';
import { VIEWS } from 'lab/site.js';

export const NEAR = '300px'; // panels this close to the window are drawn already
const FOLLOWED = 2500; // milliseconds in which an opened panel is kept in sight

/** The views of a workspace as panels below a line of links to them, added to `root`. Which are open is kept in the
 * address; `openFirst` are those that are open where it says nothing. `missing()` says what is missing before they
 * can be drawn, "" for nothing. */
export function makeWorkspace(name, root, openFirst, missing = () => '') {
  const setting = `${name}.open`;
  const open = new Set(page.kept(setting) ? page.kept(setting).split(',') : openFirst);
  const panels = VIEWS.filter((view) => view.workspace === name).map(makeView);
  const links =
    panels.map(({ view, reveal }) => h('button.plain', { 'data-view': view.id, onclick: () => reveal() }, view.title));
  root.classList.add('workspace');
  root.append(h('nav.contents', { 'aria-label': 'Views' }, ...links), ...panels.map(({ node }) => node));
  /** Something that they draw may have come into sight. */
  const look = () => panels.forEach((panel) => panel.look());
  page.on('space', look);
  page.on('settings',
    (views) => panels.filter(({ view }) => views.includes(view.id)).forEach((panel) => panel.clear()));
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

  function makeView(view) {
    const body = h('div.panel-body', { id: `${view.id}-body`, hidden: !open.has(view.id) });
    const head = h('button.panel-head.line', { 'aria-expanded': String(open.has(view.id)), 'aria-controls': body.id,
      onclick: () => turn(body.hidden) }, h('span.arrow', { 'aria-hidden': 'true' }, '▸'), h('span.title', view.title),
      h('span.gloss.quiet.small', view.gloss));
    const node = h(`section.panel.card.lab-view-${view.id}`, { id: `panel-${view.id}`, 'aria-label': view.title },
      h('h2', head), body);
    let panel = null;
    let near = false;
    function lookAt() {
      const isSeen = !body.hidden && near;
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
      lookAt();
    }
    function turn(to) {
      body.hidden = !to;
      head.setAttribute('aria-expanded', String(to));
      open[to ? 'add' : 'delete'](view.id);
      const names = [...open].join(',');
      page.keep(setting, names === openFirst.join(',') ? '' : names);
      lookAt();
    }
    /** Open it, and keep it or one of its folds in sight while what is above it is still being drawn. */
    function reveal(part = '', focus = true) {
      turn(true);
      const follower = new ResizeObserver(() =>
        ((part && document.getElementById(`${view.id}-${part}`)) || node).scrollIntoView({ block: 'start' }));
      follower.observe(root);
      const stop = () => follower.disconnect();
      setTimeout(stop, FOLLOWED);
      for (const touched of ['wheel', 'touchstart', 'pointerdown', 'keydown'])
        window.addEventListener(touched, stop, { once: true, passive: true });
      if (focus) head.focus({ preventScroll: true });
    }
    /** Its settings were made from outside: it is built again with them when it is next in sight. */
    function clear() {
      panel?.leave();
      panel = null;
      body.replaceChildren();
    }
    new IntersectionObserver((entries) => {
      near = entries.at(-1).isIntersecting;
      lookAt();
    }, { rootMargin: NEAR }).observe(node);
    return { view, node, reveal, clear, look: lookAt, refresh: () => panel?.refresh() };
  }

  /** `refresh`: what is in sight is drawn again, the rest when it comes into sight. */
  return { look, refresh: () => panels.forEach((panel) => panel.refresh()) };
}
