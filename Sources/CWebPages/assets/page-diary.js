/** Diary: symptoms, medications, moods, the cycle and notifications, day by day. */
import {getOrNone} from "./api.js";
import {button, choices, empty, h} from "./dom.js";
import {civilDay, clockTime, count, dayOf} from "./format.js";

const lengths = [30, 90, 365];
/** @type {Record<string, [one: string, several: string]>} */
const kinds = {
    symptom: ["Symptom", "Symptoms"],
    medication: ["Medication", "Medications"],
    mood: ["Mood", "Moods"],
    cycle: ["Cycle", "Cycle"],
    notification: ["Notification", "Notifications"],
};
/** How many entries are shown at once. */
const step = 200;

async function load({query, signal}) {
    const asked = Number(query.get("days"));
    const days = lengths.includes(asked) ? asked : lengths[1];
    const kind = query.get("kind") in kinds ? query.get("kind") : null;
    const shown = Math.max(step, Number(query.get("shown")) || 0);
    const answer = await getOrNone("diary", {since: `${days}d`}, signal);
    return {days, kind, shown, entries: answer?.rows ?? [], newest: answer?.newest ?? null};
}

function draw({days, kind, shown, entries, newest}, place) {
    const present = Object.keys(kinds).filter((name) => entries.some((one) => one.kind === name));
    const own = {
        ...place,
        setQuery: (changes) => place.setQuery({
            shown: null, ...changes, ...changes.kind === "all" && {kind: null}
        })
    };
    const options = lengths.map((length) => [length, length === 365 ? "1 year" : `${length} days`]);
    const heading = [
        h("h1", null, "Diary"),
        h("div", {class: "controls"}, choices("Days", "days", options, days, own),
            present.length < 2 && !kind ? null
                : choices("What", "kind", [["all", "All"], ...present.map((name) => [name, kinds[name][1]])],
                    kind ?? "all", own)),
    ];
    const chosen = entries.filter((one) => !kind || one.kind === kind);
    if (chosen.length === 0) {
        return [
            heading,
            empty("Nothing is noted in these days.", "Symptoms, medications, moods, the cycle and "
                + "what your watch told you stand here, if your sources have them.")
        ];
    }
    const byDay = new Map();
    for (const one of chosen.slice(0, shown)) {
        const day = dayOf(one.start);
        if (!byDay.has(day)) byDay.set(day, []);
        byDay.get(day).push(one);
    }
    return [
        heading,
        h("p", {class: "lead"}, h("data", {value: chosen.length, id: "entries"},
            count(chosen.length, "entry", "entries")),
            `, up to ${civilDay(newest, {day: "numeric", month: "long", year: "numeric"})}.`),
        [...byDay].map(([day, ones]) => h("section", {class: "panel", "aria-label": day},
            h("h2", null, civilDay(day, {
                weekday: "long", day: "numeric", month: "long", year: "numeric"
            })),
            h("ul", {class: "entries"}, ones.map(entry)))),
        chosen.length <= shown ? null
            : h("p", null, button("Show more", "more", () => {
                place.setQuery({shown: String(shown + step)});
                place.refresh();
            })),
    ];
}

function entry(one) {
    return h("li", {"data-kind": one.kind},
        h("time", {datetime: one.start, class: "muted small"}, clockTime(one.start)),
        h("span", null, h("strong", null, one.title),
            one.value ? `, ${one.value}` : null,
            one.details ? h("span", {class: "muted"}, ` (${one.details})`) : null),
        h("span", {class: "muted small"}, kinds[one.kind][0]));
}

export default {title: "Diary", load, draw};
