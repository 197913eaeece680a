// The page: its workspaces as tabs, and its parts, each drawn into its place of `ui/page.html`.

import { pause, poll } from 'lab/client/ask.js';
import { h, makeTabs } from 'lab/client/dom.js';
import { mountExplore } from 'lab/client/explore.js';
import { duration, percent, plural } from 'lab/client/format.js';
import { page } from 'lab/client/page.js';
import { makePanel } from 'lab/client/panel.js';
import { mountTour } from 'lab/client/tour.js';
import { NEAR, makeWorkspace } from 'lab/client/workspace.js';
import runStrip from 'lab/components/runs/run_strip.js';
import { VIEWS, answerer } from 'lab/site.js';
import { mountLessonBar, mountLessons } from 'lab/views/lessons/lessons.js';

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

async function mountRunStrip(root) {
  const follow = runStrip(root);
  const ids = await page.ask('runs', 'current').catch(() => []);
  if (root.hidden) follow(...ids.reverse());
}

/** A status line about questions that take long: how far they are, again and again until they are answered. */
function mountWire(root) {
  const TELL_AFTER = 500; // milliseconds until a person is told, and between two words about it
  const asked = new Set(); // tickets of questions
  root.setAttribute('role', 'status');
  page.on('asked', async (ticket) => {
    asked.add(ticket);
    await pause(TELL_AFTER);
    poll(() => answerer.progress(ticket), tell, () => asked.has(ticket));
  });
  page.on('answered', (ticket) => {
    asked.delete(ticket);
    if (!asked.size) root.textContent = '';
  });

  /** Such as "2 questions before yours, about 4 s". */
  function tell({ share = 0, before = null, seconds = 0 }) {
    const others = before ? `${plural(before, 'question')} before yours` : 'Your question is next';
    root.textContent = before === null ? `Working …${share > 0 ? ` ${percent(share, 0)}` : ''}`
      : `${others}, about ${duration(Math.max(1, seconds))}`;
    return TELL_AFTER;
  }
}

const PARTS = {
  wire: mountWire,
  run: mountRunStrip,
  'lesson-bar': mountLessonBar,
  explore: mountExplore,
  form: mountView,
  progress: async (root, kind) => page.on('start', (await mountView(root, 'run', kind)).refresh),
  // There are other runs, or one has reached another state. The chosen one is the setting "run.id" of the address.
  runs: (root) => page.on('start', makeWorkspace('runs', root, ['runs', 'run']).refresh),
  lessons: mountLessons,
};

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
  /** Tabs of `ui/page.html`: a function that selects one by its name, with which `onSelect` is called. */
  const namedTabs = (id, onSelect) => {
    const tabs = [...element.querySelectorAll(`#${id} > [role=tab]`)];
    if (!tabs.length) return () => false; // a page of some parts
    const names = tabs.map((tab) => tab.dataset.tabId);
    const { select } = makeTabs(tabs, (place) => onSelect(names[place]));
    return (name) => names.includes(name) && select(names.indexOf(name), false);
  };
  const selectForm = namedTabs('train-tab-list', drawParts);
  const selectSpace = namedTabs('space-tabs', (name) => {
    page.setSpace(name);
    picker.value = name;
    drawParts();
  });
  page.on('open', ({ space, show }) => {
    selectForm(show);
    if (space !== page.space) selectSpace(space);
  });
  element.querySelector('.logout')?.toggleAttribute('hidden', !page.start.logout);
  picker?.addEventListener('change', () => page.open({ space: picker.value }));
  for (const door of element.querySelectorAll('[data-door]'))
    door.addEventListener('click', () => page.open({ space: door.dataset.door }));
  drawParts();
  selectForm(page.asked.show === 'finetune' ? 'finetune' : 'pretrain');
  selectSpace(page.firstSpace);
  const tour = element.querySelector('.tour-start');
  if (tour) mountTour(tour); // the page of some parts has none
}
