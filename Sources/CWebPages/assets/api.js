/**
 * The server's API. Answers are kept in memory only while a page shows them.
 */

/**
 * @typedef {object} Session
 * @property {string} csrf
 * @property {string} session its name
 * @property {boolean} read_only
 * @property {string | null} zone `null` where it differs from account to account
 * @property {boolean} backend whether the job file names one
 * @property {boolean} health whether there is a backend or health data
 * @property {string} version
 * @property {"person" | "caretaker" | "wearer"} viewer
 * @property {string | null} account the wearer's
 */

/** A request that failed; its message is for the reader. */
export class RequestError extends Error {
    /** @param {number} status 0 if the server did not answer @param {string} message */
    constructor(status, message) {
        super(message);
        this.status = status;
    }
}

/** @type {Session | null} */
let session = null;

/** The session, asked for once. @returns {Promise<Session>} */
export async function openSession() {
    session ??= await get("session");
    return session;
}

/** Whether the reader looks after the accounts: sees their states, and nobody's values. */
export const isCaretaker = () => session?.viewer === "caretaker";

/** Whether there is a backend, and so what it makes of the data. */
export const hasBackend = () => session?.backend ?? false;

/** Whether there is health data, or a backend that has some. */
export const hasHealth = () => session?.health ?? false;

/** Whether the server refuses actions. */
export const isReadOnly = () => session?.read_only ?? true;

/**
 * Gets the JSON of a path below `/api/v1/`.
 *
 * @param {string} path
 * @param {Record<string, string | number | null | undefined>} [query] empty values are left out
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function get(path, query = {}, signal) {
    const words = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
        if (value !== null && value !== undefined && value !== "") words.set(name, String(value));
    }
    const text = words.toString();
    return request(`/api/v1/${path}${text ? `?${text}` : ""}`, {signal});
}

/**
 * Gets the JSON of a path, or `null` if there is no such data yet.
 *
 * @param {Parameters<typeof get>} words as `get` takes them
 */
export async function getOrNone(...words) {
    try {
        return await get(...words);
    } catch (error) {
        if (error.status === 404) return null;
        throw error;
    }
}

/**
 * Does an action, and returns what the command says.
 *
 * @param {string} name such as `pause`
 * @param {Record<string, string>} fields
 */
export async function act(name, fields) {
    const {csrf} = await openSession();
    return request(`/api/v1/actions/${name}`, {
        method: "POST",
        headers: {"Content-Type": "application/json", "X-CSRF-Token": csrf},
        body: JSON.stringify(fields),
    });
}

/**
 * Replaces what steers a terminal or turns the direction of text by U+FFFD in a text of an answer,
 * as the command line does (`printableLines` in Platform/Wording.swift). U+200C and U+200D are
 * parts of words and of emoji.
 */
const printable = (_name, value) => typeof value === "string"
    ? value.replace(/(?![\t\n\u200C\u200D])[\p{Cc}\p{Cf}\u2028\u2029]/gu, "\uFFFD") : value;

/** Ends the session; the browser forgets its cookie. */
export async function logOut() {
    const {csrf} = await openSession();
    await request("/api/v1/session", {method: "DELETE", headers: {"X-CSRF-Token": csrf}});
}

/** How often a request that met a busy server is made again. */
const patience = 4;

async function request(url, options, tries = patience) {
    let answer;
    try {
        answer = await fetch(url, {...options, credentials: "same-origin", cache: "no-store"});
    } catch (error) {
        if (error instanceof DOMException && error.name === "AbortError") throw error;
        throw new RequestError(0, "clarity-jobs does not answer");
    }
    if (answer.status === 503 && tries > 0 && options.method === undefined) {
        await new Promise((finish) => setTimeout(finish, 400 * (1 + patience - tries)));
        if (options.signal?.aborted) throw new DOMException("The reader has left.", "AbortError");
        return request(url, options, tries - 1);
    }
    let body;
    try {
        body = JSON.parse(await answer.text(), printable);
    } catch (error) {
        if (error instanceof DOMException && error.name === "AbortError") throw error;
        throw new RequestError(
            answer.status, `the server's answer (status ${answer.status}) is not JSON`);
    }
    if (!answer.ok) {
        throw new RequestError(answer.status,
            body.error ?? body.message ?? `the server answered with status ${answer.status}`);
    }
    return body;
}

/** The short name of a record type of Apple Health, which the API takes. */
export const shortType = (type) => type.replace(/^HK[A-Za-z]*TypeIdentifier/, "");
