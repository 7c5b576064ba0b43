package testenv

import (
	"os"
	"testing"
)

// envLong runs the tests that Long leaves out; .ci/run sets it.
const envLong = "JOBAGENT_TEST_LONG"

// Long skips a test whose cost is out of proportion to what a run of all tests on a developer's
// machine may take, unless JOBAGENT_TEST_LONG is set. A shorter test of the same part runs always.
func Long(t testing.TB) {
	t.Helper()
	if os.Getenv(envLong) == "" {
		t.Skip("takes long: " + envLong + "=1 runs it")
	}
}
