// The engine of a published page: answers the questions of its views in a worker, so that the page never freezes. One
// question is answered at a time, since a session computes one thing at a time.

import * as attention from './attention.js';
import * as attribution from './attribution.js';
import * as causes from './causes.js';
import * as explore from './explore.js';
import * as layers from './layers.js';
import { openModel } from './model.js';
import * as predictions from './predictions.js';
import * as recorded from './recorded.js';
import { task } from './task.js';
import * as tokens from './tokens.js';

const VIEWS = { architecture: recorded, attention, attribution, causes, corpus: recorded, dynamics: recorded,
  embeddings: layers, engine: { open: async () => true }, explore, layers, lessons: recorded,
  predictions: { ...predictions, task }, tokens };
const CANCELLED = 'The question was cancelled.';
const PROGRESS_EVERY = 60; // milliseconds between two times that other messages are read

let site = null;
let libraries = null; // a promise of ONNX Runtime Web and of the library of tokenizers
let place = { base: '', packed: {} }; // where files are: an address, and texts of a single file
const opened = new Map(); // name of a model -> a promise of it
const traces = new Map(); // attention that the page may ask further layers of
const cancelled = new Set(); // tickets
let turn = Promise.resolve();

const decodeBase64 = (text) => Uint8Array.fromBase64?.(text) // browsers of before 2025 have the other way only
  ?? Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

/** Load a file of the page; resolves to its bytes. */
async function load(name) {
  const packed = place.packed[name];
  const file = packed ? new Response(decodeBase64(packed)) : await fetch(place.base + name).catch(() => null);
  if (!file?.ok) throw new Error(`The file ${name} of this page could not be loaded: reload the page.`);
  if (!packed && !name.endsWith('.gz')) return file.arrayBuffer();
  return new Response(file.body.pipeThrough(new DecompressionStream('gzip'))).arrayBuffer()
    .catch(() => { throw new Error(`The file ${name} of this page is damaged: reload the page.`); });
}

async function loadLibraries({ runtime, tokenizers }) {
  const [ort, library, wasm] = await Promise.all([runtime, tokenizers]
    .map((name) => import(globalThis.libraries?.[name] ?? name)).concat(load(site.files.wasm)));
  ort.env.wasm.numThreads = 1;
  ort.env.wasm.wasmBinary = wasm;
  ort.env.logLevel = 'error';
  return { ort, library };
}

async function open(asked) {
  const name = asked || site.model;
  const facts = site.models[name];
  if (!facts) throw new Error(explore.missingModel(site, name));
  if (!opened.has(name)) {
    opened.set(name, openModel(facts, load, libraries));
    opened.get(name).catch(() => opened.delete(name)); // it may be asked for again
  }
  return opened.get(name);
}

async function answer({ ticket, view, question, args }) {
  const act = VIEWS[view]?.[question];
  if (!act) throw new Error(site.unavailable[`${view}.${question}`] ?? site.unavailable.any);
  let rested = performance.now();
  /** Report how far a question is, and read other messages; throws an error where it was cancelled. */
  const progress = async (share) => {
    if (performance.now() - rested > PROGRESS_EVERY) {
      postMessage({ kind: 'progress', ticket, share });
      await new Promise((resolve) => { setTimeout(resolve); });
      rested = performance.now();
    }
    if (cancelled.has(ticket)) throw new Error(CANCELLED);
  };
  const context = { site, traces, progress, load };
  if (cancelled.has(ticket)) throw new Error(CANCELLED);
  const isRecorded = view === 'explore' && question !== 'encode'; // needs no weights
  if (args.model !== undefined && !isRecorded) context.model = await open(args.model);
  if (args.other && args.against !== 'causal' && args.against !== 'text') context.other = await open(args.other);
  return act(context, args);
}

async function reply(asked) {
  const { ticket } = asked;
  try {
    const result = await answer(asked);
    const arrays = ['cells', 'codes'].map((name) => result?.[name]?.buffer).filter(Boolean);
    postMessage({ kind: 'answer', ticket, answer: result }, arrays);
  } catch ({ message }) {
    postMessage({ kind: 'answer', ticket, error: message });
  }
  cancelled.delete(ticket);
}

globalThis.onmessage = ({ data }) => {
  const { kind } = data;
  if (kind === 'know') site.models[data.facts.name] = data.facts;
  if (kind === 'cancel') cancelled.add(data.ticket);
  if (kind === 'ask') turn = turn.then(() => reply(data));
  if (kind === 'start') {
    ({ site, ...place } = data);
    libraries = loadLibraries(data.libraries);
    open('').catch(() => {}); // the first question that needs it says what is wrong
  }
};
