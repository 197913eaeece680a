// The panels of a workspace: a view each, folded until it is opened and drawn when it first comes near the window.

import { h } from 'lab/client/dom.js';
import { page } from 'lab/client/page.js';
import { makePanel } from 'lab/client/panel.js';
import { VIEWS } from 'lab/site.js';

export const NEAR = '300px'; // panels this close to the window are drawn already
const FOLLOWING = 100; // milliseconds between two looks at where an opened panel has moved
const FOLLOWED = 25; // such looks

/** The views of a workspace as panels below a line of links to them, added to `root`. Which are open is kept in the
 * address; `openFirst` are those that are open where it says nothing. `missing()` says what is missing before they
 * can be drawn, "" for nothing. */
export function makeWorkspace(name, root, openFirst, missing = () => '') {
  const setting = `${name}.open`;
  const open = new Set(page.kept(setting) ? page.kept(setting).split(',') : openFirst);
  const panels = VIEWS.filter((view) => view.workspace === name).map(makeView);
  const links =
    panels.map(({ view, reveal }) => h('button.plain', { 'data-view': view.id, onclick: () => reveal() }, view.title));
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
    let mounted = null; // the panel whose script has drawn its parts
    let near = false;
    function lookAt() {
      const isSeen = !body.hidden && near;
      if (isSeen && !panel) {
        body.replaceChildren(...(missing() ? [h('p.quiet', missing())] : []));
        if (!missing()) {
          panel = makePanel(view, body);
          draw(panel);
        }
      }
      if (mounted === panel) panel?.setSeen(isSeen && root.offsetParent !== null);
    }
    async function draw(mine) {
      const { mount } = await import(`lab/views/${view.id}/view.js`);
      if (panel !== mine) return; // built again meanwhile
      mount(panel);
      if (view.explanation) {
        const words = h('div.explanation');
        words.innerHTML = view.explanation; // our own words: explanation.html of the view
        body.append(h('details.fold', h('summary', 'How is this computed?'), words));
      }
      mounted = panel;
      lookAt();
    }
    function turn(to) {
      body.hidden = !to;
      head.setAttribute('aria-expanded', String(to));
      if (to) open.add(view.id);
      else open.delete(view.id);
      const names = [...open].join(',');
      page.keep(setting, names === openFirst.join(',') ? '' : names);
      lookAt();
    }
    /** Open it, and keep it or one of its folds in sight while what is above it is still being drawn. */
    function reveal(part = '', focus = true) {
      turn(true);
      const stop = new AbortController();
      for (const touched of ['wheel', 'touchstart', 'pointerdown', 'keydown']) {
        window.addEventListener(touched, () => stop.abort(), { signal: stop.signal, passive: true });
      }
      let toFocus = focus;
      const follow = (turns) => {
        if (stop.signal.aborted) return;
        const shown = (part && document.getElementById(`${view.id}-${part}`)) || node;
        if (shown.offsetParent) {
          shown.scrollIntoView({ block: 'start' });
          if (toFocus) head.focus({ preventScroll: true });
          toFocus = false;
        }
        if (turns) setTimeout(follow, FOLLOWING, turns - 1);
        else stop.abort();
      };
      follow(FOLLOWED);
    }
    /** Its settings were made from outside: it is built again with them when it is next in sight. */
    function clear() {
      panel?.leave();
      panel = mounted = null;
      body.replaceChildren();
    }
    new IntersectionObserver((entries) => {
      near = entries.at(-1).isIntersecting;
      lookAt();
    }, { rootMargin: NEAR }).observe(node);
    return { view, node, reveal, clear, look: lookAt, refresh: () => mounted?.refresh() };
  }

  /** `refresh`: what is in sight is drawn again, the rest when it comes into sight. */
  return { look, refresh: () => panels.forEach((panel) => panel.refresh()) };
}
