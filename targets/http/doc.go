// Package http carries out actions that call HTTP and HTTPS endpoints. [Runner] makes one attempt:
// it sends one request on a connection of its own, reads the answer within limits, and decides the
// outcome by the rule of the definition. DESIGN.md has the table of failures and outcomes.
//
// Common mistakes:
//
//   - To reuse connections. When a reused connection breaks, net/http repeats some requests by
//     itself, so that one attempt could be carried out twice.
//   - To conclude from an error that the endpoint did nothing. Once a byte was sent, only an answer
//     tells; see package targets.
package http
