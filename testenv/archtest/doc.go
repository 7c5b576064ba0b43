// Package archtest enforces the import table of the design, and a few house rules that a plain
// `go test ./...` can check. It holds tests only.
package archtest
