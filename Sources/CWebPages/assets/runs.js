/** Words and marks for runs, for every page that shows some. */
import {h} from "./dom.js";
import {clockTime, dayTime, span} from "./format.js";

const states = {
    enqueued: "waits",
    running: "runs now",
    succeeded: "succeeded",
    failed: "failed",
    cancelled: "cancelled",
    skipped: "skipped",
};
const triggers = {
    schedule: "by schedule",
    catchUp: "to catch up",
    manual: "by hand",
    event: "after an event",
    chain: "after another job",
    backfill: "by backfill",
};
const reasons = {
    notDue: "not due yet",
    constraint: "a constraint",
    backoff: "backoff",
    overlap: "another attempt",
    paused: "paused",
};
const subjects = {
    battery_above: "battery",
    external_power: "external power",
    storage_free: "free space",
    earliest_begin: "earliest start",
    max_parallel: "parallel attempts",
};

export const stateText = (state) => states[state] ?? state;
export const triggerText = (trigger) => triggers[trigger] ?? trigger;
export const reasonText = (reason) => reasons[reason] ?? reason;
export const subjectText = (subject) => subjects[subject] ?? subject.replace(/_/g, " ");

/** The state of a run with a mark that does not depend on colour. */
export function stateMark(state) {
    const marks = {
        succeeded: "✓", failed: "✕", running: "▸",
        enqueued: "…", cancelled: "–", skipped: "◇",
    };
    return h("span", {class: `state ${state}`},
        h("span", {class: "mark", "aria-hidden": "true"}, marks[state] ?? "·"), stateText(state));
}

/** Writes the times in a sentence of the command line, which are in UTC, in the account's zone. */
export function localTimes(text) {
    const isNear = (time) => Math.abs(Date.parse(time) - Date.now()) < 43_200_000;
    return text.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g,
        (time) => isNear(time) ? clockTime(time) : dayTime(time));
}

/** A sentence of the command line: its times in the account's zone, names in backticks as code. */
export const commandText = (text) => localTimes(text).split("`")
    .map((part, index) => index % 2 === 1 ? h("code", null, part) : part);

/** What holds a job back, in one line: `network: unmetered wanted, metered measured`. */
export function waitText(deferral) {
    if (deferral.reason === "notDue") return `not due: ${localTimes(deferral.wanted)}`;
    const [wanted, measured] = [deferral.wanted, deferral.measured].map(localTimes);
    return `${subjectText(deferral.subject)}: ${wanted} is wanted, ${measured} was measured`;
}

/** How long a run took, or has taken so far. */
export function runLength(run) {
    if (!run.started_at) return "";
    return span(
        Date.parse(run.finished_at ?? new Date().toISOString()) - Date.parse(run.started_at));
}
