/** Data: where every record and every sample is, and what needs a person. */
import {actionButton} from "./actions.js";
import {get} from "./api.js";
import {behind, empty, h, table} from "./dom.js";
import {flow} from "./flow.js";
import {count, moment, number, words} from "./format.js";

async function load({signal}) {
    const [outbox, servers] = await Promise.all([
        get("outbox", {}, signal), get("fhir", {}, signal)
    ]);
    const examples = await Promise.all(outbox.for_a_person.map(
        (group) => get(
            "outbox/list", {state: stateWord(group.state), kind: group.type, limit: 20}, signal)));
    return {outbox, examples, servers};
}

/** The state as an option takes it: `set-aside`. */
const stateWord = (state) => state.replace(/[_ ]/g, "-");

const recordFates = [
    ["queued", "Queued as samples"], ["folded", "Part of a day or night"], ["known", "Duplicates"],
    ["paired", "Second halves of pairs"], ["repeated", "Repeated"], ["unmapped", "Kept here only"],
    ["refused", "Refused"], ["before_since", "Before the first day"],
];
const dayFates = [
    ["queued", "Queued"], ["known", "Duplicates"], ["replaced", "Replaced unsent ones"],
    ["corrected", "Corrections"], ["refused", "Refused"], ["before_since", "Before the first day"],
];
const sampleStates = [
    ["confirmed", "Confirmed"], ["stored", "Stored"], ["accepted", "Accepted"],
    ["waiting", "Waiting"], ["unconfirmed", "Unconfirmed"], ["rejected", "Rejected"],
    ["set_aside", "Set aside"], ["discarded", "Discarded"],
];
const alarming = new Set(["rejected", "set_aside", "unconfirmed", "refused"]);

function draw({outbox, examples, servers}, place) {
    const {records, days_and_nights: days, outbox: samples} = outbox;
    if (records.read === 0 && samples.samples === 0) {
        return [
            h("h1", null, "Data"),
            destinations(servers),
            empty("No record was read yet.", "The next run of an upload reads the sources.")
        ];
    }
    return [
        h("h1", null, "Data"),
        h("p", {class: "lead"},
            outbox.balanced
                ? "Every record is accounted for: all sums below add up."
                : h("strong", {class: "alarm"}, "The sums do not add up. Run clarity-jobs audit.")),
        h("section", {class: "panel", "aria-labelledby": "flow"},
            h("h2", {id: "flow"}, "From records to confirmed samples"), picture(outbox),
            behind("The same as a table",
                () => h("div", null,
                    sums(`${number(records.read)} records that were read`, recordFates, records),
                    sums(`${number(days.made)} days, nights and workouts that were made of them`,
                        dayFates, days),
                    sums(`${number(samples.samples)} samples in the outbox`, sampleStates,
                        samples)))),
        h("section", {class: "panel", "aria-labelledby": "person"},
            h("h2", {id: "person"}, "Waiting for your decision"),
            outbox.for_a_person.length === 0
                ? h("p", {class: "muted"}, "No sample needs a decision.")
                : h("ul", {class: "needs"},
                      outbox.for_a_person.map(
                          (group, index) => need(group, examples[index], place)))),
        destinations(servers),
        reasons(outbox),
    ];
}

/** What each FHIR server has of the archive; nothing without such a job. */
function destinations(servers) {
    if (servers.length === 0) return null;
    const heads = [
        "Job", "#In the archive", "#Sent", "#Refused", "#Waiting", "#Not for it", "#Resources there"
    ];
    return h("section", {class: "panel", "aria-labelledby": "fhir"},
        h("h2", {id: "fhir"}, "FHIR servers"),
        table("FHIR servers", heads, servers.map((one) => [
            h("span", {title: one.url}, one.job), number(one.records), number(one.sent),
            number(one.refused), number(one.waiting), number(one.others), number(one.resources),
        ])));
}

/**
 * The ledger's equations as a picture. What was removed from the outbox after it was sent is a part
 * of the samples too: samples + removed = queued + days and nights + corrections + from before.
 */
function picture({records, days_and_nights: days, outbox: samples, ledger}) {
    const part = (prefix, list, values, more = {}) => list.map(
        ([key, name]) => (
            {id: `${prefix}.${key}`, name, value: values[key], alarm: alarming.has(key), ...more}));
    const states = [...sampleStates, ["removed", "Sent and removed here"]];
    const ends = {...samples, removed: ledger.removed};
    return flow(
        [
            [{id: "records.read", name: "Records read", value: records.read}],
            part("records", recordFates, records),
            [
                {
                    id: "days.made",
                    name: "Days and nights",
                    value: days.made,
                    beside: "records.folded"
                },
                {id: "ledger.from_before", name: "From before", value: ledger.from_before}
            ],
            [
                {id: "outbox.samples", name: "Samples", value: samples.samples + ledger.removed},
                ...part("days", dayFates.filter(([key]) => !["queued", "corrected"].includes(key)),
                    days, {beside: "days.made"})
            ],
            part("outbox", states, ends),
        ],
        [
            ...recordFates.map(
                ([key]) => ({from: "records.read", to: `records.${key}`, value: records[key]})),
            {from: "records.queued", to: "outbox.samples", value: records.queued},
            {from: "records.folded", to: "days.made", value: days.made, joins: true},
            {from: "days.made", to: "outbox.samples", value: days.queued + days.corrected},
            {from: "ledger.from_before", to: "outbox.samples", value: ledger.from_before},
            ...dayFates.map(([key]) => ({from: "days.made", to: `days.${key}`, value: days[key]})),
            ...states.map(
                ([key]) => ({from: "outbox.samples", to: `outbox.${key}`, value: ends[key]})),
        ]);
}

function sums(caption, parts, values) {
    const shown = parts.filter(([key]) => values[key] !== 0);
    return h("div", {class: "sums"}, h("h3", null, caption),
        table(caption, ["What became of them", "#Number"], [
            ...shown.map(([key, name]) => [name, number(values[key])]),
            [
                h("strong", null, "Sum"),
                h("strong", null, number(shown.reduce((sum, [key]) => sum + values[key], 0)))
            ]
        ]));
}

function need(group, samples, place) {
    const what = count(group.count, "sample");
    const [type, state] = [group.type, group.state].map((name) => words(name).toLowerCase());
    const heads = ["#Sample", "Measured", "#Failed sends", "Reason"];
    return h("li", {"data-need": `${group.type} ${group.state}`},
        h("div", {class: "section-head"},
            h("p", null, h("strong", null, `${what} of ${type}`), ` ${state}`, h("br"),
                h("span", {class: "muted"}, group.reason)),
            place.readOnly ? null : remedies(group, what, place)),
        behind(`Newest of ${type}, ${state}`,
            () => table(`Samples of ${type}`, place.readOnly ? heads : [...heads, "Decision"],
                samples.map((one) => [
                    number(one.id), moment(one.start), number(one.failures), one.reason ?? "",
                    ...place.readOnly ? [] : [oneRemedies(one, group, place)],
                ]))));
}

/** What a retry may do to samples that the backend has accepted before. */
const doubling = (group) => group.state === "unconfirmed"
    ? " The backend accepted this before; if it does not deduplicate, it may have it twice." : "";
/** The backend has an unconfirmed sample, so nobody can give it up. */
const canDiscard = (group) => group.state !== "unconfirmed";

function remedies(group, what, place) {
    const fields = {state: stateWord(group.state), kind: group.type};
    return h("div", {class: "buttons"},
        actionButton("Retry", "outbox-retry", fields, place, {
            done: `${what} queued again.`,
            label: `Retry ${group.type}`,
            confirm: {
                title: `Retry ${what}?`,
                text: "All samples of this type in this state are queued. If the backend refuses"
                    + ` them again, they come back here.${doubling(group)}`,
            },
        }),
        canDiscard(group) ? actionButton("Discard", "outbox-discard", fields, place, {
            done: `${what} discarded.`,
            label: `Discard ${group.type}`,
            confirm: {
                title: `Discard ${what}?`,
                text: "They are never sent, even if an export has them again, and their values on"
                    + " this machine are deleted. This cannot be undone.",
            },
        }) : null);
}

/** The same for one sample. */
function oneRemedies({id}, group, place) {
    const name = `sample ${id}`;
    const fields = {id: String(id)};
    return h("div", {class: "buttons"},
        actionButton("Retry", "sample-retry", fields, place, {
            done: `Sample ${id} queued again.`,
            label: `Retry ${name}`,
            confirm: {
                title: `Retry ${name}?`,
                text: "If the backend refuses it again, it comes back here." + doubling(group),
            },
        }),
        canDiscard(group) ? actionButton("Discard", "sample-discard", fields, place, {
            done: `Sample ${id} discarded.`,
            label: `Discard ${name}`,
            confirm: {
                title: `Discard ${name}?`,
                text: "It is never sent, even if an export has it again, and its value on this"
                    + " machine is deleted. This cannot be undone.",
            },
        }) : null);
}

function reasons(outbox) {
    const lists = [
        ["Types that the backend does not accept, kept here only", outbox.unmapped],
        ["Refused records", outbox.refused],
        ["Refused days, nights and workouts", outbox.refused_days_and_nights]
    ].filter(([, counts]) => Object.keys(counts).length > 0);
    const doubled = outbox.possibly_doubled;
    if (lists.length === 0 && doubled.samples === 0) return null;
    return h("section", {class: "panel", "aria-labelledby": "reasons"},
        h("h2", {id: "reasons"}, "Reasons"),
        doubled.samples === 0 ? null : h("p", null, "The backend may have ",
            count(doubled.samples, "sample"), " twice, because uploads were not answered."),
        lists.map(
            ([title, counts]) => h("div", {class: "sums"}, h("h3", null, title),
                table(title, ["What", "#Number"],
                    Object.entries(counts).map(([name, value]) => [words(name), number(value)])))));
}

export default {title: "Data", load, draw};
