// Package clitest helps tests of the commands.
package clitest

import (
	"strings"
)

// Batches splits a script as a simple client does: a line whose first word is GO ends a batch.
func Batches(script string) []string {
	var batches []string
	var b strings.Builder
	for line := range strings.Lines(script) {
		if f := strings.Fields(line); len(f) > 0 && strings.EqualFold(f[0], "GO") {
			batches = append(batches, b.String())
			b.Reset()
			continue
		}
		b.WriteString(line)
	}
	return batches
}
