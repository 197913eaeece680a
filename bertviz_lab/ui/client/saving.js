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

export function decodeBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let index = 0; index < raw.length; index += 1) bytes[index] = raw.charCodeAt(index);
  return bytes;
}

export function encodeBase64(array) {
  const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
  let text = '';
  for (let start = 0; start < bytes.length; start += 8192)
    text += String.fromCharCode(...bytes.subarray(start, start + 8192));
  return btoa(text);
}

export function saveBlob(name, blob) {
  const url = URL.createObjectURL(blob);
  const link = h('a', { href: url, download: name });
  link.click();
  // Some browsers read the address only after the click has been handled.
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

export const saveText = (name, type, text) => saveBlob(name, new Blob([text], { type: `${type};charset=utf-8` }));

export const saveJson = (name, body) => saveText(name, 'application/json', JSON.stringify(body, null, 1));

export const saveCanvas = (name, canvas) => canvas.toBlob((blob) => saveBlob(name, blob), 'image/png');

/** Rows as CSV. A text cell that a spreadsheet would run as a formula gets a quote in front. */
export function saveCsv(name, rows) {
  const cell = (value) => {
    if (value === null || value === undefined) return '';
    if (typeof value === 'number') return String(value);
    const text = String(value).replace(/^(?=[=+\-@\t\r＝＋－＠])|(?<=[;\r\n])(?=[=＝])/g, "'");
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  saveText(name, 'text/csv', `${rows.map((row) => row.map(cell).join(',')).join('\r\n')}\r\n`);
}
