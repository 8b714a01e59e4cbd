/** Accounts: whether each account's data is up to date, and why not. */
import {get} from "./api.js";
import {choices, empty, h, table} from "./dom.js";
import {age, count, moment, number} from "./format.js";
import {commandText} from "./runs.js";

const filters = [["all", "All"], ["not-fresh", "Not up to date"]];
/** As many rows as are shown; a study with more looks at those that are not up to date. */
const most = 500;

async function load({query, signal}) {
    const {accounts} = await get("accounts", {}, signal);
    return {accounts, filter: query.get("show") === "not-fresh" ? "not-fresh" : "all"};
}

function draw({accounts, filter}, place) {
    if (accounts.length === 0) {
        return [
            h("h1", null, "Accounts"),
            empty("There are no accounts yet.", "Run ",
                h("code", null, "clarity-jobs accounts add"), " to add one.")
        ];
    }
    const wanted = accounts.filter((one) => filter === "all" || one.state !== "fresh");
    return [
        h("h1", null, "Accounts"),
        h("p", {class: "lead"}, headline(accounts)),
        h("div", {class: "controls"}, choices("Show", "show", filters, filter, place)),
        wanted.length === 0 ? empty("Everybody's data is up to date.")
            : table("Accounts", ["Account", "State", "Since", "Why", "#Waiting", "Last read"],
                wanted.slice(0, most).map(row)),
        wanted.length > most
            ? h("p", {class: "muted small"}, `${number(wanted.length - most)} more are not shown.`)
            : null,
    ];
}

function headline(accounts) {
    const fresh = accounts.filter((one) => one.state === "fresh").length;
    return `${count(accounts.length, "account", "accounts")}, ${number(fresh)} up to date. `
        + "Nobody's values are shown here.";
}

const marks = {
    fresh: [null, "✓ up to date"],
    not_fresh: ["alarm", "not up to date"],
    disabled: ["muted", "disabled"],
    unknown: ["muted", "not known yet"],
};

function row(one) {
    const [style, text] = marks[one.state] ?? ["muted", one.state];
    return [
        h("a", {href: `/jobs?account=${encodeURIComponent(one.account)}`,
            "data-account": one.account}, one.account),
        h("span", {class: style}, text),
        one.since ? age(one.since) : "",
        commandText(one.why.join("; ")),
        one.waiting === null ? "" : number(one.waiting),
        one.last_reading_at ? moment(one.last_reading_at) : "",
    ];
}

export default {title: "Accounts", load, draw};
