package sim

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// TestMain makes rapid's checks short unless the command line says how many there should be.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "25"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m) // it parses the command line, which wins
}
