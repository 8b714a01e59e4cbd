/**
 * Buttons that do something. Each one says what happened, and the page shows it without reloading.
 */
import {act} from "./api.js";
import {announce, button, h} from "./dom.js";

/**
 * A button for an action.
 *
 * @param {string} text
 * @param {string} name the action
 * @param {Record<string, string>} fields
 * @param {import("./app.js").Place} place
 * @param {{main?: boolean, done: string, label?: string, confirm?: {title: string, text: string}}}
 *     options
 */
export function actionButton(text, name, fields, place, options) {
    const key = `${name} ${Object.values(fields).join(" ")}`;
    return button(text, key, async (event) => {
        if (options.confirm && !await confirmed(options.confirm, text)) return;
        await perform(event.currentTarget ?? event.target, name, fields, place, options.done);
    }, {class: options.main ? "main" : null, "aria-label": options.label ?? null});
}

async function perform(element, name, fields, place, done) {
    element.disabled = true;
    try {
        const answer = await act(name, fields);
        const words = Array.isArray(answer)
            ? answer.map((one) => one.message).filter(Boolean).join("; ")
            : answer.message;
        say(words || done, false);
        await place.refresh();
    } catch (error) {
        say(error.message, true);
    } finally {
        element.disabled = false;
    }
}

/** Shows a text at the edge of the page for a while, and has it said. */
function say(text, isFault) {
    document.querySelector(".toast")?.remove();
    const toast = h("div", {class: isFault ? "toast fault" : "toast"}, h("span", null, text),
        button("Close", "close toast", () => toast.remove(), {class: "quiet"}));
    document.body.append(toast);
    announce(text);
    // A fault stays until somebody has read it.
    if (!isFault) setTimeout(() => toast.remove(), 8000);
}

/** Asks in a dialog. @returns {Promise<boolean>} */
async function confirmed({title, text}, verb) {
    return await ask(title, [h("p", null, text)], verb) !== null;
}

/**
 * Shows a dialog and waits for its end.
 *
 * @param {string} title @param {Node[]} content @param {string} verb the button that agrees
 * @returns {Promise<FormData | null>} `null` if the reader did not agree
 */
export function ask(title, content, verb) {
    return new Promise((finish) => {
        const form = h("form", {method: "dialog"}, h("h2", {id: "asked"}, title), content,
            h("div", {class: "buttons"}, h("button", {value: "", formnovalidate: true}, "Back"),
                h("button", {value: "yes", class: "main"}, verb)));
        const dialog = h("dialog", {"aria-labelledby": "asked"}, form);
        dialog.addEventListener("close", () => {
            finish(dialog.returnValue === "yes" ? new FormData(form) : null);
            dialog.remove();
        });
        document.body.append(dialog);
        dialog.showModal();
    });
}

/** A button that asks for how long, and pauses a job. */
export function pauseButton(job, place) {
    return button("Pause", `pause ${job}`, async (event) => {
        const element = event.currentTarget;
        const answer = await ask(`Pause ${job}`,
            [
                h("p", null,
                    "A paused job starts nothing. When the pause ends, it runs once for what it ",
                    "missed, unless the job file sets ",
                    h("code", null, "catch_up: none"), "."),
                h("label", null, "For how long",
                    h("select", {name: "for"},
                        [
                            ["1h", "1 hour"], ["1d", "1 day"], ["7d", "7 days"],
                            ["", "Until you resume it"]
                        ].map(([value, text]) => h("option", {value}, text)))),
                h("label", null, "Reason (shown with the job)",
                    h("input", {name: "reason", maxlength: 200})),
            ],
            "Pause");
        if (!answer) return;
        const fields = {job};
        for (const name of ["for", "reason"]) {
            const value = String(answer.get(name)).trim();
            if (value) fields[name] = value;
        }
        await perform(element, "pause", fields, place, `${job} is paused.`);
    }, {"aria-label": `Pause ${job}`});
}
