/**
 * The event stream: tells a page that something has changed, and the reader when the connection is
 * lost.
 */

/**
 * Listens until the page is closed.
 *
 * @param {() => void} changed called after a change, and after a lost connection is back; a burst
 *     of changes is one call
 * @param {(lostSince: number | null) => void} connection called with the instant of the loss, and
 *     with `null` when the connection is back
 */
export function listen(changed, connection) {
    let lostSince = null;
    let waiting = null;
    let hidden = false;
    const soon = () => {
        // A page in the background asks for nothing; it catches up when it is seen again.
        if (document.hidden) {
            hidden = true;
            return;
        }
        // An upload commits many times a second.
        waiting ??= setTimeout(() => {
            waiting = null;
            changed();
        }, 300);
    };
    document.addEventListener("visibilitychange", () => {
        if (!document.hidden && hidden) {
            hidden = false;
            soon();
        }
    });
    const open = () => {
        const stream = new EventSource("/api/v1/events");
        stream.addEventListener("changed", soon);
        stream.addEventListener("open", () => {
            if (lostSince === null) return;
            lostSince = null;
            connection(null);
            soon();
        });
        stream.addEventListener("error", () => {
            if (lostSince === null) {
                lostSince = Date.now();
                connection(lostSince);
            }
            // The browser tries again by itself, but gives up when it is refused; then
            // the page asks, and learns whether the session has ended.
            if (stream.readyState === EventSource.CLOSED) {
                soon();
                setTimeout(open, 5000);
            }
        });
        addEventListener("pagehide", () => stream.close(), {once: true});
    };
    open();
}
