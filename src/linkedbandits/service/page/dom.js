// The few ways in which this page touches the document. Text is only ever set as text, never as HTML; pictures are SVG
// that the service draws, with all text in it escaped, and are parsed as XML, which is never more than a drawing to a
// page that allows no script inside of it. Nothing is written that is already there: at two views a second that is
// what keeps a page of a thousand arms idle.

/** A copy of the content of a <template>, and its elements by their data-part. */
export function instantiate(templateId) {
  const content = document.getElementById(templateId).content.cloneNode(true);
  const parts = {};
  for (const element of content.querySelectorAll("[data-part]")) parts[element.dataset.part] = element;
  return { content, parts };
}

export function setText(element, text) {
  const node = element.firstChild;
  if (node === null) {
    if (text !== "") element.append(text);
  } else if (node.data !== text) {
    node.data = text;
  }
}

const pictures = new WeakMap();

/** A picture in its place, or none for null. */
export function setPicture(element, markup) {
  if ((pictures.get(element) ?? null) === markup) return;
  pictures.set(element, markup);
  if (markup === null) return element.replaceChildren();
  const { documentElement } = new DOMParser().parseFromString(markup, "image/svg+xml");
  element.replaceChildren(document.importNode(documentElement, true));
}

export function setHidden(element, hidden) {
  if (element.hidden !== hidden) element.hidden = hidden;
}

export function setAttribute(element, name, value) {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

/** A custom property that the style sheet draws with. */
export function setProperty(element, name, value) {
  const text = String(value);
  if (element.style.getPropertyValue(name) !== text) element.style.setProperty(name, text);
}

/** Say something to readers who do not see the page change. */
export function announce(message) {
  setText(document.getElementById("announcements"), message);
}
