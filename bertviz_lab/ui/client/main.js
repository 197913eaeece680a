// The parts of the page, each drawn into its place. Gradio mounts the places; see ui/components/parts.py.

import { h } from 'lab/client/dom.js';
import { makeDrawing } from 'lab/client/drawing.js';
import { mountExplore } from 'lab/client/explore.js';
import { page } from 'lab/client/page.js';
import { makePanel } from 'lab/client/panel.js';
import { mountWire } from 'lab/client/wire.js';
import { NEAR, makeWorkspace } from 'lab/client/workspace.js';
import runStrip from 'lab/components/runs/run_strip.js';
import { VIEWS } from 'lab/site.js';
import { mountLessonBar } from 'lab/views/lessons/bar.js';
import { mountLessons } from 'lab/views/lessons/lessons.js';

/**
 * Runs: the visitor's runs and the shipped models. The one that was chosen last is the setting "run.id" of the address.
 */
function mountRuns(root) {
  root.classList.add('workspace');
  const workspace = makeWorkspace('runs', root, ['runs', 'run']);
  page.on('start', workspace.refresh); // there are other runs, or one of them has reached another state
}

/** A view that is a part of its own: a form, or with `kind` the newest run of a form in the same panel as in Runs. */
async function mountView(root, id, kind = '') {
  root.classList.add('workspace');
  const body = h('div', { class: `lab-view-${id}` });
  root.append(body);
  const panel = Object.assign(makePanel(VIEWS.find((view) => view.id === id), body, kind || id), { kind });
  const { mount } = await import(`lab/views/${id}/view.js`);
  const onSeen = (entries) => panel.setSeen(entries.at(-1).isIntersecting);
  new IntersectionObserver(onSeen, { rootMargin: NEAR }).observe(root);
  await mount(panel);
  return panel;
}

async function mountProgress(root, { kind, label }) {
  root.before(h('h2', { class: 'step' }, label));
  page.on('start', (await mountView(root, 'run', kind)).refresh);
}

/** On a narrow screen the workspaces are a list to choose from instead of tabs; page.css shows one of the two. */
function mountSpacePicker(header) {
  const picker = h('select', { id: 'space-picker', 'aria-label': 'Workspace', onchange: () =>
    page.open({ space: picker.value }) },
    ...Object.entries(page.SPACES).map(([value, name]) => h('option', { value }, name)));
  header?.after(picker);
  picker.value = page.space || 'explore';
  page.on('space', (name) => { picker.value = name; });
}

const PARTS = {
  wire: mountWire,
  explore: mountExplore,
  runs: mountRuns,
  progress: mountProgress,
  form: (root, { kind }) => mountView(root, kind),
  lessons: mountLessons,
  'lesson-bar': mountLessonBar,
  run(root, { label, value, watch }) {
    mountSpacePicker(root.parentElement.querySelector('header'));
    const update = runStrip(root, value(), { label });
    watch(() => update(value()));
  },
};

window.Lab = { page }; // for the console of a browser, and for tests

/** Draw a part, or a drawing, into an element of Gradio's: its `props` hold JSON texts, `trigger` sends its events. */
export function place(name, element, props, trigger, server, watch) {
  element.classList.add('lab-island', `lab-island-${name}`);
  const events = new Proxy({}, { get: (_, event) => (data) => trigger(event, data) });
  const value = () => (props.value ? JSON.parse(props.value) : null);
  const onValue = (act) => watch('value', () => setTimeout(act)); // in a turn of its own
  const root = element.querySelector('.lab');
  if (PARTS[name]) {
    PARTS[name](root, { kind: props.kind, label: props.label, events, server, value, watch: onValue });
    return;
  }
  let latest = -Infinity; // when the answer on show was asked for
  const drawing = makeDrawing(name, props.label, { events, server, empty: props.empty, root });
  const update = () => {
    const payload = value();
    if (payload?.asked < latest) return;
    latest = payload?.asked ?? latest;
    drawing.show(payload);
  };
  onValue(update);
  update();
}
