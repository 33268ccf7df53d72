// Shows openapi.json: a list with a filter, and one operation at a time. Nothing here sends anything.

import { api, example, inside, limits, read, resolve, typeOf, whole } from './schema.js';
import { language, words } from './words.js';

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

const byId = (id) => document.getElementById(id);

/** An element with properties and children; children that are text stay text. */
function el(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== undefined && child !== ''));
  return element;
}

/** Text in which `…` is code. */
const prose = (text = '') => text.split('`').map((part, index) => index % 2 ? el('code', null, part) : part);

const operations = [];

function line({ name, child, required }) {
  const found = whole(child);
  const says = resolve(child).description ?? '';
  return el('span', { class: 'line' },
    el('span', { class: 'name' }, name), ' ', el('span', { class: 'type' }, `${typeOf(child)}  ${limits(found)}`.trim()),
    required ? [' ', el('span', { class: 'required' }, words.required)] : '',
    says ? [' ', el('span', { class: 'says' }, ...prose(says))] : '');
}

/** A row of the tree. What is inside is made when it is opened, so that cycles do no harm. */
function branch(row, depth) {
  const rows = inside(row.child);
  if (!rows.length) return el('li', null, line(row));
  const details = el('details', null, el('summary', null, line(row)));
  const fill = () => { if (details.open && details.children.length === 1) details.append(list(rows, depth + 1)); };
  details.addEventListener('toggle', fill);
  if (depth < 1 && rows.length < 12) { details.open = true; fill(); }
  return el('li', null, details);
}

const list = (rows, depth) => el('ul', null, rows.map((row) => branch(row, depth)));

function tree(schema) {
  const rows = inside(schema);
  const top = rows.length ? list(rows, 0) : el('ul', null, el('li', null, line({ name: '', child: schema })));
  top.classList.add('tree');
  return top;
}

const bodySchema = (operation) => Object.values(operation.requestBody?.content ?? {})[0]?.schema;
const isForm = (operation) => 'multipart/form-data' in (operation.requestBody?.content ?? {});

function curl({ path, method, operation }) {
  const address = location.origin + path.replace(/\{(\w+)\}/g, (_, name) => name.replace(/[A-Z]/g, '_$&').toUpperCase());
  const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const parts = [`curl ${method === 'get' ? '' : `-X ${method.toUpperCase()} `}${quote(address)}`];
  if (operation.security?.length) parts.push('-H "Authorization: Bearer $HAFT_TOKEN"');
  const schema = bodySchema(operation);
  if (isForm(operation)) parts.push(...Object.keys(resolve(schema).properties).map((name) => `-F ${name}=@FILE`));
  else if (schema) parts.push("-H 'Content-Type: application/json'", `-d ${quote(JSON.stringify(example(schema, false)))}`);
  return parts.join(' \\\n  ');
}

/** Text with a button that copies it. */
function copyable(text) {
  const shown = el('pre', { tabindex: '0' }, text);
  const button = el('button', { type: 'button', onclick: copy }, words.copy);
  async function copy() {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Without a secure connection there is no clipboard; the old way needs a selection.
      getSelection().selectAllChildren(shown);
      document.execCommand('copy');
    }
    button.textContent = words.copied;
    setTimeout(() => { button.textContent = words.copy; }, 1500);
  }
  return el('div', { class: 'copy' }, shown, button);
}

function needs(operation) {
  const word = operation['x-needs'];
  if (word === 'nothing' || word === 'identity' || word === 'operator') return words[word];
  const [{ bearer = [] } = {}, { session = [] } = {}] = operation.security ?? [];
  return words.needs(bearer[0], session[0]);
}

function parameterTable(parameters) {
  const row = (parameter) => el('tr', null,
    el('td', null, el('span', { class: 'name' }, parameter.name), parameter.required ? [' ', el('span', { class: 'required' }, words.required)] : ''),
    el('td', null, words.places[parameter.in] ?? parameter.in),
    el('td', { class: 'type' }, typeOf(parameter.schema)),
    el('td', null, ...prose(parameter.description)));
  const head = [words.name, words.where, words.kind, words.says].map((title) => el('th', { scope: 'col' }, title));
  return el('table', null, el('thead', null, el('tr', null, head)), el('tbody', null, parameters.map(row)));
}

const folded = (title, content) => el('details', null, el('summary', null, title), content);

function answer([status, response]) {
  const { description, content } = resolve(response);
  const details = el('details', { class: 'answer' }, el('summary', null,
    el('span', { class: `status ${status < 400 ? 'good' : 'bad'}` }, status), el('span', null, ...prose(description))));
  details.addEventListener('toggle', () => {
    if (details.children.length > 1) return;
    for (const [type, { schema }] of Object.entries(content ?? {})) {
      details.append(el('p', { class: 'hint' }, type), tree(schema));
      if (type === 'application/json') details.append(folded(words.example, copyable(JSON.stringify(example(schema, true), null, 2))));
    }
    if (!content) details.append(el('p', { class: 'hint' }, words.noBody));
  });
  details.open = status < 300;
  return details;
}

const badge = (method) => el('span', { class: `method ${method}` }, method === 'delete' ? 'DEL' : method.toUpperCase());
const section = (title, ...content) => [el('h2', null, title), ...content];

function showOperation(entry) {
  const { path, method, operation } = entry;
  const parameters = (operation.parameters ?? []).map(resolve);
  const schema = bodySchema(operation);
  byId('main').replaceChildren(
    el('h1', { tabindex: '-1' }, badge(method), el('span', { class: 'path' }, path)),
    el('p', { class: 'lead' }, ...prose(operation.summary)),
    el('p', { class: 'needs' }, needs(operation)),
    ...section(words.curl, copyable(curl(entry))),
    ...(parameters.length ? section(words.parameters, parameterTable(parameters)) : []),
    ...(schema ? section(words.body, el('p', null, ...prose(resolve(schema).description)), tree(schema),
      folded(words.example, copyable(JSON.stringify(example(schema, false), null, 2)))) : []),
    ...section(words.answers, ...Object.entries(operation.responses).map(answer)));
  document.title = `${method.toUpperCase()} ${path} · Haft API`;
}

function showOverview() {
  const { info, components, tags } = api;
  byId('main').replaceChildren(
    el('h1', { tabindex: '-1' }, `${info.title} API`),
    el('p', { class: 'lead' }, info.summary ?? ''),
    ...info.description.split('\n').map((text) => el('p', null, ...prose(text))),
    ...section(words.identityTitle, ...Object.values(components.securitySchemes).map((scheme) => el('p', null, ...prose(scheme.description)))),
    ...section(words.document, el('p', null, el('a', { href: 'openapi.json' }, 'openapi.json'), ` (OpenAPI ${api.openapi})`),
      el('ul', null, tags.map((tag) => el('li', null, el('strong', null, tag.name), ' ', tag.description)))),
    el('p', { class: 'hint' }, words.keys));
  document.title = 'Haft API';
}

const current = () => operations.findIndex(({ operation }) => operation.operationId === location.hash.slice(1));

function show() {
  if (location.hash === '#main') return;
  const entry = operations[current()];
  if (entry) showOperation(entry); else showOverview();
  for (const { link } of operations) link.removeAttribute('aria-current');
  entry?.link.setAttribute('aria-current', 'page');
  entry?.link.scrollIntoView({ block: 'nearest' });
  scrollTo(0, 0);
  return byId('main').querySelector('h1');
}

function fillList() {
  const groups = new Map(api.tags.map((tag) => [tag.name, el('ul')]));
  for (const [path, item] of Object.entries(api.paths)) {
    for (const method of METHODS.filter((name) => item[name])) {
      const operation = item[method];
      const link = el('a', { href: `#${operation.operationId}`, title: operation.summary }, badge(method), el('span', { class: 'path' }, path.replace(/^\/api/, '')));
      const row = el('li', null, link);
      const text = `${method} ${path} ${operation.summary} ${operation.operationId} ${operation.tags}`.toLowerCase();
      operations.push({ path, method, operation, link, row, text, group: groups.get(operation.tags[0]) });
    }
  }
  // The order of the list is the order of j and k.
  const order = [...groups.values()];
  operations.sort((a, b) => order.indexOf(a.group) - order.indexOf(b.group));
  for (const { row, group } of operations) group.append(row);
  byId('operations').replaceChildren(...[...groups].map(([name, group]) => el('section', null, el('h2', null, name), group)));
}

function filter() {
  const wanted = byId('filter').value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const { row, text } of operations) {
    row.hidden = !wanted.every((word) => text.includes(word));
    shown += row.hidden ? 0 : 1;
  }
  for (const group of byId('operations').children) group.hidden = !group.querySelector('li:not([hidden])');
  byId('found').textContent = words.found(shown, operations.length);
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const box = byId('filter');
  const typing = document.activeElement === box;
  const links = operations.filter(({ row }) => !row.hidden).map(({ link }) => link);
  const at = links.indexOf(document.activeElement);
  if (event.key === '/' && !typing) box.focus();
  else if (event.key === 'Escape' && typing) { box.value = ''; filter(); }
  else if (event.key === 'Enter' && typing) links[0]?.click();
  else if (event.key === 'ArrowDown' && (typing || at >= 0)) links[at + 1]?.focus();
  else if (event.key === 'ArrowUp' && at >= 0) (links[at - 1] ?? box).focus();
  else if ((event.key === 'j' || event.key === 'k') && !typing) {
    const next = operations[current() + (event.key === 'j' ? 1 : -1)];
    if (next) location.hash = next.operation.operationId;
  } else return;
  event.preventDefault();
}

/** Where nothing may be stored, the choice lasts as long as the page. */
const stored = {
  get: () => { try { return localStorage.getItem('haft-docs-theme'); } catch { return null; } },
  set: (theme) => { try { localStorage.setItem('haft-docs-theme', theme); } catch { /* It is only a color. */ } },
};

function chooseTheme(theme) {
  document.documentElement.dataset.theme = theme;
  byId('theme').textContent = words.theme[theme];
  byId('theme').setAttribute('aria-label', `${words.themeLabel}: ${words.theme[theme]}`);
  byId('theme').onclick = () => {
    const next = { auto: 'light', light: 'dark', dark: 'auto' }[theme];
    stored.set(next);
    chooseTheme(next);
  };
}

async function start() {
  document.documentElement.lang = language === 'zh' ? 'zh-CN' : 'en';
  byId('skip').textContent = words.skip;
  byId('filter').placeholder = words.filter;
  byId('filter').setAttribute('aria-label', words.filter);
  const theme = stored.get();
  chooseTheme(theme in words.theme ? theme : 'auto');
  try {
    const answered = await fetch('openapi.json');
    if (!answered.ok) throw new Error(String(answered.status));
    read(await answered.json());
  } catch (error) {
    byId('main').replaceChildren(el('p', { class: 'error', role: 'alert' }, `${words.failed} ${error.message}`));
    return;
  }
  byId('version').textContent = api.info.version;
  fillList();
  filter();
  show();
  byId('filter').addEventListener('input', filter);
  addEventListener('keydown', onKey);
  addEventListener('hashchange', () => show()?.focus({ preventScroll: true }));
}

start();
