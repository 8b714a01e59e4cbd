/**
 * The application: finds the page of an address, loads what it shows, and draws it again when
 * something has changed.
 */
import {hasBackend, hasHealth, isCaretaker, isReadOnly, logOut, openSession, RequestError} from "./api.js";
import {announce, button, h, replaceInPlace} from "./dom.js";
import {clockTime, relative, setZone} from "./format.js";
import {listen} from "./live.js";
import {commandText} from "./runs.js";

/**
 * What a page gets of its address, and how it has itself drawn again.
 *
 * @typedef {object} Place
 * @property {string} path
 * @property {string | undefined} id the variable part of the path
 * @property {URLSearchParams} query
 * @property {boolean} readOnly whether actions are refused
 * @property {() => Promise<void>} refresh loads and draws again
 * @property {(changes: Record<string, string | null>) => void} setQuery changes the address
 * @property {AbortSignal} signal aborted when the reader goes to another page
 *
 * A page is a module with a title and two functions.
 *
 * @typedef {object} Page
 * @property {string | ((place: Place) => string)} title
 * @property {(place: Place) => Promise<any>} load
 * @property {(data: any, place: Place) => import("./dom.js").Child[]} draw
 * @property {(data: any) => boolean} [update] shows new data in place; false to have it drawn anew
 */

const pages = [
    ["/today", "./page-today.js"],
    ["/explore", "./page-explore.js"],
    ["/sleep", "./page-sleep.js"],
    ["/workouts", "./page-workouts.js"],
    ["/activity", "./page-activity.js"],
    ["/trends", "./page-trends.js"],
    ["/year", "./page-year.js"],
    ["/diary", "./page-diary.js"],
    ["/ecgs", "./page-ecgs.js"],
    ["/records", "./page-records.js"],
    ["/insights", "./page-insights.js"],
    ["/accounts", "./page-accounts.js"],
    ["/jobs", "./page-jobs.js"],
    ["/data", "./page-data.js"],
    ["/sources", "./page-sources.js"],
    ["/machine", "./page-machine.js"],
    ["/access", "./page-access.js"],
];

const main = document.getElementById("main");
const connection = document.getElementById("connection");
/** @type {{page: Page, place: Place, shown: string, stop: AbortController} | null} */
let current = null;
/** What shows a page now; a reader may go on before it is shown. @type {AbortController | null} */
let showing = null;
/** Whether the server did not answer when a page was to be shown. */
let isUnanswered = false;

async function moduleFor(path) {
    const one = /^\/(run|workout)s\/(\d+)$/.exec(path);
    if (one) return {page: (await import(`./page-${one[1]}.js`)).default, id: one[2]};
    const known = pages.find(([known]) => known === path);
    if (!known) return null;
    return {page: (await import(known[1])).default, id: undefined};
}

/**
 * Shows the page of the present address.
 *
 * @param {boolean} moveFocus whether the reader came by a link
 */
async function show(moveFocus) {
    showing?.abort();
    const stop = new AbortController();
    showing = stop;
    current = null;
    isUnanswered = false;
    closeMenu();
    const late = setTimeout(() => main.replaceChildren(loading()), 150);
    try {
        const session = await openSession();
        const path = pathOf(location.pathname);
        showLinks(path);
        setZone(session.zone ?? Intl.DateTimeFormat().resolvedOptions().timeZone);
        document.getElementById("installation").textContent =
            `clarity-jobs ${session.version}${session.account ? ` · ${session.account}` : ""}`
            + ` · times in ${session.zone ?? "this browser's zone"}`
            + (session.read_only ? " · read only" : "");
        document.getElementById("leave").hidden = false;
        const found = await moduleFor(path);
        if (stop.signal.aborted) return;
        if (!found) throw new RequestError(404, `There is no page ${path}.`);
        const place = {
            path,
            id: found.id,
            query: new URLSearchParams(location.search),
            readOnly: isReadOnly(),
            refresh: () => refresh(true),
            signal: stop.signal,
            setQuery,
        };
        current = {page: found.page, place, shown: "", stop};
        const data = await found.page.load(place);
        if (stop.signal.aborted) return;
        draw(data, main.replaceChildren.bind(main));
        scrollTo(0, 0);
        if (moveFocus) main.focus({preventScroll: true});
        announce(document.title);
    } catch (error) {
        if (stop.signal.aborted) return;
        isUnanswered = error instanceof RequestError && [0, 503].includes(error.status);
        main.replaceChildren(failure(error));
    } finally {
        clearTimeout(late);
        if (!stop.signal.aborted) main.removeAttribute("aria-busy");
    }
}

function draw(data, replace) {
    const {page, place} = current;
    const title = typeof page.title === "function" ? page.title(place) : page.title;
    document.title = `${title} · ClarityJobs`;
    const children =
        page.draw(data, place)
            .flat(Infinity)
            .filter((child) => child !== null && child !== undefined && child !== false);
    replace(...children);
    current.shown = JSON.stringify(data);
}

/**
 * Loads again, and draws if something is different, or if the page asks for it because the reader
 * wants to see another part.
 */
async function refresh(asked = false) {
    const running = current;
    if (!running?.shown) return asked || isUnanswered ? show(false) : undefined;
    try {
        const data = await running.page.load(running.place);
        if (running !== current) return;
        if (!asked && JSON.stringify(data) === running.shown) return;
        if (running.page.update?.(data)) {
            running.shown = JSON.stringify(data);
        } else {
            draw(data, (...children) => replaceInPlace(main, children));
        }
    } catch (error) {
        if (running !== current || running.stop.signal.aborted) return;
        // What is shown stays; a lost connection has its own words.
        if (!(error instanceof RequestError)) throw error;
        if (error.status === 401)
            main.replaceChildren(failure(error));
        else if (error.status !== 0)
            announce(`The page could not be brought up to date: ${error.message}`);
    }
}

function setQuery(changes) {
    const url = new URL(location.href);
    for (const [name, value] of Object.entries(changes)) {
        if (value === null || value === "")
            url.searchParams.delete(name);
        else
            url.searchParams.set(name, value);
    }
    history.replaceState(null, "", url);
    if (current) current.place.query = url.searchParams;
}

const loading = () => {
    main.setAttribute("aria-busy", "true");
    return h("div", {class: "loading"}, h("p", {class: "muted"}, "Loading"),
        [60, 90, 75].map((width) => h("div", {class: `bar w${width}`})));
};

function failure(error) {
    document.title = "Error · ClarityJobs";
    const status = error instanceof RequestError ? error.status : -1;
    const known = {
        0: [
            "clarity-jobs does not answer",
            "The server of these pages may have stopped. Start it with ",
            h("code", null, "clarity-jobs serve"), ", then try again."
        ],
        401: [
            "You are not logged in to these pages",
            "A session lasts twelve hours. For a new link, run ",
            h("code", null, "clarity-jobs serve link"), " and open what it prints."
        ],
        404: ["There is nothing here", commandText(String(error.message))],
        503: ["clarity-jobs is busy", "Too many pages ask at once. Try again in a moment."],
    };
    const [title, ...advice] =
        known[status] ?? ["This page could not be shown", String(error.message)];
    return h("div", {class: "failure", role: "alert"}, h("h1", null, title), h("p", null, advice),
        button("Try again", "again", () => show(false)));
}

/** The path of the page that an address shows. */
function pathOf(path) {
    if (!["/", "/today"].includes(path)) return path;
    if (isCaretaker()) return "/accounts";
    return path === "/" && !hasHealth() ? "/jobs" : "/today";
}

/** Shows the links of what the reader may see, and marks that of a path. */
function showLinks(path) {
    /** @type {NodeListOf<HTMLElement>} */
    const links = document.querySelectorAll("#pages [data-of]");
    const seen = {accounts: isCaretaker(), values: !isCaretaker(), backend: hasBackend()};
    for (const element of links) element.hidden = !seen[element.dataset.of];
    const section = path.replace(/^\/runs\/.*/, "/jobs").replace(/^\/workouts\/.*/, "/workouts");
    for (const link of document.querySelectorAll("#pages a")) {
        if (link.getAttribute("href") === section)
            link.setAttribute("aria-current", "page");
        else
            link.removeAttribute("aria-current");
    }
}

const menu = document.getElementById("menu");
function closeMenu() { menu.setAttribute("aria-expanded", "false"); }
menu.addEventListener("click", () => {
    menu.setAttribute("aria-expanded", String(menu.getAttribute("aria-expanded") !== "true"));
});
document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && menu.getAttribute("aria-expanded") === "true") {
        closeMenu();
        menu.focus();
    }
});

document.getElementById("leave").addEventListener("click", async () => {
    try {
        await logOut();
    } catch (error) {
        // Whose session has ended meanwhile is logged out.
        if (!(error instanceof RequestError)) throw error;
        if (error.status !== 401) {
            announce(`You are still logged in: ${error.message}`);
            return;
        }
    }
    location.assign("/enter");
});

/** A link within the pages needs no new document. */
document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a[href^='/']") : null;
    if (!link || event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    history.pushState(null, "", link.getAttribute("href"));
    show(true);
});
addEventListener("popstate", () => show(false));

setInterval(() => {
    /** @type {NodeListOf<HTMLTimeElement>} */
    const ages = document.querySelectorAll("time[data-age]");
    for (const element of ages) {
        const text = relative(element.dateTime);
        if (element.textContent !== text) element.textContent = text;
    }
}, 20_000);

listen(() => refresh(), (lostSince) => {
    connection.hidden = lostSince === null;
    connection.textContent = lostSince === null ? ""
        : "The connection to clarity-jobs is lost. This page shows the state of "
            + `${clockTime(lostSince)}, and updates itself when the connection is back.`;
});
show(false);
