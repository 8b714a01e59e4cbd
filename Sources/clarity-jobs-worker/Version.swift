/// What this program calls itself to the backend.
let version = "0.1.0"
