// The page on which products are listed and one product is edited. All content becomes text, never HTML.
import { changes, merged } from "./merge.js";

const CATEGORIES = ["cups", "plates", "teapots"];
const LABELS = { name: "Name", category: "Category", cents: "Price", stock: "Stock", description: "Description" };
const FIELDS = Object.keys(LABELS);
const LARGEST = 2 ** 32 - 1;

const byId = (id) => document.getElementById(id);
const form = byId("form");

// The product as this page has read it, and the etag of that state.
let base;
let etag;

function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function shown(field, value) {
  if (field === "cents") return (value / 100).toFixed(2);
  return value === "" ? "(empty)" : String(value);
}

// Parses a number of the form. Sets the message of its input, if it is none.
function number(input, pattern, scale, message) {
  const text = input.value.trim().replace(",", ".");
  const value = pattern.test(text) ? Math.round(Number(text) * scale) : NaN;
  input.setCustomValidity(value <= LARGEST ? "" : message);
  return value;
}

function read() {
  const { name, category, cents, stock, description } = form.elements;
  return {
    id: base.id,
    category: category.value,
    name: name.value,
    cents: number(cents, /^\d+(\.\d{1,2})?$/, 100, "A price such as 12.50"),
    stock: number(stock, /^\d+$/, 1, "A whole number"),
    description: description.value,
  };
}

function fill(product) {
  for (const field of FIELDS) setField(field, product[field]);
}

function setField(field, value) {
  form.elements[field].value = field === "cents" ? shown(field, value) : value;
}

function say(text, isBad = false) {
  byId("status").textContent = text;
  byId("status").classList.toggle("bad", isBad);
}

const isEdited = () => {
  const mine = read();
  return FIELDS.some((field) => mine[field] !== base[field]);
};

async function save(event) {
  event.preventDefault();
  const mine = read();
  const unchosen = document.querySelector("#changes fieldset:not(:has(:checked))");
  if (unchosen) {
    say(`Choose a value: ${unchosen.dataset.label}.`, true);
    unchosen.querySelector("input").focus();
    return;
  }
  if (!form.reportValidity()) return;
  byId("save").disabled = true;
  say("Saving…");
  try {
    await send(mine);
  } catch {
    say("The shop cannot be reached. What you typed is still here: save again later.", true);
  } finally {
    byId("save").disabled = false;
  }
}

async function send(mine) {
  const headers = { "content-type": "application/json", "if-match": `${etag}` };
  const response = await fetch(`/products/${base.id}`, { method: "PUT", headers, body: JSON.stringify(mine) });
  const body = await response.json();
  if (response.ok) {
    known(body, response);
    clearReview();
    fill(body);
    say("Saved.");
  } else if (response.status === 412 && body.current) {
    review(mine, body.current, response);
  } else if (response.status === 412) {
    say("Another user has deleted this product. What you typed is still here.", true);
  } else if (body.holder) {
    const seconds = response.headers.get("retry-after");
    say(`${body.holder} is taking stock of this product. What you typed is still here: save again, at the latest in ${seconds} s.`, true);
  } else {
    say(`${body.detail}. What you typed is still here.`, true);
  }
}

function known(product, response) {
  base = product;
  etag = response.headers.get("etag");
  byId("title").textContent = product.name;
  document.title = `${product.name} · Shop`;
}

// Shows what another user has changed. The next save starts from the state that the other user has left.
function review(mine, theirs, response) {
  const found = changes(FIELDS, base, mine, theirs);
  known(theirs, response);
  fill(merged(theirs, found));
  if (found.length === 0) {
    clearReview();
    say("Saved: another user has made the same changes.");
    return;
  }
  byId("changes").replaceChildren(...["both", "theirs", "mine"].flatMap((kind) => found.filter((it) => it.kind === kind)).map(card));
  byId("review").hidden = false;
  byId("save").textContent = "Save both changes";
  say("");
  byId("review").focus();
}

function clearReview() {
  byId("review").hidden = true;
  byId("changes").replaceChildren();
  byId("save").textContent = "Save";
}

function card(change) {
  const { field, kind } = change;
  if (kind === "both") return choice(change);
  const [now, note] = kind === "theirs" ? ["Theirs", "only the other user changed it"] : ["Yours", "only you changed it"];
  const title = element("h3", {}, LABELS[field], element("span", {}, `: ${note}`));
  const value = (side, text) => [element("dt", {}, text), element("dd", {}, shown(field, change[side]))];
  return element("article", {}, title, element("dl", {}, ...value("base", "It was"), ...value(kind, now)));
}

function choice({ field, base: before, mine, theirs }) {
  const option = (side, text, value) => {
    const input = element("input", { type: "radio", name: `choice-${field}`, value: side, id: `choice-${field}-${side}` });
    input.addEventListener("change", () => setField(field, value));
    return element("label", { htmlFor: input.id }, input, element("span", {}, text), element("b", {}, shown(field, value)));
  };
  const legend = element("legend", {}, `${LABELS[field]}: both of you changed it`);
  const was = element("p", {}, `It was ${shown(field, before)}.`);
  const set = element("fieldset", {}, legend, was, option("mine", "Yours", mine), option("theirs", "Theirs", theirs));
  set.dataset.label = LABELS[field];
  set.dataset.field = field;
  return set;
}

// A value that the user types after a conflict is the choice of the user.
form.addEventListener("input", ({ target }) => {
  target.setCustomValidity("");
  const set = document.querySelector(`#changes fieldset[data-field="${target.name}"]`);
  if (set) {
    set.querySelector("input").checked = true;
    set.querySelector("b").textContent = target.value;
  }
});
form.addEventListener("submit", save);
window.addEventListener("beforeunload", (event) => {
  if (base && isEdited()) event.preventDefault();
});

async function edit(id) {
  byId("editor").hidden = false;
  const response = await fetch(`/products/${encodeURIComponent(id)}`);
  const body = await response.json();
  if (!response.ok) {
    form.hidden = true;
    byId("title").textContent = body.detail;
    return;
  }
  known(body, response);
  fill(body);
}

async function list() {
  byId("list").hidden = false;
  for (const category of CATEGORIES) {
    const items = element("ul", {});
    byId("categories").append(element("h2", {}, category), items);
    await more(category, items, "");
  }
}

async function more(category, items, page) {
  const response = await fetch(`/products?${new URLSearchParams({ category, ...(page && { page }) })}`);
  const body = await response.json();
  for (const product of body.items) {
    const link = element("a", { href: `/?${new URLSearchParams({ product: product.id })}` }, product.name);
    const facts = element("span", {}, `${shown("cents", product.cents)} · ${product.stock} in stock`);
    items.append(element("li", {}, link, facts));
  }
  if (body.next) {
    const button = element("button", { type: "button" }, "More");
    button.addEventListener("click", () => {
      button.parentElement.remove();
      more(category, items, body.next);
    });
    items.append(element("li", {}, button));
  }
}

const product = new URLSearchParams(location.search).get("product");
await (product ? edit(product) : list());
