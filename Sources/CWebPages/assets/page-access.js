/** Access: the audit log, which says who read, sent or removed what. */
import {get} from "./api.js";
import {button, choices, empty, h, table} from "./dom.js";
import {count, moment, number, words} from "./format.js";

const lengths = [["1d", "1 day"], ["7d", "7 days"], ["30d", "30 days"], ["all", "All"]];
/** As many rows as are shown at first. */
const most = 100;

async function load({query, signal}) {
    const known = lengths.some(([value]) => value === query.get("since"));
    const since = known ? query.get("since") : "7d";
    const entries = await get("access", {since: since === "all" ? null : since}, signal);
    return {since, entries: [...entries].reverse()};
}

function draw({since, entries}, place) {
    const shown = place.query.has("everything") ? entries : entries.slice(0, most);
    return [
        h("h1", null, "Access"),
        h("p", {class: "lead"},
            "Each view and each upload of health data has an entry here. Entries are encrypted ",
            "and chained: ", h("code", null, "clarity-jobs audit log --verify"), " checks them."),
        h("div", {class: "controls"}, choices("Time", "since", lengths, since, place)),
        entries.length === 0
            ? empty("There are no entries in this time.")
            : [howMany(entries, shown, place), h("div", {class: "plain"}, log(shown))],
    ];
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
