// Who answers the questions of the lab's page: the server; and where the page offers it, an engine in this browser for
// the models that it has. The server has published them as static files (browser/lab_engine.py).

import { serverAnswerer } from 'lab/client/ask.js';
import { recall, remember } from 'lab/client/saving.js';

const OFFERED = document.querySelector('meta[name=lab-engine]')?.content; // the address of what the engine needs
const CHOICE = 'bertviz-lab-engine';
const PATIENCE = 4000; // milliseconds that a question waits for a model to be loaded before the server is asked

let isOn = Boolean(OFFERED) && recall(CHOICE) !== 'off';
let offer = null; // a promise of what is offered, with the engine; null where it cannot be had
const models = new Map(); // name -> a promise of whether the engine has opened it
const keys = new Set(); // of answers of the engine that more is asked about
const askedOf = new Map(); // ticket -> who answers it

const fetched = async (address) => (await fetch(address)).json();

async function start() {
  const offered = await fetched(OFFERED);
  const { makeEngine } = await import('lab/browser/engine/engine.js');
  return { ...offered, engine: makeEngine(offered.site, offered.addresses) };
}

/** Whether the engine can answer about a model, once it has loaded it. */
function isOpen(name, { facts, engine }) {
  const open = async () => {
    engine.know(await fetched(facts[name]));
    return !(await engine.answer(`open ${name}`, 'engine', 'open', { model: name })).error;
  };
  if (!models.has(name)) models.set(name, open().catch(() => false));
  return models.get(name);
}

/** Resolves to who answers a question. */
async function chosen(view, question, { model, other, against, key }) {
  if (key) return keys.has(key) ? (await offer).engine : serverAnswerer;
  if (!isOn || !model) return serverAnswerer;
  offer ??= start().catch(() => null);
  const offered = await offer;
  const needed = [model, ...(other && !['causal', 'text'].includes(against) ? [other] : [])];
  const isOffered = offered?.views.includes(view) && !offered.server.includes(`${view}.${question}`)
    && needed.every((name) => name in offered.facts);
  if (!isOffered) return serverAnswerer;
  const late = new Promise((resolve) => { setTimeout(resolve, PATIENCE, [false]); });
  const opened = await Promise.race([Promise.all(needed.map((name) => isOpen(name, offered))), late]);
  return opened.every(Boolean) ? offered.engine : serverAnswerer;
}

export const answerer = {
  async answer(ticket, view, question, args) {
    const who = await chosen(view, question, args);
    askedOf.set(ticket, who);
    let answered = await who.answer(ticket, view, question, args);
    // The engine answers "" to a question that it does not know, and may end.
    if (who !== serverAnswerer && (answered.error === '' || answered.broken))
      answered = await serverAnswerer.answer(ticket, view, question, args);
    else if (who !== serverAnswerer && answered.answer?.key) keys.add(answered.answer.key);
    askedOf.delete(ticket);
    return answered;
  },
  progress: async (ticket) => askedOf.get(ticket)?.progress(ticket) ?? {},
  cancel: (ticket) => askedOf.get(ticket)?.cancel(ticket),
  /** The switch of the page: null where there is no engine, or {isOn, turn(on)}. */
  engine: OFFERED ? {
    isOn,
    turn(on) {
      isOn = on;
      remember(CHOICE, on ? 'on' : 'off');
    },
  } : null,
};
