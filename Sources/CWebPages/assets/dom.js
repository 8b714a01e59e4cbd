/**
 * Makes elements. Text is always set as text, never as markup, and styles are set as properties,
 * so the strictest content security policy holds.
 *
 * @typedef {Node | string | number | null | undefined | false} Leaf
 * @typedef {Leaf | (Leaf | any[])[]} Child
 * @typedef {Record<string, any> | null} Attributes
 */

const svgNamespace = "http://www.w3.org/2000/svg";

/**
 * Makes an HTML element.
 *
 * @param {string} name
 * @param {Attributes} [attributes] `onclick: f` adds a listener; `null`, `undefined` and `false`
 *     leave an attribute out
 * @param {...Child} children
 * @returns {any}
 */
export function h(name, attributes, ...children) {
    return fill(document.createElement(name), attributes, children);
}

/**
 * Makes an SVG element.
 *
 * @param {string} name
 * @param {Attributes} [attributes]
 * @param {...Child} children
 * @returns {any}
 */
export function svg(name, attributes, ...children) {
    return fill(document.createElementNS(svgNamespace, name), attributes, children);
}

function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes ?? {})) {
        if (value === null || value === undefined || value === false) continue;
        if (name.startsWith("on"))
            element.addEventListener(name.slice(2), value);
        else if (value === true)
            element.setAttribute(name, "");
        else
            element.setAttribute(name, String(value));
    }
    append(element, children);
    return element;
}

function append(element, children) {
    for (const child of children) {
        if (child === null || child === undefined || child === false) continue;
        if (Array.isArray(child))
            append(element, child);
        else
            element.append(child instanceof Node ? child : String(child));
    }
}

/**
 * A table with a name for those who do not see its heading.
 *
 * @param {string} caption
 * @param {string[]} heads a head that begins with `#` stands over numbers
 * @param {Child[][]} rows
 * @returns {any}
 */
export function table(caption, heads, rows) {
    const numeric = heads.map((head) => head.startsWith("#"));
    const names = heads.map((head) => head.replace(/^#/, ""));
    const cell = (kind, attributes, content, column) =>
        h(kind, {class: numeric[column] ? "number" : null, ...attributes}, content);
    // Where a phone shows rows below each other, the roles keep it a table for a screen reader.
    const head = (name, column) => cell("th", {scope: "col", role: "columnheader"}, name, column);
    const body = (content, column) => column === 0
        ? cell("th", {scope: "row", role: "rowheader"}, content, 0)
        : cell("td", {role: "cell", "data-head": names[column]}, content, column);
    return h("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": caption},
        h("table", {role: "table", class: heads.length > 3 ? "wide" : null, "aria-label": caption},
            h("thead", {role: "rowgroup"}, h("tr", {role: "row"}, names.map(head))),
            h("tbody", {role: "rowgroup"}, rows.map((row) =>
                h("tr", {role: "row"}, row.map(body))))));
}

/**
 * The table behind a chart, closed at first. Its rows are made when somebody opens it.
 *
 * @param {string} summary also its key: it stays open when the page is drawn again
 * @param {() => Child} make
 * @returns {any}
 */
export function behind(summary, make) {
    const details = h(
        "details", {class: "behind", "data-key": `behind ${summary}`}, h("summary", null, summary));
    details.addEventListener("toggle", () => {
        if (details.open && details.children.length === 1) append(details, [make()]);
    });
    return details;
}

/** A button. `key` finds it again after the page was drawn anew. */
export function button(text, key, onclick, attributes) {
    return h("button", {type: "button", "data-key": key, onclick, ...attributes}, text);
}

/**
 * Buttons of which one is pressed. A press changes the address, and shows what it stands for.
 *
 * @param {string} label
 * @param {string} name of the parameter in the address
 * @param {(string | number)[][]} options pairs of a value and its text
 * @param {string | number} chosen
 * @param {import("./app.js").Place} place
 */
export function choices(label, name, options, chosen, place) {
    const choose = (value) => {
        place.setQuery({[name]: String(value)});
        place.refresh();
    };
    return h("div", {class: "buttons", role: "group", "aria-label": label},
        options.map(([value, text]) => button(text, `${name} ${value}`, () => choose(value),
            {"aria-pressed": String(value === chosen)})));
}

/** Terms and their descriptions; those without a description are left out. */
export function facts(pairs, attributes) {
    return h("dl", {class: "facts", ...attributes},
        pairs.filter(([, value]) => value !== null && value !== undefined && value !== "")
            .map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value))));
}

/** What a page shows in place of an empty list. */
export function empty(title, ...advice) {
    return h("div", {class: "empty"}, h("p", {class: "strong"}, title),
        advice.length > 0 ? h("p", null, advice) : null);
}

/** What a page shows that has no health data yet. */
export const noData = () => empty("There is no health data yet.",
    "Name a source in the job file and run ",
    h("code", null, "clarity-jobs run --due"), ", or read a file with ",
    h("code", null, "clarity-jobs import FILE"), ".");

/**
 * Replaces the children of an element and keeps the reader's place: what is open stays open, the
 * focus stays where it was, and the page does not scroll.
 *
 * @param {HTMLElement} root
 * @param {Node[]} children
 */
export function replaceInPlace(root, children) {
    /** @returns {NodeListOf<HTMLDetailsElement>} */
    const details = () => root.querySelectorAll("details[data-key]");
    const wasOpen = new Map([...details()].map((one) => [one.dataset.key, one.open]));
    const focused = root.contains(document.activeElement) ? document.activeElement : null;
    /** @type {HTMLElement | null | undefined} */
    const keyed = focused?.closest("[data-key]");
    const key = keyed?.dataset.key;
    const {scrollX, scrollY} = window;
    root.replaceChildren(...children);
    for (const one of details()) one.open = wasOpen.get(one.dataset.key) ?? one.open;
    if (key) {
        /** @type {HTMLElement | null} */
        const next = root.querySelector(`[data-key="${CSS.escape(key)}"]`);
        const target = next?.matches("details") ? next.querySelector("summary") : next;
        target?.focus({preventScroll: true});
    }
    window.scrollTo(scrollX, scrollY);
}

/** Has a screen reader say a text. */
export function announce(text) {
    const place = document.getElementById("announcement");
    place.textContent = "";
    // An unchanged text would not be said again.
    requestAnimationFrame(() => {
        place.textContent = text;
    });
}
