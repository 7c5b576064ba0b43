package sim

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// TestMain limits the number of rapid's checks, unless the command line sets it.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "12"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m) // VerifyTestMain parses the command line, which overrides the limit
}
