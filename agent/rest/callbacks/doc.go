// Package callbacks receives reports on actions that end outside of the agent (callbacks).
//
// An action with a callback is sent with a URL that holds a token of 256 bits. Whoever has the URL
// may report once how the work ended: POST with the body {"success": true, "message": "text"}. The
// package holds no state: the control database decides on each report (invariant I12), so a report
// is accepted by any process that has a receiver, also while no agent runs.
//
// Common mistakes:
//
//   - To log a request's URL or path. The token is a secret; the control database has its hash.
package callbacks
