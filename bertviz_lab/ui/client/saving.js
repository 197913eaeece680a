// Save what is shown as a file, and remember choices in this browser.

import { h } from 'lab/client/dom.js';

export function recall(key) {
  try {
    return JSON.parse(localStorage.getItem(key)) ?? {};
  } catch {
    return {};
  }
}

export function remember(key, value) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch { /* then it is forgotten with the page */ }
}

export const decodeBase64 = (text) => Uint8Array.fromBase64?.(text)
  ?? Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

export function encodeBase64({ buffer, byteOffset, byteLength }) {
  const bytes = new Uint8Array(buffer, byteOffset, byteLength);
  let text = '';
  for (let start = 0; start < bytes.length; start += 8192)
    text += String.fromCharCode(...bytes.subarray(start, start + 8192));
  return btoa(text);
}

export function saveBlob(name, blob) {
  const url = URL.createObjectURL(blob);
  h('a', { href: url, download: name }).click();
  // Some browsers read the address only after the click has been handled.
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

export const saveText = (name, type, text) => saveBlob(name, new Blob([text], { type: `${type};charset=utf-8` }));

export const saveJson = (name, body) => saveText(name, 'application/json', JSON.stringify(body, null, 1));

export const saveCanvas = (name, canvas) => canvas.toBlob((blob) => saveBlob(name, blob), 'image/png');

/** Rows as CSV. A text cell that a spreadsheet would run as a formula gets a quote in front. */
export function saveCsv(name, rows) {
  const cell = (value) => {
    if (typeof value === 'number') return String(value);
    const text = String(value ?? '').replace(/^(?=[=+\-@\t\r＝＋－＠])|(?<=[;\r\n])(?=[=＝])/g, "'");
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  saveText(name, 'text/csv', rows.map((row) => `${row.map(cell).join(',')}\r\n`).join(''));
}
