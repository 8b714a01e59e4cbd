/** Access: who is logged in to these pages, and the audit log: who read, sent or removed what. */
import {actionButton} from "./actions.js";
import {get, isCaretaker, openSession} from "./api.js";
import {button, choices, empty, h, table} from "./dom.js";
import {age, count, moment, number, words} from "./format.js";

const lengths = [["1d", "1 day"], ["7d", "7 days"], ["30d", "30 days"], ["all", "All"]];
/** As many rows as are shown at first. */
const most = 100;

async function load({query, signal}) {
    const known = lengths.some(([value]) => value === query.get("since"));
    const since = known ? query.get("since") : "7d";
    const [sessions, {session: own}] =
        await Promise.all([get("sessions", {}, signal), openSession()]);
    if (isCaretaker()) return {since, sessions, own, entries: null};
    const entries = await get("access", {since: since === "all" ? null : since}, signal);
    return {since, sessions, own, entries: [...entries].reverse()};
}

function draw({since, sessions, own, entries}, place) {
    return [
        h("h1", null, "Access"),
        loggedIn(sessions, own, place),
        entries ? auditLog(since, entries, place) : null,
    ];
}

/** The browsers that are logged in, the newest first. */
function loggedIn(sessions, own, place) {
    const hasAccounts = sessions.some((one) => one.account);
    const row = (one) => [
        h("span", {"data-session": one.session}, h("code", null, one.session)),
        ...hasAccounts ? [one.account ?? "all"] : [],
        one.browser ?? "",
        one.address ?? "",
        moment(one.begun_at),
        age(one.used_at),
        one.session === own ? h("strong", null, "this browser")
            : place.readOnly ? null
            : actionButton("End", "session-end", {session: one.session}, place, {
                done: "The session is ended.", label: `End the session ${one.session}`,
            }),
    ];
    const others = sessions.length - 1;
    return h("section", {"aria-labelledby": "sessions"},
        h("div", {class: "section-head"}, h("h2", {id: "sessions"}, "Who is logged in"),
            place.readOnly ? null : h("div", {class: "buttons"},
                others < 1 ? null
                    : actionButton("End all others", "sessions-end", {except: own}, place, {
                        done: "All other sessions are ended.",
                        confirm: {
                            title: `End ${count(others, "session", "sessions")}?`,
                            text: "Each of these browsers has to log in again.",
                        },
                    }),
                actionButton("Log out everywhere", "sessions-end", {}, place, {
                    done: "All sessions are ended.",
                    confirm: {
                        title: "Log out everywhere?",
                        text: "This browser has to log in again too.",
                    },
                }))),
        h("div", {class: "plain"}, table("Sessions",
            ["Session", ...hasAccounts ? ["Account"] : [], "Browser", "From", "Since", "Last used",
                ""],
            [...sessions].reverse().map(row))));
}

function auditLog(since, entries, place) {
    const shown = place.query.has("everything") ? entries : entries.slice(0, most);
    return h("section", {class: "below"},
        h("h2", {class: "spaced"}, "The audit log"),
        h("p", {class: "lead"},
            "Each view and each upload of health data has an entry here. Entries are encrypted ",
            "and chained: ", h("code", null, "clarity-jobs audit log --verify"), " checks them."),
        h("div", {class: "controls"}, choices("Time", "since", lengths, since, place)),
        entries.length === 0
            ? empty("There are no entries in this time.")
            : [howMany(entries, shown, place), h("div", {class: "plain"}, log(shown))]);
}

function howMany(entries, shown, place) {
    const all = count(entries.length, "entry", "entries");
    if (shown.length === entries.length) return h("p", {class: "muted small"}, all);
    const showAll = () => {
        place.setQuery({everything: "yes"});
        place.refresh();
    };
    return h("p", {class: "muted small"}, `${all}; the newest ${number(most)} are shown `,
        button("Show all", "everything", showAll, {class: "quiet"}));
}

const log = (entries) => table("The audit log", ["#Entry", "When", "What", "By", "How many"],
    entries.map((one) => [
        h("span", {"data-entry": one.number}, number(one.number)),
        moment(one.at),
        one.damaged ? h("span", {class: "alarm"}, "damaged, cannot be decrypted")
            : words(one.action),
        by(one),
        howMuch(one),
    ]));

function by(one) {
    const link = one.run ? h("a", {href: `/runs/${one.run}`}, `run ${one.run}`) : null;
    return [one.program ?? "", link ? [" · ", link] : null];
}

function howMuch(one) {
    const parts = Object.entries(one.counts ?? {})
        .map(([name, value]) => `${number(value)} ${name.replace(/_/g, " ")}`);
    return [parts.join(", "), one.detail ? h("span", {class: "muted"}, ` ${one.detail}`) : null];
}

export default {title: "Access", load, draw};
