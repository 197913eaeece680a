// The page: its workspaces as tabs, and its parts, each drawn into its place of `ui/page.html`.

import { pause, serverAnswerer } from 'lab/client/ask.js';
import { h } from 'lab/client/dom.js';
import { mountExplore } from 'lab/client/explore.js';
import { duration, percent, plural } from 'lab/client/format.js';
import { page } from 'lab/client/page.js';
import { makePanel } from 'lab/client/panel.js';
import { NEAR, makeWorkspace } from 'lab/client/workspace.js';
import runStrip from 'lab/components/runs/run_strip.js';
import { VIEWS } from 'lab/site.js';
import { mountLessonBar } from 'lab/views/lessons/bar.js';
import { mountLessons } from 'lab/views/lessons/lessons.js';

/** The visitor's runs and the shipped models. The one that was chosen last is the setting "run.id" of the address. */
function mountRuns(root) {
  root.classList.add('workspace');
  const workspace = makeWorkspace('runs', root, ['runs', 'run']);
  page.on('start', workspace.refresh); // there are other runs, or one of them has reached another state
}

/** A view that is a part of its own: a form, or with `kind` the newest run of a form in the same panel as in Runs. */
async function mountView(root, id, kind = '') {
  root.classList.add('workspace');
  const body = h(`div.lab-view-${id}`);
  root.append(body);
  const panel = Object.assign(makePanel(VIEWS.find((view) => view.id === id), body, kind || id), { kind });
  const { mount } = await import(`lab/views/${id}/view.js`);
  new IntersectionObserver((entries) => panel.setSeen(entries.at(-1).isIntersecting), { rootMargin: NEAR })
    .observe(root);
  await mount(panel);
  return panel;
}

async function mountProgress(root, kind) {
  page.on('start', (await mountView(root, 'run', kind)).refresh);
}

async function mountRunStrip(root) {
  const follow = runStrip(root);
  const newest = await page.ask('runs', 'current').catch(() => '');
  if (newest && root.hidden) follow(newest);
}

/** A status line about questions that take long. */
function mountWire(root) {
  const TELL_AFTER = 500; // milliseconds until a person is told, and between two words about it
  const working = new Map(); // ticket of a question that was asked -> the timer that will tell of it
  const told = new Set(); // tickets of those that take long
  root.setAttribute('role', 'status');

  page.on('asked', (ticket) => working.set(ticket, setTimeout(tell, TELL_AFTER, ticket)));
  page.on('answered', (ticket) => {
    clearTimeout(working.get(ticket));
    working.delete(ticket);
    told.delete(ticket);
    if (!told.size) root.textContent = '';
  });

  /** Say how far a question is, again and again until it is answered. */
  async function tell(ticket) {
    told.add(ticket);
    root.textContent ||= 'Working …';
    while (told.has(ticket)) {
      const { share = 0, before = null, seconds = 0 } = await serverAnswerer.progress(ticket);
      if (told.has(ticket)) root.textContent = before !== null ? waitingWords(before, seconds)
        : `Working …${share > 0 ? ` ${percent(share, 0)}` : ''}`;
      await pause(TELL_AFTER);
    }
  }

  /** Such as "2 questions before yours, about 4 s". */
  function waitingWords(before, seconds) {
    const others = before ? `${plural(before, 'question')} before yours` : 'Your question is next';
    return `${others}, about ${duration(Math.max(1, seconds))}`;
  }
}

const PARTS = {
  wire: mountWire,
  run: mountRunStrip,
  'lesson-bar': mountLessonBar,
  explore: mountExplore,
  form: mountView,
  progress: mountProgress,
  runs: mountRuns,
  lessons: mountLessons,
};

/** Tabs of a list with `role="tablist"`, each of which names its panel by `aria-controls`. Returns a function that
 * selects a tab by its name; `onSelect` is called with that name. */
function makeTabs(list, onSelect) {
  const tabs = [...(list?.children ?? [])];
  const select = (name) => {
    if (!tabs.some((tab) => tab.dataset.tabId === name)) return;
    for (const tab of tabs) {
      const selected = tab.dataset.tabId === name;
      tab.setAttribute('aria-selected', selected);
      tab.tabIndex = selected ? 0 : -1;
      document.getElementById(tab.getAttribute('aria-controls')).hidden = !selected;
    }
    onSelect(name);
  };
  list?.addEventListener('click', ({ target }) => select(target.dataset.tabId));
  list?.addEventListener('keydown', ({ target, key }) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[key];
    if (!step) return;
    const next = tabs.at((tabs.indexOf(target) + step) % tabs.length);
    next.focus();
    select(next.dataset.tabId);
  });
  return select;
}

window.Lab = { page }; // for the console of a browser, and for tests

/** Draw the page into an element that holds `ui/page.html`. A part is drawn when its tab is first selected. */
export function mount(element, props) {
  Object.assign(page.start, JSON.parse(props.value || '{}'));
  const waiting = new Set(element.querySelectorAll('[data-part]'));
  const drawParts = () => {
    for (const place of [...waiting].filter((node) => !node.closest('[hidden]'))) {
      waiting.delete(place);
      const { part, view } = place.dataset;
      const root = h(`section.lab.lab-${part}`);
      place.classList.add('lab-island', `lab-island-${part}`);
      place.append(root);
      PARTS[part](root, view);
    }
  };
  const picker = element.querySelector('#space-picker'); // on a narrow screen; page.css shows it or the tabs
  const selectForm = makeTabs(element.querySelector('#train-tabs > [role=tablist]'), drawParts);
  const selectSpace = makeTabs(element.querySelector('#spaces > [role=tablist]'), (name) => {
    page.setSpace(name);
    picker.value = name;
    drawParts();
  });
  page.on('open', ({ space, show }) => {
    selectForm(show);
    if (space !== page.space) selectSpace(space);
  });
  element.querySelector('.logout')?.toggleAttribute('hidden', !page.start.logout);
  picker?.append(...Object.entries(page.SPACES).map(([value, name]) => h('option', { value }, name)));
  picker?.addEventListener('change', () => page.open({ space: picker.value }));
  drawParts();
  selectForm(['pretrain', 'finetune'].find((name) => name === page.asked.show) ?? 'pretrain');
  selectSpace(page.firstSpace);
}
